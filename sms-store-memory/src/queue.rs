//! Messages that wait to be handed over, and the simulated network's follow-ups, by time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use sms_core::account::Share;
use sms_core::dispatch::{FollowUp, LeaseToken, QueueEntry, RouteLane, Turns, Wanted};
use sms_core::ids::{AccountId, FollowUpId, MessageId};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// The queue of messages, ordered within each lane of each route. So a route that accepts nothing
/// does not delay the others, however many messages wait for it.
#[derive(Default)]
pub(crate) struct Queue {
    entries: BTreeMap<MessageId, Waiting>,
    lanes: Vec<(RouteLane, Line)>,
    by_lease: BTreeSet<(LeaseToken, MessageId)>,
}

type ByTime = BTreeSet<(Timestamp, MessageId)>;

/// What waits in one lane of one route.
#[derive(Default)]
struct Line {
    by_time: ByTime,
    by_account: BTreeMap<AccountId, ByTime>,
}

/// An entry, and the index of its lane in `Queue::lanes`.
#[derive(Clone, Copy)]
struct Waiting {
    entry: QueueEntry,
    lane: usize,
}

impl Line {
    fn insert(&mut self, entry: &QueueEntry) {
        let key = (entry.claimable_at, entry.message);
        self.by_time.insert(key);
        self.by_account.entry(entry.account).or_default().insert(key);
    }

    fn remove(&mut self, entry: &QueueEntry) {
        let key = (entry.claimable_at, entry.message);
        self.by_time.remove(&key);
        let Some(own) = self.by_account.get_mut(&entry.account) else { return };
        own.remove(&key);
        if own.is_empty() {
            self.by_account.remove(&entry.account);
        }
    }

    /// Up to `limit` messages that are due at `at` in the order of their turns: of each account up
    /// to its part.
    fn by_turns(
        &self,
        at: Timestamp,
        limit: usize,
        after: AccountId,
        share: impl Fn(AccountId) -> Share,
    ) -> Vec<MessageId> {
        let ahead = self.by_account.range((Bound::Excluded(after), Bound::Unbounded));
        let visited = ahead.chain(self.by_account.range(..=after)).take(limit);
        let with_due: Vec<(&ByTime, Share)> = visited
            .filter(|(_, own)| own.first().is_some_and(|(time, _)| *time <= at))
            .map(|(account, own)| (own, share(*account)))
            .collect();
        let all = with_due.iter().map(|(_, share)| u64::from(share.get())).sum();
        let mut found = Vec::new();
        for (visit, (own, share)) in with_due.into_iter().enumerate() {
            let due = due(own, at).take(Turns::most(limit, share, all));
            let place = |(nth, message)| ((Turns::round(nth, share), visit), message);
            found.extend(due.enumerate().map(place));
        }
        found.sort_unstable();
        found.into_iter().map(|(_, message)| message).take(limit).collect()
    }
}

/// What is due at `at`, the longest due first.
fn due(by_time: &ByTime, at: Timestamp) -> impl Iterator<Item = MessageId> {
    by_time.iter().take_while(move |(time, _)| *time <= at).map(|(_, message)| *message)
}

impl Queue {
    /// Adds a message of this route, or replaces its entry.
    pub(crate) fn insert(&mut self, entry: QueueEntry, route: &RouteName) {
        let is_its = |(of, _): &(RouteLane, Line)| of.route == *route && of.lane == entry.lane;
        let lane = self.lanes.iter().position(is_its).unwrap_or_else(|| {
            self.lanes.push((RouteLane::new(route.clone(), entry.lane), Line::default()));
            self.lanes.len() - 1
        });
        self.take(entry.message);
        self.put(Waiting { entry, lane });
    }

    /// Replaces the entry of a message that waits. Does nothing for other messages.
    pub(crate) fn replace(&mut self, entry: QueueEntry) {
        if let Some(before) = self.take(entry.message) {
            self.put(Waiting { entry, ..before });
        }
    }

    fn put(&mut self, waiting: Waiting) {
        let Waiting { entry, lane } = waiting;
        if let Some((_, line)) = self.lanes.get_mut(lane) {
            line.insert(&entry);
        }
        if let Some(token) = entry.lease {
            self.by_lease.insert((token, entry.message));
        }
        self.entries.insert(entry.message, waiting);
    }

    pub(crate) fn remove(&mut self, message: MessageId) {
        self.take(message);
    }

    fn take(&mut self, message: MessageId) -> Option<Waiting> {
        let waiting = self.entries.remove(&message)?;
        if let Some((_, line)) = self.lanes.get_mut(waiting.lane) {
            line.remove(&waiting.entry);
        }
        if let Some(token) = waiting.entry.lease {
            self.by_lease.remove(&(token, message));
        }
        Some(waiting)
    }

    pub(crate) fn get(&self, message: MessageId) -> Option<&QueueEntry> {
        self.entries.get(&message).map(|waiting| &waiting.entry)
    }

    /// Up to `limit` wanted entries that may be claimed at `at`, in the order in which they leave.
    pub(crate) fn claimable(
        &self,
        at: Timestamp,
        limit: usize,
        (wanted, turns): (&Wanted, &Turns),
        share: impl Fn(AccountId) -> Share,
    ) -> Vec<QueueEntry> {
        let mut found = Vec::new();
        for (of, line) in self.lanes.iter().filter(|(of, _)| wanted.concerns(of)) {
            let entries: Vec<&QueueEntry> = match turns.after(of) {
                None => {
                    let entries = due(&line.by_time, at).filter_map(|message| self.get(message));
                    entries.filter(|entry| wanted.takes(entry, at)).take(limit).collect()
                }
                Some(after) => {
                    let messages = line.by_turns(at, limit, after, &share);
                    messages.into_iter().filter_map(|message| self.get(message)).collect()
                }
            };
            let place = |(nth, entry)| (turns.order().place(of.lane, nth), entry);
            found.extend(entries.into_iter().enumerate().map(place));
        }
        found.sort_unstable_by_key(|(place, entry)| (*place, entry.claimable_at, entry.message));
        found.into_iter().map(|(_, entry)| *entry).take(limit).collect()
    }

    /// Extends the lease with this token to `until`. Returns the number of its entries.
    pub(crate) fn renew(&mut self, token: LeaseToken, until: Timestamp) -> usize {
        let first = (token, MessageId::from_u128(0));
        let last = (token, MessageId::from_u128(u128::MAX));
        let held: Vec<MessageId> =
            self.by_lease.range(first..=last).map(|(_, message)| *message).collect();
        for message in &held {
            if let Some(entry) = self.get(*message).copied() {
                self.replace(QueueEntry { claimable_at: until, ..entry });
            }
        }
        held.len()
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        let firsts = self.lanes.iter().filter_map(|(_, line)| line.by_time.first());
        firsts.map(|(time, _)| *time).min()
    }
}

/// Follow-ups of the simulated network that are still to come.
#[derive(Default)]
pub(crate) struct FollowUps {
    rows: BTreeMap<FollowUpId, FollowUp>,
    by_time: BTreeSet<(Timestamp, FollowUpId)>,
}

impl FollowUps {
    pub(crate) fn insert(&mut self, follow_up: FollowUp) {
        self.by_time.insert((follow_up.due_at, follow_up.id));
        self.rows.insert(follow_up.id, follow_up);
    }

    /// Removes a follow-up. Returns whether it existed.
    pub(crate) fn remove(&mut self, id: FollowUpId) -> bool {
        let removed = self.rows.remove(&id);
        removed.is_some_and(|row| self.by_time.remove(&(row.due_at, id)))
    }

    pub(crate) fn due(&self, at: Timestamp, limit: usize) -> Vec<FollowUp> {
        let due = self.by_time.iter().take_while(|(time, _)| *time <= at).take(limit);
        due.filter_map(|(_, id)| self.rows.get(id).cloned()).collect()
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(time, _)| *time)
    }
}
