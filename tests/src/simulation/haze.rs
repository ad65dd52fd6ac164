//! A store that shows events later than they are committed.
//!
//! A store whose commits can end in another order than they began hides events until nothing can
//! come before them. The memory store needs no such horizon, so here one lags behind at random.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sms_core::event::log::ReadFrom;

use super::sabotage::Sabotage;
use super::whole_log::{first_event, first_request};
use super::world::{Weather, World};
use crate::layer::prelude::*;
use crate::layer::{EventLayer, Layer, passes_on};

/// A store with a horizon.
pub struct Haze {
    world: Arc<World>,
    inner: Arc<dyn Store>,
    sabotage: Option<Sabotage>,
    /// The last commit whose events are shown.
    horizon: Mutex<u64>,
}

impl fmt::Debug for Haze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Haze").field(&self.inner).finish()
    }
}

/// The first position after the commit at the horizon.
fn beyond(horizon: u64) -> Position {
    Position { commit: horizon + 1, place: 0 }
}

impl Haze {
    /// Wraps `inner`.
    pub fn new(world: Arc<World>, inner: Arc<dyn Store>, sabotage: Option<Sabotage>) -> Self {
        Self { world, inner, sabotage, horizon: Mutex::new(0) }
    }

    fn is_broken(&self) -> bool {
        self.sabotage == Some(Sabotage::SkipsHorizon)
    }

    /// Moves the horizon, and returns it.
    async fn look(&self) -> Result<u64, StoreError> {
        let accounts = self.world.with(|state| state.model.accounts.keys().copied().collect());
        let ends = self.inner.event_ends(accounts).await?;
        let end = ends.iter().map(|end| end.commit).max().unwrap_or_default();
        Ok(self.raise(|horizon| {
            self.world.with(|state| match state.weather {
                Weather::Calm => end,
                Weather::Stormy if state.dice.percent(50) => state.dice.between(horizon, end),
                Weather::Stormy => horizon,
            })
        }))
    }

    /// The end of the last commit of an account that is below this position.
    async fn end_below(&self, account: AccountId, below: Position) -> Result<Position, StoreError> {
        let last = first_event(&*self.inner, account, ReadFrom::Newest(Some(below))).await?;
        Ok(last.map_or(Position::START, |last| Position::end_of(last.position.commit)))
    }

    fn raise(&self, draw: impl FnOnce(u64) -> u64) -> u64 {
        let mut horizon = self.horizon.lock().unwrap_or_else(PoisonError::into_inner);
        *horizon = draw(*horizon).max(*horizon);
        *horizon
    }

    /// A page without what is beyond the horizon.
    fn cut(&self, mut page: EventPage, horizon: u64) -> EventPage {
        let found = page.items.len();
        // The defect: the first commit beyond the horizon is hidden, but not those after it.
        let last_hidden = if self.is_broken() { horizon + 1 } else { u64::MAX };
        let hidden = horizon + 1..=last_hidden;
        page.items.retain(|logged| !hidden.contains(&logged.position.commit));
        if page.items.len() < found {
            page.next = None;
            self.world.with(|state| state.model.tally.held_back += 1);
        }
        page
    }
}

impl Layer for Haze {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }
}

impl EventLayer for Haze {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        let horizon = self.look().await?;
        let beyond = beyond(horizon);
        let from = match request.from {
            ReadFrom::After(_) => {
                let page = self.inner.event_list(account, request).await?;
                return Ok(self.cut(page, horizon));
            }
            ReadFrom::Newest(before) => {
                ReadFrom::Newest(Some(before.map_or(beyond, |before| before.min(beyond))))
            }
        };
        self.inner.event_list(account, EventRequest { from, ..request }).await
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        let found = self.inner.event_get(account, id).await?;
        if let Some(logged) = &found {
            // A reader of this event also sees all events before it.
            self.raise(|_| logged.position.commit);
        }
        Ok(found)
    }

    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError> {
        let horizon = self.look().await?;
        let ends = self.inner.event_ends(accounts.clone()).await?;
        if self.is_broken() {
            return Ok(ends);
        }
        let (mut shown, beyond) = (Vec::new(), beyond(horizon));
        for (account, end) in accounts.into_iter().zip(ends) {
            shown.push(if end < beyond { end } else { self.end_below(account, beyond).await? });
        }
        Ok(shown)
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let mut grown = Vec::new();
        for (account, after) in accounts {
            let request = first_request(ReadFrom::After(after));
            if !self.event_list(account, request).await?.items.is_empty() {
                grown.push(account);
            }
        }
        Ok(grown)
    }
}

passes_on! {
    Haze:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}
