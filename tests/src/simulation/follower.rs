//! Somebody who follows an account's event log, and must see each event once.

use std::collections::BTreeSet;

use sms_core::event::kinds::Kinds;
use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;
use sms_core::ids::{AccountId, EventId};

use super::model::{Check, Entry, LogModel, ensure};

/// A follower of a log, who keeps its place when servers die.
#[derive(Debug)]
pub struct Follower {
    /// Whose log.
    pub account: AccountId,
    /// Which events.
    pub kinds: Kinds,
    /// Where it goes on.
    pub at: Position,
    began: Position,
    seen: BTreeSet<EventId>,
}

impl Follower {
    /// A follower from this position on.
    pub fn new(account: AccountId, kinds: Kinds, at: Position) -> Self {
        Self { account, kinds, at, began: at, seen: BTreeSet::new() }
    }

    /// Takes a page, and goes on at `to`: the page must have all that came before.
    pub fn take(&mut self, log: &LogModel, page: &[LoggedEvent], to: Position) -> Check {
        let account = self.account;
        for logged in page {
            let id = logged.event.id;
            ensure!(self.seen.insert(id), "a follower of {account} saw event {id} twice");
        }
        self.misses_nothing(log, self.at, to)?;
        self.at = to;
        Ok(())
    }

    /// Checks at the end that it has seen the whole log, and nothing else.
    pub fn check_end(&self, log: &LogModel) -> Check {
        self.misses_nothing(log, self.began, Position::end_of(u64::MAX))?;
        let known = self.seen.iter().find(|id| log.find(**id).is_none());
        ensure!(known.is_none(), "a follower of {} saw {known:?}, not of its log", self.account);
        Ok(())
    }

    /// Only events that were removed before it came to them may be missing.
    fn misses_nothing(&self, log: &LogModel, after: Position, to: Position) -> Check {
        let wanted = |entry: &&Entry| self.kinds.contains(entry.logged.event.data.kind());
        let owed = log.between(after, to).iter().filter(|entry| !entry.removed).filter(wanted);
        let missed = owed.map(|entry| &entry.logged).find(|it| !self.seen.contains(&it.event.id));
        ensure!(missed.is_none(), "a follower of {} at {to:?} missed {missed:?}", self.account);
        Ok(())
    }
}
