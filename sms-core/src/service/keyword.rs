//! An account's keywords.

use super::AccountHandle;
use crate::error::Error;
use crate::ids::{KeywordId, ListId};
use crate::keyword::Keyword;
use crate::keyword::save::{KeywordInput, KeywordPatch, Save, SavePlan, Values};
use crate::page::{Page, PageRequest};
use crate::text::is_reserved;

impl AccountHandle {
    /// Creates a keyword.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field; [`Error::ReservedKeyword`];
    /// [`Error::UnknownReference`] for the list; [`Error::KeywordExists`].
    pub async fn keyword_create(&self, input: KeywordInput) -> Result<Keyword, Error> {
        let errors = input.check();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let KeywordInput { keyword, reply, add_to_list_id, listening } = input;
        let listening = Some(listening);
        let add_to_list_id = Some(add_to_list_id);
        let (keyword, reply) = (Some(keyword), Some(reply));
        let values = values(KeywordPatch { keyword, reply, add_to_list_id, listening })?;
        let word = values.word.clone().ok_or(Error::NotFound("keyword"))?;
        let at = self.sms.now();
        let id = self.sms.ids(at).next();
        let plan = SavePlan { account: self.id, id, save: Save::Make(word), values, at };
        Ok(self.sms.store().keyword_save(plan).await?)
    }

    /// One keyword.
    pub async fn keyword_get(&self, id: KeywordId) -> Result<Keyword, Error> {
        let found = self.sms.store().keyword_get(self.id, id).await?;
        found.ok_or(Error::NotFound("keyword"))
    }

    /// A page of the account's keywords, newest first.
    pub async fn keyword_list(&self, page: PageRequest) -> Result<Page<Keyword>, Error> {
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
        let values = values(patch)?;
        let at = self.sms.now();
        let plan = SavePlan { account: self.id, id, save: Save::Change, values, at };
        Ok(self.sms.store().keyword_save(plan).await?)
    }

    /// Deletes a keyword. Its effects stay.
    pub async fn keyword_delete(&self, id: KeywordId) -> Result<(), Error> {
        let deleted = self.sms.store().keyword_delete(self.id, id).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("keyword")) }
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
