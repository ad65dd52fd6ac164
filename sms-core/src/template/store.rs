//! What a store does with templates.

use async_trait::async_trait;

use super::{Template, TemplateChange, TemplateSearch};
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, TemplateId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;
use crate::time::Timestamp;

/// Keeps templates.
#[async_trait]
pub trait TemplateStore: Send + Sync {
    /// Writes a new template. Its account must exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn template_create(
        &self,
        template: Template,
        claim: Option<&Claim>,
    ) -> Result<Once<Template>, StoreError>;

    /// The template with this id; `None` if the account has none.
    async fn template_get(
        &self,
        account: AccountId,
        id: TemplateId,
    ) -> Result<Option<Template>, StoreError>;

    /// A page of the account's templates, newest first: all of them, or those that
    /// [`TemplateSearch::finds`].
    async fn template_list(
        &self,
        account: AccountId,
        search: Option<&TemplateSearch>,
        page: PageRequest,
    ) -> Result<Page<Template>, StoreError>;

    /// Applies [`TemplateChange::apply`] to the current template, with no other change of it in
    /// between, and returns the template after the change; `None` if the account has no such
    /// template.
    async fn template_update(
        &self,
        account: AccountId,
        id: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, StoreError>;

    /// Removes a template; false if the account has no template with this id.
    async fn template_delete(&self, account: AccountId, id: TemplateId)
    -> Result<bool, StoreError>;
}
