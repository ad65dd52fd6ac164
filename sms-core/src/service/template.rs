//! An account's templates.

use super::account::AccountHandle;
use super::keyed::{Keyed, made};
use super::reading::Read;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::{Born, Made};
use crate::ids::TemplateId;
use crate::page::{Page, PageRequest};
use crate::template::{Template, TemplateChange, TemplateInput, TemplateSearch};
use crate::version::IfVersion;

impl AccountHandle {
    /// Creates a template.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn template_create(&self, input: TemplateInput) -> Result<Template, Error> {
        Ok(self.keyed(None).template_create(input).await?.value)
    }

    /// One template of the account; [`Error::NotFound`] if there is none.
    pub async fn template_get(&self, id: TemplateId) -> Result<Template, Error> {
        let found = self.sms.store().template_get(self.id, id).await?;
        found.ok_or(Error::NotFound("template"))
    }

    /// A page of the account's templates, newest first: all, or those with the words of `q` in
    /// name or body.
    pub async fn template_list(
        &self,
        q: Option<&str>,
        page: PageRequest,
    ) -> Result<Page<Template>, Error> {
        let search = q.and_then(TemplateSearch::parse);
        let store = self.sms.store();
        let list = |page| store.template_list(self.id, search.as_ref(), page);
        self.read_page(Read::that(search.is_some()), page, list).await
    }

    /// Changes a template. Messages created from it stay as they are.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn template_update(
        &self,
        id: TemplateId,
        change: TemplateChange,
    ) -> Result<Template, Error> {
        refuse(change.check())?;
        let at = self.sms.now();
        let updated = self.sms.store().template_update(self.id, id, change, at).await?;
        updated.ok_or(Error::NotFound("template"))
    }

    /// Deletes a template. Messages created from it stay.
    pub async fn template_delete(&self, id: TemplateId) -> Result<(), Error> {
        self.template_delete_if(id, IfVersion::Any).await
    }

    /// Deletes a template if it has this version, or one of these.
    ///
    /// # Errors
    ///
    /// [`Error::PreconditionFailed`] if it has another version.
    pub async fn template_delete_if(
        &self,
        id: TemplateId,
        version: impl Into<IfVersion>,
    ) -> Result<(), Error> {
        let deleted = self.sms.store().template_delete(self.id, id, version.into()).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("template")) }
    }
}

impl Keyed<AccountHandle> {
    /// [`AccountHandle::template_create`], once for the key.
    pub async fn template_create(&self, input: TemplateInput) -> Result<Made<Template>, Error> {
        refuse(input.check())?;
        let claim = self.claim("template_create", |fields| input.meaning(fields));
        let claim = claim.as_ref();
        let AccountHandle { sms, id: account, mode: _ } = &self.handle;
        let again = |born: Born<_>| input.clone().into_template(born.id, *account, born.at);
        if let Some(born) = self.earlier::<Template>(claim).await? {
            return Ok(Made::again(again(born)));
        }
        let at = sms.now();
        let template = again(Born { id: sms.ids(at).next(), at });
        made(sms.store().template_create(template, claim).await?, claim, again)
    }
}

fn refuse(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}
