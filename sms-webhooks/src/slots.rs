//! How many attempts each endpoint may have in flight, so that no endpoint starves the others.
//!
//! Pure and deterministic: no clock, no I/O, ordered maps only. It only counts: the courier asks
//! before each attempt and reports afterwards. It does not know which deliveries are due.
//!
//! - An endpoint begins with a few slots, gains one with each success and loses half with each
//!   failure, down to one.
//! - All endpoints whose last attempt failed share a fixed part of the slots.
//! - A limited number of idle endpoints is remembered, so memory stays bounded.

use std::collections::BTreeMap;

use thiserror::Error;

/// The limits of [`Slots`]. Every number but `failing_percent` and `remembered` counts as at
/// least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLimits {
    /// Attempts in flight over all endpoints. 256 by default.
    pub total: usize,
    /// Slots of an endpoint without a record. 4 by default.
    pub start: usize,
    /// The most slots that one endpoint can earn. 32 by default.
    pub most: usize,
    /// The percentage of `total` that endpoints whose last attempt failed may use together. They
    /// always have one slot, so that they can recover. 25 by default.
    pub failing_percent: usize,
    /// How many idle endpoints are remembered; beyond that, those idle the longest are
    /// forgotten, healthy ones first. 10,000 by default.
    pub remembered: usize,
}

impl Default for SlotLimits {
    fn default() -> SlotLimits {
        SlotLimits { total: 256, start: 4, most: 32, failing_percent: 25, remembered: 10_000 }
    }
}

/// How an attempt ended, as far as slots are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered in good time: the endpoint gains a slot.
    Delivered,
    /// Delivered slowly: the allowance moves one slot towards `start`.
    Slow,
    /// Failed or timed out: the endpoint loses half of its slots.
    Failed,
}

/// Why there is no slot for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoSlot {
    /// Every slot is taken.
    #[error("every slot is taken")]
    Total,
    /// The endpoint has as many attempts in flight as it may.
    #[error("the endpoint's slots are taken")]
    Endpoint,
    /// The endpoint's last attempt failed, and the slots for such endpoints are taken.
    #[error("the slots for failing endpoints are taken")]
    Failing,
}

/// The slots in use, by endpoint.
///
/// ```
/// use sms_webhooks::{NoSlot, Outcome, SlotLimits, Slots};
///
/// let mut slots = Slots::new(SlotLimits { start: 1, ..SlotLimits::default() });
/// assert_eq!(slots.take(&"whk_1"), Ok(()));
/// assert_eq!(slots.take(&"whk_1"), Err(NoSlot::Endpoint));
/// slots.finished(&"whk_1", Outcome::Delivered);
/// assert_eq!(slots.available(&"whk_1"), 2);
/// ```
#[derive(Debug, Clone)]
pub struct Slots<K> {
    limits: SlotLimits,
    entries: BTreeMap<K, Entry>,
    /// Idle endpoints, the next one to be forgotten first.
    idle: BTreeMap<(Standing, u64), K>,
    in_flight: usize,
    failing_in_flight: usize,
    /// Grows with every endpoint that becomes idle.
    next_turn: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    allowance: usize,
    in_flight: usize,
    standing: Standing,
    /// The endpoint's place in `idle`, while it has nothing in flight.
    idle_turn: Option<u64>,
}

/// The order matters: healthy endpoints are forgotten first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Well,
    Failing,
}

impl<K: Ord + Clone> Slots<K> {
    /// Slots with nothing in flight.
    pub fn new(limits: SlotLimits) -> Slots<K> {
        let start = limits.start.max(1);
        let limits = SlotLimits {
            total: limits.total.max(1),
            start,
            most: limits.most.max(start),
            failing_percent: limits.failing_percent.min(100),
            remembered: limits.remembered,
        };
        Slots {
            limits,
            entries: BTreeMap::new(),
            idle: BTreeMap::new(),
            in_flight: 0,
            failing_in_flight: 0,
            next_turn: 0,
        }
    }

    /// Slots that are free.
    pub fn free(&self) -> usize {
        self.limits.total.saturating_sub(self.in_flight)
    }

    /// Slots that endpoints whose last attempt failed may still take together.
    pub fn failing_free(&self) -> usize {
        let open = self.limits.total * self.limits.failing_percent / 100;
        open.max(1).saturating_sub(self.failing_in_flight).min(self.free())
    }

    /// How many attempts `key` may have in flight at once, by its record alone.
    pub fn allowance(&self, key: &K) -> usize {
        self.entries.get(key).map_or(self.limits.start, |entry| entry.allowance)
    }

    /// How many slots `key` could take now.
    pub fn available(&self, key: &K) -> usize {
        self.entries.get(key).map_or(self.available_to_unknown(), |entry| self.available_to(entry))
    }

    /// How many slots an endpoint that is not among [`known`](Slots::known) would get now.
    pub fn available_to_unknown(&self) -> usize {
        self.limits.start.min(self.free())
    }

    /// Every endpoint with a record, in key order, and the slots available to it. A claim needs
    /// this to skip endpoints that have none.
    pub fn known(&self) -> impl Iterator<Item = (&K, usize)> {
        self.entries.iter().map(|(key, entry)| (key, self.available_to(entry)))
    }

    /// Takes a slot for one attempt to `key`.
    ///
    /// # Errors
    ///
    /// [`NoSlot`] when no slot is free for it. Nothing changes then.
    pub fn take(&mut self, key: &K) -> Result<(), NoSlot> {
        let mut entry = self.entries.get(key).copied().unwrap_or(self.unknown());
        if self.free() == 0 {
            return Err(NoSlot::Total);
        }
        if entry.in_flight >= entry.allowance {
            return Err(NoSlot::Endpoint);
        }
        if entry.standing == Standing::Failing && self.failing_free() == 0 {
            return Err(NoSlot::Failing);
        }
        self.withdraw(key, entry);
        entry.in_flight += 1;
        self.deposit(key, entry);
        Ok(())
    }

    /// Returns the slot after an attempt and adjusts the endpoint's allowance to the outcome. Does
    /// nothing if `key` has no attempt in flight.
    pub fn finished(&mut self, key: &K, outcome: Outcome) {
        let Some(mut entry) = self.busy_entry(key) else {
            return;
        };
        self.withdraw(key, entry);
        entry.in_flight -= 1;
        match outcome {
            Outcome::Delivered => {
                entry.standing = Standing::Well;
                entry.allowance = (entry.allowance + 1).min(self.limits.most);
            }
            Outcome::Slow => {
                entry.standing = Standing::Well;
                entry.allowance = match entry.allowance {
                    above if above > self.limits.start => above - 1,
                    below if below < self.limits.start => below + 1,
                    at_start => at_start,
                };
            }
            Outcome::Failed => {
                entry.standing = Standing::Failing;
                entry.allowance = (entry.allowance / 2).max(1);
            }
        }
        self.deposit(key, entry);
    }

    /// Returns a slot that was not used. Does nothing if `key` has none.
    pub fn give_back(&mut self, key: &K) {
        let Some(mut entry) = self.busy_entry(key) else {
            return;
        };
        self.withdraw(key, entry);
        entry.in_flight -= 1;
        self.deposit(key, entry);
    }

    /// Forgets the record of `key`, for example when the endpoint is deleted, disabled or enabled.
    /// Attempts still in flight keep their slots.
    pub fn forget(&mut self, key: &K) {
        let Some(entry) = self.entries.get(key).copied() else {
            return;
        };
        self.withdraw(key, entry);
        self.deposit(key, Entry { in_flight: entry.in_flight, ..self.unknown() });
    }

    fn unknown(&self) -> Entry {
        let allowance = self.limits.start;
        Entry { allowance, in_flight: 0, standing: Standing::Well, idle_turn: None }
    }

    fn busy_entry(&self, key: &K) -> Option<Entry> {
        self.entries.get(key).copied().filter(|entry| entry.in_flight > 0)
    }

    fn available_to(&self, entry: &Entry) -> usize {
        let own = entry.allowance.saturating_sub(entry.in_flight);
        match entry.standing {
            Standing::Well => own.min(self.free()),
            Standing::Failing => own.min(self.failing_free()),
        }
    }

    /// Removes the entry from every count. [`deposit`](Slots::deposit) adds it again.
    fn withdraw(&mut self, key: &K, entry: Entry) {
        self.entries.remove(key);
        self.in_flight -= entry.in_flight;
        if entry.standing == Standing::Failing {
            self.failing_in_flight -= entry.in_flight;
        }
        if let Some(turn) = entry.idle_turn {
            self.idle.remove(&(entry.standing, turn));
        }
    }

    /// Adds the entry to every count, or drops it if it equals an unknown endpoint's.
    fn deposit(&mut self, key: &K, mut entry: Entry) {
        entry.idle_turn = None;
        if entry == self.unknown() {
            return;
        }
        self.in_flight += entry.in_flight;
        if entry.standing == Standing::Failing {
            self.failing_in_flight += entry.in_flight;
        }
        if entry.in_flight == 0 {
            entry.idle_turn = Some(self.next_turn);
            self.idle.insert((entry.standing, self.next_turn), key.clone());
            self.next_turn += 1;
        }
        self.entries.insert(key.clone(), entry);
        self.forget_beyond_limit();
    }

    fn forget_beyond_limit(&mut self) {
        while self.idle.len() > self.limits.remembered {
            if let Some((_, key)) = self.idle.pop_first() {
                self.entries.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
