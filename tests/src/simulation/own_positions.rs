//! A second store whose events have the positions that the first store gives them.
//!
//! Each store counts commits by itself. So positions in calls become the other store's own, and
//! those in its answers the first store's. On the way this checks that the other store's positions
//! rise and never change.
//!
//! A call may have several parts, such as the receipts of a batch, that each store carries out in
//! an order of its own. So the events of one call may be in another order; those of two calls may
//! not.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sms_core::event::Event;
use sms_core::event::log::ReadFrom;
use sms_core::page::Limit;
use sms_core::store::Reads;

use super::whole_log::{first_event, page_of, whole_log};
use crate::layer::prelude::*;
use crate::layer::{EventLayer, Layer, passes_on};

/// The first store's last commit of each call that logged events.
#[derive(Debug, Default)]
pub struct Calls(Mutex<Vec<u64>>);

impl Calls {
    /// Notes that a call to the first store ended.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn end(&self, first: &dyn Reads) -> Result<(), StoreError> {
        let page = PageRequest { limit: Limit::EXPORT, after: None };
        let accounts = first.account_list(page).await?.items;
        let ids = accounts.iter().map(|account| account.id).collect();
        let ends = first.event_ends(ids).await?;
        let last = ends.iter().map(|end| end.commit).max().unwrap_or_default();
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.last().is_none_or(|before| *before < last) {
            calls.push(last);
        }
        Ok(())
    }

    /// Which call logged the event at this position of the first store.
    fn of(&self, position: Position) -> usize {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.partition_point(|end| *end < position.commit)
    }
}

/// The other store, read with positions of the first.
pub struct OwnPositions {
    first: Arc<dyn Store>,
    inner: Arc<dyn Store>,
    calls: Arc<Calls>,
    /// The other store's position of each event that was read.
    known: Mutex<BTreeMap<EventId, Position>>,
}

impl fmt::Debug for OwnPositions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnPositions").field(&self.inner).finish()
    }
}

fn wrong(doing: &'static str) -> StoreError {
    StoreError::Internal { doing, source: None }
}

/// The position that comes next.
fn just_after(Position { commit, place }: Position) -> Position {
    match place.checked_add(1) {
        Some(place) => Position { commit, place },
        None => Position { commit: commit.saturating_add(1), place: 0 },
    }
}

fn events(page: &EventPage) -> impl Iterator<Item = &Event> {
    page.items.iter().map(|logged| &logged.event)
}

/// Whether both pages have the same events, and the first is in order and goes on after its last.
fn are_alike(page: &EventPage, other: &EventPage, from: ReadFrom) -> bool {
    let positions = || page.items.iter().map(|logged| logged.position);
    let ordered = match from {
        ReadFrom::After(_) => positions().is_sorted_by(|one, next| one < next),
        ReadFrom::Newest(_) => positions().is_sorted_by(|one, next| one > next),
    };
    let goes_on = page.next.is_none() || page.next == positions().next_back();
    let same = events(page).eq(events(other)) && page.next.is_some() == other.next.is_some();
    same && ordered && goes_on
}

impl OwnPositions {
    /// Wraps `inner`, beside `first`.
    pub fn new(first: Arc<dyn Store>, inner: Arc<dyn Store>, calls: Arc<Calls>) -> Self {
        Self { first, inner, calls, known: Mutex::default() }
    }

    /// The other store's log, at its own positions. It must be the first store's, but for the order
    /// within each call.
    async fn their_log(&self, account: AccountId) -> Result<Vec<LoggedEvent>, StoreError> {
        let ours = whole_log(&*self.first, account).await?;
        let theirs = whole_log(&*self.inner, account).await?;
        let mut must: Vec<_> =
            ours.iter().map(|it| (self.calls.of(it.position), &it.event)).collect();
        let calls: BTreeMap<EventId, usize> =
            must.iter().map(|(call, event)| (event.id, *call)).collect();
        let mut is: Vec<_> =
            theirs.iter().map(|it| (calls.get(&it.event.id).copied(), &it.event)).collect();
        let ordered = is.is_sorted_by_key(|(call, _)| *call);
        must.sort_by_key(|(call, event)| (*call, event.id));
        is.sort_by_key(|(call, event)| (*call, event.id));
        let must = must.into_iter().map(|(call, event)| (Some(call), event));
        if !ordered || !is.into_iter().eq(must) {
            return Err(wrong("finding the first store's log, call by call"));
        }
        Ok(theirs)
    }

    /// Notes where an event of the other store is.
    fn note(&self, logged: &LoggedEvent) -> Result<(), StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.insert(logged.event.id, logged.position);
        if before.is_some_and(|before| before != logged.position) {
            return Err(wrong("finding an event where it was"));
        }
        Ok(())
    }

    /// The other store's position of the first store's last event below this position.
    async fn theirs(&self, account: AccountId, below: Position) -> Result<Position, StoreError> {
        let last = first_event(&*self.first, account, ReadFrom::Newest(Some(below))).await?;
        let Some(last) = last else { return Ok(Position::START) };
        let id = last.event.id;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied();
        if let Some(position) = known {
            return Ok(position);
        }
        let found = self.inner.event_get(account, id).await?;
        found.map(|logged| logged.position).ok_or(wrong("finding an event of the first store"))
    }

    /// The event at the first store's position.
    async fn ours(&self, logged: LoggedEvent) -> Result<LoggedEvent, StoreError> {
        self.note(&logged)?;
        let (account, id) = (logged.event.account, logged.event.id);
        let found = self.first.event_get(account, id).await?;
        let found = found.ok_or(wrong("finding an event in the first store"))?;
        Ok(LoggedEvent { position: found.position, ..logged })
    }
}

impl Layer for OwnPositions {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }
}

impl EventLayer for OwnPositions {
    async fn event_list(
        &self,
        account: AccountId,
        request: EventRequest,
    ) -> Result<EventPage, StoreError> {
        let from = match request.from {
            ReadFrom::Newest(None) => ReadFrom::Newest(None),
            ReadFrom::Newest(Some(before)) => {
                ReadFrom::Newest(Some(just_after(self.theirs(account, before).await?)))
            }
            ReadFrom::After(after) => {
                ReadFrom::After(self.theirs(account, just_after(after)).await?)
            }
        };
        let asked = EventRequest { from, ..request };
        let page = self.inner.event_list(account, asked).await?;
        page.items.iter().try_for_each(|logged| self.note(logged))?;
        let answer = self.first.event_list(account, request).await?;
        let alike = are_alike(&page, &answer, from);
        if !alike && page != page_of(self.their_log(account).await?, asked) {
            return Err(wrong("listing events"));
        }
        Ok(answer)
    }

    async fn event_get(
        &self,
        account: AccountId,
        id: EventId,
    ) -> Result<Option<LoggedEvent>, StoreError> {
        match self.inner.event_get(account, id).await? {
            Some(logged) => self.ours(logged).await.map(Some),
            None => Ok(None),
        }
    }

    /// The ends of the first store, if those of the other store are of its own last events.
    async fn event_ends(&self, accounts: Vec<AccountId>) -> Result<Vec<Position>, StoreError> {
        let theirs = self.inner.event_ends(accounts.clone()).await?;
        for (account, end) in accounts.iter().zip(theirs) {
            let last = first_event(&*self.inner, *account, ReadFrom::Newest(None)).await?;
            if last.map_or(Position::START, |last| Position::end_of(last.position.commit)) != end {
                return Err(wrong("finding the end of the last event"));
            }
        }
        self.first.event_ends(accounts).await
    }

    async fn events_after(
        &self,
        accounts: Vec<(AccountId, Position)>,
    ) -> Result<Vec<AccountId>, StoreError> {
        let mut asked = Vec::new();
        for (account, after) in &accounts {
            asked.push((*account, self.theirs(*account, just_after(*after)).await?));
        }
        let grown = self.inner.events_after(asked.clone()).await?;
        let answer = self.first.events_after(accounts).await?;
        if grown == answer {
            return Ok(answer);
        }
        for (account, after) in asked {
            let Some(last) = self.their_log(account).await?.pop() else { continue };
            // A row may have begun before the position, and have events after it.
            let (must, may) = (last.position.commit > after.commit, last.position > after);
            let has = grown.contains(&account);
            if must && !has || has && !may {
                return Err(wrong("finding logs with more events"));
            }
        }
        Ok(answer)
    }
}

passes_on! {
    OwnPositions:
    AccountLayer ApiKeyLayer CampaignLayer ContactLayer ConversationLayer CreditLayer
    DispatchLayer HealthLayer IdempotencyLayer InboundLayer LinkLayer KeywordLayer ListLayer
    MessageLayer NumberLayer OptOutLayer ReceiptLayer SenderNameLayer SendingLayer SessionLayer
    StatisticsLayer TemplateLayer UpkeepLayer WebhookLayer
}
