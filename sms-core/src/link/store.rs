//! What a store does with tracked links. They are written with the messages that contain them, by
//! [`SendingStore`](crate::sending::store::SendingStore).

use async_trait::async_trait;

use super::click::ClickPlan;
use super::{Link, LinkCode, LinkFilter};
use crate::ids::{AccountId, LinkId};
use crate::page::{Page, PageRequest};
use crate::store_error::StoreError;

/// Which link is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkWanted {
    /// The one of this account with this id.
    Id(AccountId, LinkId),
    /// The one with this code, of any account.
    Code(LinkCode),
}

/// Reads tracked links with the counts of their clicks.
#[async_trait]
pub trait ReadsLinks: Send + Sync {
    /// One link; `None` if there is none.
    async fn link_get(&self, wanted: LinkWanted) -> Result<Option<Link>, StoreError>;

    /// A page of the account's links that the filter accepts, newest first.
    async fn link_list(
        &self,
        account: AccountId,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, StoreError>;
}

/// Keeps tracked links, which are found by id or by short code, and counts their clicks.
#[async_trait]
pub trait LinkStore: ReadsLinks {
    /// Counts clicks in the order given, each by [`ClickPlan::settle`] against the link as the
    /// earlier clicks left it, and creates the deliveries of their events, in one commit or
    /// several. A click that cannot be counted does not affect the others. No other click on a link
    /// may be counted between reading the link and writing it.
    ///
    /// Answers in the order given with the link after each click; `None` for a code that no link
    /// has.
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>>;
}
