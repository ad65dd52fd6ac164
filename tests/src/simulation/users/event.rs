//! Reading the event log, and following it.

use sms_core::account::Mode;
use sms_core::event::EventType;
use sms_core::event::kinds::Kinds;
use sms_core::event::log::{EventRequest, ReadFrom};
use sms_core::event::position::Position;
use sms_core::ids::{AccountId, EventId};
use sms_core::page::Limit;

use super::caller::Caller;
use crate::simulation::dice::Dice;
use crate::simulation::follower::Follower;
use crate::simulation::model::LogModel;
use crate::simulation::world::State;

/// The most followers that a run has.
const MOST_FOLLOWERS: usize = 10;

/// Something done with the event log.
#[derive(Debug, Clone)]
pub enum EventDeed {
    /// Somebody begins to follow it.
    Begin(AccountId, Kinds, Start),
    /// A follower asks for the next page, of this size.
    GoOn(usize, Limit),
    /// Reads back from the newest event, by pages of this size.
    Back(AccountId, Limit),
    /// Reads an event.
    Get(AccountId, EventId),
}

/// Where a follower begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Before the first event.
    First,
    /// After all that there are.
    Now,
}

impl EventDeed {
    /// A deed with the log of this account or, for a follower, with its own.
    pub fn draw(dice: &mut Dice, state: &State, account: AccountId) -> Self {
        let limit = dice.pick(&[1, 3, 25, 100]).and_then(Limit::new).unwrap_or_default();
        let followers = state.followers.len();
        if followers == 0 || followers < MOST_FOLLOWERS && dice.percent(8) {
            let start = if dice.percent(60) { Start::First } else { Start::Now };
            return Self::Begin(account, kinds(dice), start);
        }
        match dice.below(10) {
            0 => Self::Back(account, limit),
            1 => {
                let owner = if dice.percent(90) { account } else { state.followers[0].account };
                let log = state.model.log_of(owner);
                let ids: Vec<EventId> =
                    log.into_iter().flat_map(LogModel::kept).map(|it| it.event.id).collect();
                dice.pick(&ids).map_or(Self::Back(account, limit), |id| Self::Get(account, id))
            }
            _ => Self::GoOn(dice.below(followers), limit),
        }
    }

    /// What it is called in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Begin(..) => "begin to follow events",
            Self::GoOn(..) => "follow events",
            Self::Back(..) => "list events",
            Self::Get(..) => "read an event",
        }
    }
}

/// All kinds or, more rarely, some.
fn kinds(dice: &mut Dice) -> Kinds {
    if dice.percent(60) {
        return Kinds::all();
    }
    let some = EventType::SUBSCRIBABLE.into_iter().filter(|_| dice.percent(40));
    some.chain([EventType::MessageSent]).collect()
}

impl Caller {
    pub(super) async fn events(&self, deed: EventDeed) {
        match deed {
            EventDeed::Begin(account, kinds, start) => {
                self.begin_to_follow(account, kinds, start).await;
            }
            EventDeed::GoOn(follower, limit) => {
                self.follow_events(follower, limit).await;
            }
            EventDeed::Back(account, limit) => self.events_back(account, limit).await,
            EventDeed::Get(account, id) => {
                let found = self.sms.account(account, Mode::Live).event_get(id).await;
                let found = self.expect("reading an event", found, &["not_found"]);
                self.must(found.is_none_or(|logged| logged.event.account == account), || {
                    format!("{account} reads event {id}")
                });
            }
        }
    }

    async fn begin_to_follow(&self, account: AccountId, kinds: Kinds, start: Start) {
        let at = match start {
            Start::First => Some(Position::START),
            Start::Now => {
                let end = self.sms.account(account, Mode::Live).event_end().await;
                self.expect("finding the end of the log", end, &[])
            }
        };
        if let Some(at) = at {
            let follower = Follower::new(account, kinds, at);
            self.world.with(|state| state.followers.push(follower));
        }
    }

    /// Reads a follower's next page. Returns whether there may be more; `None` if it has no answer.
    pub async fn follow_events(&self, follower: usize, limit: Limit) -> Option<bool> {
        let (asked, remembers_end) = self.world.with(|state| {
            let own = &state.followers[follower];
            let asked = (own.account, own.kinds, own.at);
            (asked, state.dice.percent(40))
        });
        let (account, kinds, at) = asked;
        let handle = self.sms.account(account, Mode::Live);
        let end = if remembers_end {
            let end = handle.event_end().await;
            self.expect("finding the end of the log", end, &[])
        } else {
            None
        };
        let request = EventRequest { kinds, from: ReadFrom::After(at), limit };
        let page = self.expect("following events", handle.event_list(request).await, &[])?;
        let last = page.items.last().map_or(at, |logged| logged.position);
        // A last page has all that there was when the end was asked for.
        let to = page.next.unwrap_or_else(|| last.max(end.unwrap_or(last)));
        let checked = self.world.with(|state| {
            let own = &mut state.followers[follower];
            if own.at != at {
                // Meanwhile it went on elsewhere, and drops this answer.
                return Ok(());
            }
            state.model.tally.followed += page.items.len() as u64;
            let log = state.model.log_of(account).ok_or("a log vanished")?;
            own.take(log, &page.items, to)
        });
        self.world.check(checked);
        Some(page.next.is_some() || to > at)
    }

    async fn events_back(&self, account: AccountId, limit: Limit) {
        let handle = self.sms.account(account, Mode::Live);
        let mut from = ReadFrom::Newest(None);
        let kinds = Kinds::all();
        for _ in 0..4 {
            let page = handle.event_list(EventRequest { kinds, from, limit }).await;
            let Some(page) = self.expect("listing events", page, &[]) else { return };
            let Some(next) = page.next else { return };
            from = ReadFrom::Newest(Some(next));
        }
    }
}
