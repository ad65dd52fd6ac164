//! An account's templates.

use super::AccountHandle;
use crate::error::{Error, FieldError};
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
        refuse(input.check())?;
        let at = self.sms.now();
        let template = input.into_template(self.sms.ids(at).next(), self.id, at);
        self.sms.store().template_create(template.clone()).await?;
        Ok(template)
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

fn refuse(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}
