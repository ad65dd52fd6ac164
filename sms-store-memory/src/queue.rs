//! Messages that wait to be handed over, and the simulated network's follow-ups, by time.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::dispatch::{FollowUp, LeaseToken, QueueEntry, Wanted};
use sms_core::ids::{FollowUpId, MessageId};
use sms_core::route::RouteName;
use sms_core::time::Timestamp;

/// The queue of messages, ordered by time within each route. So a route that accepts nothing does
/// not delay the others, however many messages wait for it.
#[derive(Default)]
pub(crate) struct Queue {
    entries: BTreeMap<MessageId, Waiting>,
    routes: Vec<(RouteName, ByTime)>,
    by_lease: BTreeSet<(LeaseToken, MessageId)>,
}

type ByTime = BTreeSet<(Timestamp, MessageId)>;

/// An entry, and the index of its route in `Queue::routes`.
#[derive(Clone, Copy)]
struct Waiting {
    entry: QueueEntry,
    route: usize,
}

impl Queue {
    /// Adds a message of this route, or replaces its entry.
    pub(crate) fn insert(&mut self, entry: QueueEntry, route: &RouteName) {
        let known = self.routes.iter().position(|(name, _)| name == route);
        let route = known.unwrap_or_else(|| {
            self.routes.push((route.clone(), ByTime::new()));
            self.routes.len() - 1
        });
        self.take(entry.message);
        self.put(Waiting { entry, route });
    }

    /// Replaces the entry of a message that waits. Does nothing for other messages.
    pub(crate) fn replace(&mut self, entry: QueueEntry) {
        if let Some(before) = self.take(entry.message) {
            self.put(Waiting { entry, ..before });
        }
    }

    fn put(&mut self, waiting: Waiting) {
        let Waiting { entry, route } = waiting;
        if let Some((_, by_time)) = self.routes.get_mut(route) {
            by_time.insert((entry.claimable_at, entry.message));
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
        if let Some((_, by_time)) = self.routes.get_mut(waiting.route) {
            by_time.remove(&(waiting.entry.claimable_at, message));
        }
        if let Some(token) = waiting.entry.lease {
            self.by_lease.remove(&(token, message));
        }
        Some(waiting)
    }

    pub(crate) fn get(&self, message: MessageId) -> Option<&QueueEntry> {
        self.entries.get(&message).map(|waiting| &waiting.entry)
    }

    /// Up to `limit` wanted entries that may be claimed at `at`, the longest due first.
    pub(crate) fn claimable(
        &self,
        at: Timestamp,
        limit: usize,
        wanted: &Wanted,
    ) -> Vec<QueueEntry> {
        let mut found = Vec::new();
        for (_, by_time) in self.routes.iter().filter(|(route, _)| wanted.concerns(route)) {
            let due = by_time.iter().take_while(|(time, _)| *time <= at);
            let entries = due.filter_map(|(_, message)| self.get(*message));
            found.extend(entries.filter(|entry| wanted.takes(entry, at)).take(limit).copied());
        }
        found.sort_unstable_by_key(|entry| (entry.claimable_at, entry.message));
        found.truncate(limit);
        found
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
        let firsts = self.routes.iter().filter_map(|(_, by_time)| by_time.first());
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
