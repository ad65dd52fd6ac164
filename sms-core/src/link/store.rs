//! What a store does with tracked links. They are written with the messages that contain them, by
//! [`SendingStore`](crate::sending::store::SendingStore).

use async_trait::async_trait;

use super::{ClickPlan, Link, LinkCode, LinkFilter};
use crate::ids::{AccountId, LinkId};
use crate::page::{Page, PageRequest};
use crate::store::StoreError;

/// Keeps tracked links.
#[async_trait]
pub trait LinkStore: Send + Sync {
    /// One link; `None` if the account has no such link.
    async fn link_get(&self, account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError>;

    /// A page of the account's links that the filter accepts, newest first.
    async fn link_list(
        &self,
        account: AccountId,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, StoreError>;

    /// The link with this code, of any account; `None` if there is none.
    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError>;

    /// Counts clicks in the order given, each by [`ClickPlan::settle`] against the link as the
    /// earlier clicks left it, and creates the deliveries of their events, in one commit or
    /// several. A click that cannot be counted does not affect the others. No other click on a link
    /// may be counted between reading the link and writing it.
    ///
    /// Answers in the order given with the link after each click; `None` for a code that no link
    /// has.
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
}
