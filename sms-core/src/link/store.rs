//! What a store does with tracked links. They are written with the texts that hold them, by
//! [`SendingStore`](crate::sending::store::SendingStore).

use async_trait::async_trait;

use super::{ClickPlan, Link, LinkCode, LinkFilter};
use crate::ids::{AccountId, LinkId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Keeps tracked links.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// One link of the account.
    async fn link_get(&self, account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;

    /// A page of the account's links that the filter accepts, newest first.
    async fn link_list(
        &self,
        account: AccountId,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, StoreError>;

    /// The link with this code, whosever it is.
    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError>;

    /// Counts hits in the order given, each by [`ClickPlan::settle`] against the link as the ones
    /// before left it, and makes the deliveries of their events, in one commit or several; one that
    /// cannot be counted takes nothing from the others. Between reading a link and writing it no
    /// other hit on it may be counted.
    ///
    /// Answers in the order given with the link as it was after each hit; `None` for a code that
    /// no link has.
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
}
