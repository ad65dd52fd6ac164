//! Texts that wait to leave, and simulated things that wait to come back, by time.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::dispatch::{FollowUp, LeaseToken, QueueEntry};
use sms_core::ids::{FollowUpId, MessageId};
use sms_core::time::Timestamp;

/// The queue of texts.
#[derive(Default)]
pub(crate) struct Queue {
    entries: BTreeMap<MessageId, QueueEntry>,
    by_time: BTreeSet<(Timestamp, MessageId)>,
    by_lease: BTreeSet<(LeaseToken, MessageId)>,
}

impl Queue {
    /// Writes an entry in place of the one there was.
    pub(crate) fn put(&mut self, entry: QueueEntry) {
        self.remove(entry.message);
        self.by_time.insert((entry.claimable_at, entry.message));
        if let Some(token) = entry.lease {
            self.by_lease.insert((token, entry.message));
        }
        self.entries.insert(entry.message, entry);
    }

    pub(crate) fn remove(&mut self, message: MessageId) {
        if let Some(entry) = self.entries.remove(&message) {
            self.by_time.remove(&(entry.claimable_at, message));
            if let Some(token) = entry.lease {
                self.by_lease.remove(&(token, message));
            }
        }
    }

    pub(crate) fn get(&self, message: MessageId) -> Option<&QueueEntry> {
        self.entries.get(&message)
    }

    /// Up to `limit` entries claimable at `at` that are `wanted`, the longest due first.
    pub(crate) fn claimable(
        &self,
        at: Timestamp,
        limit: usize,
        wanted: impl Fn(&QueueEntry) -> bool,
    ) -> Vec<QueueEntry> {
        let due = self.by_time.iter().take_while(|(time, _)| *time <= at);
        let entries = due.filter_map(|(_, message)| self.entries.get(message));
        entries.filter(|entry| wanted(entry)).take(limit).copied().collect()
    }

    /// Holds what carries the token until `until`; how many there are.
    pub(crate) fn renew(&mut self, token: LeaseToken, until: Timestamp) -> usize {
        let first = (token, MessageId::from_u128(0));
        let last = (token, MessageId::from_u128(u128::MAX));
        let held: Vec<MessageId> =
            self.by_lease.range(first..=last).map(|(_, message)| *message).collect();
        for message in &held {
            if let Some(entry) = self.entries.get(message).copied() {
                self.put(QueueEntry { claimable_at: until, ..entry });
            }
        }
        held.len()
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(time, _)| *time)
    }
}

/// Simulated things that are still to come back.
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

    /// Removes one; says whether it was there.
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
