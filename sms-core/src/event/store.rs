//! What a store does with the event log.
//!
//! Every commit that raises events writes [`rows`](super::row::rows) of them, whether or not the
//! account has webhook endpoints.

use async_trait::async_trait;

use super::log::{EventPage, EventRequest, LoggedEvent};
use super::position::Position;
use crate::ids::{AccountId, EventId};
use crate::store_error::StoreError;

/// Reads the event log.
///
/// The events of an account have positions that rise in the order of the commits, and in a commit
/// in the order in which they were raised. A position never changes. **Nothing ever appears before
/// what has been read:** once a call has shown an event, or the end of the log, no later call shows
/// an event with a smaller position that the first did not show. A store whose commits can end in
/// another order than they began hides what is committed until nothing can come before it.
#[async_trait]
pub trait ReadsEvents: Send + Sync {
    /// A page of the account's log.
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError>;

    /// One event; `None` if the account's log does not have it.
    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError>;

    /// The end of the log of each of these accounts, in the same order: a position at or after all
    /// its events that can be read now, and before all that cannot. It names the last commit whose
    /// events can be read, never a later number: after a crash or a failover the store may give out
    /// again numbers that no surviving commit has. [`Position::START`] for a log without events.
    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError>;

    /// Those of the accounts whose logs have rows that begin after the position beside them and
    /// can be read now. Whoever has read a log to its end waits for that.
    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError>;
}
