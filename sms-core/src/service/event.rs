//! An account's event log.

use super::account::AccountHandle;
use super::reading::Read;
use crate::error::Error;
use crate::event::log::{EventPage, EventRequest, LoggedEvent};
use crate::event::position::Position;
use crate::ids::EventId;

impl AccountHandle {
    /// One event of the account; [`Error::NotFound`] if the log does not hold it.
    pub async fn event_get(&self, id: EventId) -> Result<LoggedEvent, Error> {
        let found = self.sms.store().event_get(self.id, id).await?;
        found.ok_or(Error::NotFound("event"))
    }

    /// A page of the account's events. A reader that continues with [`EventPage::next`], or with
    /// the position of the last event, oldest first, misses none and sees none twice.
    pub async fn event_list(&self, request: EventRequest) -> Result<EventPage, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().event_list(self.id, request).await?)
    }

    /// A position after every event that can be read now: a reader that continues from there sees
    /// what comes.
    pub async fn event_end(&self) -> Result<Position, Error> {
        let ends = self.sms.store().event_ends(vec![self.id]).await?;
        Ok(ends.first().copied().unwrap_or(Position::START))
    }
}
