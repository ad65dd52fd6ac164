//! An account's keywords.

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use crate::error::Error;
use crate::idempotency::{Born, Made, Once};
use crate::ids::{KeywordId, ListId};
use crate::keyword::Keyword;
use crate::keyword::save::{KeywordInput, KeywordPatch, Save, SavePlan, Values};
use crate::page::{Page, PageRequest};
use crate::text::stop_words::is_reserved;
use crate::version::IfVersion;

impl AccountHandle {
    /// Creates a keyword.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::ReservedKeyword`];
    /// [`Error::UnknownReference`] for the list; [`Error::KeywordExists`].
    pub async fn keyword_create(&self, input: KeywordInput) -> Result<Keyword, Error> {
        Ok(self.keyed(None).keyword_create(input).await?.value)
    }

    /// One keyword of the account; [`Error::NotFound`] if there is none.
    pub async fn keyword_get(&self, id: KeywordId) -> Result<Keyword, Error> {
        let found = self.sms.store().keyword_get(self.id, id).await?;
        found.ok_or(Error::NotFound("keyword"))
    }

    /// A page of the account's keywords, newest first.
    pub async fn keyword_list(&self, page: PageRequest) -> Result<Page<Keyword>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().keyword_list(self.id, page).await?)
    }

    /// Changes a keyword. Its count of matches stays.
    ///
    /// # Errors
    ///
    /// Those of [`AccountHandle::keyword_create`].
    pub async fn keyword_update(
        &self,
        id: KeywordId,
        patch: KeywordPatch,
    ) -> Result<Keyword, Error> {
        let errors = patch.check();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let if_version = patch.if_version.clone();
        let (save, values) = (Save::Change, values(patch)?);
        let at = self.sms.now();
        let plan = SavePlan { account: self.id, id, save, values, if_version, at };
        match self.sms.store().keyword_save(plan, None).await? {
            Once::Done(keyword) => Ok(keyword),
            Once::Earlier(_) => Err(Error::IdempotencyConflict),
        }
    }

    /// Deletes a keyword. Its effects stay.
    pub async fn keyword_delete(&self, id: KeywordId) -> Result<(), Error> {
        self.keyword_delete_if(id, IfVersion::Any).await
    }

    /// Deletes a keyword if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version.
    pub async fn keyword_delete_if(
        &self,
        id: KeywordId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        let deleted = self.sms.store().keyword_delete(self.id, id, version.into()).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("keyword")) }
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::keyword_create`], once for the key.
    pub async fn keyword_create(&self, input: KeywordInput) -> Result<Made<Keyword>, Error> {
        let errors = input.check();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let KeywordInput { keyword, reply, add_to_list_id, listening } = input;
        let listening = Some(listening);
        let add_to_list_id = Some(add_to_list_id);
        let (keyword, reply) = (Some(keyword), Some(reply));
        let if_version = IfVersion::Any;
        let given = KeywordPatch { keyword, reply, add_to_list_id, listening, if_version };
        let values = values(given)?;
        let word = values.word.clone().ok_or(Error::NotFound("keyword"))?;
        let claim = self.claim("keyword_create", |fields| values.meaning(fields));
        let claim = claim.as_ref();
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let plan = |born: Born<_>| {
            let (save, values) = (Save::Make(word.clone()), values.clone());
            let (account, if_version) = (*account, IfVersion::Any);
            SavePlan { account, id: born.id, save, values, if_version, at: born.at }
        };
        if let Some(born) = self.earlier::<Keyword>(claim).await? {
            return Ok(Made::again(plan(born).made(word.clone())));
        }
        let at = sms.now();
        let once = sms.store().keyword_save(plan(Born { id: sms.ids(at).next(), at }), claim);
        made(once.await?, claim, |born| plan(born).made(word.clone()))
    }
}

/// The values of a patch that passed its checks. A reserved word is reported before an unknown
/// list.
fn values(patch: KeywordPatch) -> Result<Values, Error> {
    if patch.keyword.as_deref().is_some_and(is_reserved) {
        return Err(Error::ReservedKeyword);
    }
    let list: Option<Option<ListId>> = match &patch.add_to_list_id {
        None => None,
        Some(None) => Some(None),
        Some(Some(id)) => Some(Some(
            id.parse().map_err(|_| Error::UnknownReference { resource: "list", id: id.clone() })?,
        )),
    };
    Ok(Values::of(patch, list))
}
