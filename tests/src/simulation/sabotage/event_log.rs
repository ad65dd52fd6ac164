//! Defects of the event log.
//!
//! The log is read whole, changed, and shown by pages.

use std::time::Duration;

use super::{Sabotage, Saboteur};
use crate::layer::prelude::*;
use crate::layer::{EventLayer, UpkeepLayer};
use crate::simulation::whole_log::{page_of, whole_log};

/// One commit in this many is treated badly.
const ONE_IN: u64 = 20;
/// Where the second of two equal events is, behind the first.
const BEHIND: u32 = 500;
/// How much too early events are removed: an hour after they were raised.
const EARLY: Duration = Duration::from_hours(30 * 24 - 1);

fn is_unlucky(logged: &LoggedEvent) -> bool {
    logged.position.commit % ONE_IN == ONE_IN / 2
}

/// One event in the place of which there are two.
fn twice(logged: LoggedEvent) -> Vec<LoggedEvent> {
    let place = logged.position.place + BEHIND;
    let position = Position { place, ..logged.position };
    let again = is_unlucky(&logged).then(|| LoggedEvent { position, ..logged.clone() });
    [logged].into_iter().chain(again).collect()
}

/// Still after all events before it.
fn moved(logged: LoggedEvent) -> LoggedEvent {
    if !is_unlucky(&logged) {
        return logged;
    }
    let Position { commit, place } = logged.position;
    let position = Position { commit: commit - 1, place: place + BEHIND };
    LoggedEvent { position, ..logged }
}

impl Saboteur {
    /// Events of other accounts, some of which leak.
    async fn leaks(&self, account: AccountId) -> Result<Vec<LoggedEvent>, StoreError> {
        let accounts = self.inner.account_list(PageRequest::default()).await?;
        let mut leaked = Vec::new();
        for other in accounts.items.into_iter().filter(|other| other.id != account) {
            leaked.extend(whole_log(&*self.inner, other.id).await?.into_iter().filter(is_unlucky));
        }
        Ok(leaked)
    }

    /// The log as it is shown; `None` if it is shown as it is.
    async fn shown_log(&self, account: AccountId) -> Result<Option<Vec<LoggedEvent>>, StoreError> {
        let mut shown: Vec<LoggedEvent> = match self.sabotage {
            Sabotage::OmitsFromLog => whole_log(&*self.inner, account)
                .await?
                .into_iter()
                .filter(|logged| !is_unlucky(logged))
                .collect(),
            Sabotage::LogsTwice => {
                whole_log(&*self.inner, account).await?.into_iter().flat_map(twice).collect()
            }
            Sabotage::MovesEvents if self.one_in(10) => {
                whole_log(&*self.inner, account).await?.into_iter().map(moved).collect()
            }
            Sabotage::LeaksEvents => whole_log(&*self.inner, account)
                .await?
                .into_iter()
                .chain(self.leaks(account).await?)
                .collect(),
            _ => return Ok(None),
        };
        shown.sort_by_key(|logged| logged.position);
        Ok(Some(shown))
    }
}

impl EventLayer for Saboteur {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        match self.shown_log(account).await? {
            Some(log) => Ok(page_of(log, request)),
            None => self.inner.event_list(account, request).await,
        }
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        match self.shown_log(account).await? {
            Some(log) => Ok(log.into_iter().find(|logged| logged.event.id == id)),
            None => self.inner.event_get(account, id).await,
        }
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let mut grown = self.inner.events_after(accounts.clone()).await?;
        for (account, after) in accounts {
            let log = self.shown_log(account).await?;
            if let Some(log) = log {
                grown.retain(|grown| *grown != account);
                grown.extend(log.iter().any(|logged| logged.position > after).then_some(account));
            }
        }
        Ok(grown)
    }
}

impl UpkeepLayer for Saboteur {
    async fn tidy(&self, mut chore: Chore, limit: usize) -> Result<usize, StoreError> {
        if let Chore::Events { before } = &mut chore
            && self.sabotage == Sabotage::TidiesEarly
        {
            *before = before.plus(EARLY);
        }
        self.inner.tidy(chore, limit).await
    }
}
