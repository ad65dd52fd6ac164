//! The event log.

use async_trait::async_trait;
use sms_core::event::kept::Kept;
use sms_core::event::log::{EventPage, EventRequest, LoggedEvent, NotARow};
use sms_core::event::position::Position;
use sms_core::event::store::ReadsEvents;
use sms_core::ids::{AccountId, EventId};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

impl State {
    fn logged(
        &self,
        account: AccountId,
        (position, kept): (Position, Kept),
    ) -> Option<LoggedEvent> {
        let message = kept.message().and_then(|id| self.message_of(account, id));
        let event = kept.event(account, message.map(|stored| &stored.message))?;
        Some(LoggedEvent { position, event })
    }
}

#[async_trait]
impl ReadsEvents for MemoryStore {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        let state = self.state();
        let (found, next) = state.events.read(account, request).map_err(unreadable)?;
        let items = found.into_iter().map(|kept| state.logged(account, kept).ok_or_else(orphan));
        Ok(EventPage { items: items.collect::<Result<_, _>>()?, next })
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        let state = self.state();
        let found = state.events.find(account, id).map_err(unreadable)?;
        found.map(|kept| state.logged(account, kept).ok_or_else(orphan)).transpose()
    }

    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError> {
        let state = self.state();
        Ok(accounts.into_iter().map(|account| state.events.end_of(account)).collect())
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let state = self.state();
        let has_more =
            |(account, after): &(AccountId, Position)| state.events.goes_on(*account, *after);
        Ok(accounts.iter().filter(|one| has_more(one)).map(|(account, _)| *account).collect())
    }
}

impl MemoryStore {
    pub(crate) fn events_tidy(&self, before: Timestamp, limit: usize) -> usize {
        self.state().events.tidy(before, limit)
    }
}

fn unreadable(error: NotARow) -> StoreError {
    StoreError::Internal { doing: "reading events", source: Some(Box::new(error)) }
}

fn orphan() -> StoreError {
    StoreError::Internal { doing: "reading the message of an event", source: None }
}
