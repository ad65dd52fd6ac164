//! What a store does with templates.

use async_trait::async_trait;

use super::{Template, TemplateChange, TemplateSearch};
use crate::idempotency::{Claim, Once};
use crate::ids::{AccountId, TemplateId};
use crate::page::{Page, PageRequest};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::version::{Changed, IfVersion};

/// Reads the templates of accounts, by id or newest first.
#[async_trait]
pub trait ReadsTemplates: Send + Sync {
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
}

/// Keeps the templates of accounts, which are read by id and listed newest first.
#[async_trait]
pub trait TemplateStore: ReadsTemplates {
    /// Writes a new template. Its account must exist.
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn template_create(
        &self,
        template: Template,
        claim: Option<&Claim>,
    ) -> Result<Once<Template>, StoreError>;

    /// Applies [`TemplateChange::apply`] to the current template, with no other change of it in
    /// between, and returns the template after the change; `None` if the account has no such
    /// template.
    async fn template_update(
        &self,
        account: AccountId,
        id: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, CommitError<Changed>>;

    /// Removes a template; false if the account has no template with this id. A removal of some
    /// versions only [checks](IfVersion::check) the current template, with no change of it in
    /// between.
    async fn template_delete(
        &self,
        account: AccountId,
        id: TemplateId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>>;
}
