//! An account's templates.

use super::AccountHandle;
use super::keyed::{Keyed, made};
use crate::error::{Error, FieldError};
use crate::idempotency::{Born, Made};
use crate::ids::TemplateId;
use crate::page::{Page, PageRequest};
use crate::template::{Template, TemplateChange, TemplateInput, TemplateSearch};

impl AccountHandle {
    /// Creates a template.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with every bad field.
    pub async fn template_create(&self, input: TemplateInput) -> Result<Template, Error> {
        Ok(self.keyed(None).template_create(input).await?.value)
    }

    /// One template.
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
        Ok(self.sms.store().template_list(self.id, search.as_ref(), page).await?)
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
        let deleted = self.sms.store().template_delete(self.id, id).await?;
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
