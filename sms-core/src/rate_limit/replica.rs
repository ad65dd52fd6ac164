//! A replica's side of the limit: what it may admit by itself, and what it has to ask for.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use super::membership::{CheckIn, Held, Membership, ReplicaId, Standing};
use super::reservation::{Granted, Reservation};
use super::{Gcra, Verdict};
use crate::ids::ApiKeyId;

/// How many keys are remembered before the least busy ones are forgotten.
const MAX_KEYS: usize = 100_000;

/// Judges requests. Whoever drives it checks in, takes reservations to the store, and tells the
/// time: nanoseconds by a clock of the replica's own that never goes back.
#[derive(Debug, Clone)]
pub struct Replica {
    gcra: Gcra,
    membership: Membership,
    keys: HashMap<ApiKeyId, KeyCount>,
}

/// What a request is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It is decided.
    Said(Verdict),
    /// The store has to be asked for a token: [`Replica::reservation`].
    Ask,
    /// Nothing may be admitted until the replica has a footing: it checks in for one.
    Wait,
}

/// A reservation that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// What to ask the store.
    pub reservation: Reservation,
    at: u64,
}

/// What a replica knows of a key.
#[derive(Debug, Clone, Copy, Default)]
struct KeyCount {
    /// The arrival time of what this replica has admitted.
    own: u64,
    /// The arrival time in the store when it was last seen, put late rather than early.
    shared: u64,
    ahead: Ahead,
    /// When the store was last asked, and what was admitted since.
    asked: u64,
    admitted: u64,
}

/// Tokens taken ahead of need.
#[derive(Debug, Clone, Copy, Default)]
struct Ahead {
    tokens: u64,
    /// When they were asked for: they are gone a hold later, or with the replica's footing.
    asked: u64,
}

impl Replica {
    /// A replica that has no footing yet.
    pub fn new(id: ReplicaId, gcra: Gcra) -> Self {
        Self { gcra, membership: Membership::new(id), keys: HashMap::new() }
    }

    /// Judges a request of `key`, and counts it if it may pass.
    pub fn judge(&mut self, key: ApiKeyId, now: u64) -> Judged {
        let gcra = self.gcra;
        match self.membership.held(now) {
            Held::Nothing => Judged::Wait,
            Held::Alone { spent, .. } => {
                let count = self.count(key, now);
                let begun = spent.map_or(0, |spent| spent.saturating_add(gcra.span()));
                count.own = count.own.max(begun);
                Judged::Said(gcra.judge(&mut count.own, now))
            }
            Held::Shared { since, .. } => {
                let count = self.count(key, now);
                if count.take_ahead(gcra, since, now) {
                    count.admit(gcra, now);
                    return Judged::Said(count.passed(gcra, now));
                }
                // The arrival time in the store only grows: what it refuses now it would refuse
                // if it were asked.
                let verdict = gcra.look(count.shared, now);
                match verdict.retry_after {
                    Some(_) => Judged::Said(verdict),
                    None => Judged::Ask,
                }
            }
        }
    }

    /// Judges a request by what this replica alone has admitted, whoever else may count: for when
    /// the store cannot be asked.
    pub fn judge_by_itself(&mut self, key: ApiKeyId, now: u64) -> Verdict {
        let gcra = self.gcra;
        gcra.judge(&mut self.count(key, now).own, now)
    }

    /// What to ask the store for `waiting` requests of `key`; nothing without the footing for it.
    pub fn reservation(&mut self, key: ApiKeyId, waiting: u64, now: u64) -> Option<Asked> {
        let Held::Shared { .. } = self.membership.held(now) else { return None };
        let gcra = self.gcra;
        let count = self.count(key, now);
        // As many as were needed in the time that they keep for: none for a key that comes rarely.
        let is_busy = now.saturating_sub(count.asked) <= 2 * gcra.hold();
        let ahead = if is_busy { count.admitted.min(gcra.most_ahead()) } else { 0 };
        (count.asked, count.admitted) = (now, 0);
        Some(Asked { reservation: Reservation { key, gcra, waiting, ahead }, at: now })
    }

    /// The store's answer: the verdicts on those that waited, in their order; nothing if the
    /// replica has lost the footing meanwhile, and they have to be judged again.
    pub fn reserved(&mut self, asked: Asked, granted: Granted, now: u64) -> Option<Vec<Verdict>> {
        let Held::Shared { since, .. } = self.membership.held(now) else { return None };
        if asked.at < since {
            return None;
        }
        let (gcra, waiting) = (self.gcra, asked.reservation.waiting);
        let count = self.count(asked.reservation.key, now);
        let arrival = now.saturating_add(granted.arrival.saturating_sub(granted.now));
        count.shared = count.shared.max(arrival);
        if granted.ahead > 0 {
            // What is left of those before is let go: it would have to be told apart.
            count.ahead = Ahead { tokens: granted.ahead, asked: asked.at };
        }
        for _ in 0..granted.waiting {
            count.admit(gcra, now);
        }
        let passed = count.passed(gcra, now);
        let refused = gcra.refused(count.shared, now);
        let verdicts = (0..waiting).map(|at| if at < granted.waiting { passed } else { refused });
        Some(verdicts.collect())
    }

    /// The next sign of life, to be taken to the store every
    /// [`CHECK_IN_EVERY`](super::membership::CHECK_IN_EVERY), one at a time.
    pub fn check_in(&mut self, now: u64) -> CheckIn {
        self.membership.check_in(now)
    }

    /// The last one. Nothing is admitted from here on.
    pub fn leave(&mut self) -> CheckIn {
        self.membership.leave()
    }

    /// The store's answer to what was asked at `asked`.
    pub fn checked_in(&mut self, check_in: CheckIn, standing: Standing, asked: u64, now: u64) {
        self.membership.checked_in(check_in, standing, asked, now);
    }

    /// Whether it may admit requests at this moment.
    pub fn has_footing(&self, now: u64) -> bool {
        self.membership.held(now) != Held::Nothing
    }

    fn count(&mut self, key: ApiKeyId, now: u64) -> &mut KeyCount {
        if self.keys.len() >= MAX_KEYS && !self.keys.contains_key(&key) {
            make_room(&mut self.keys, MAX_KEYS, now, |count| count.own.max(count.shared));
        }
        self.keys.entry(key).or_default()
    }
}

impl KeyCount {
    /// Takes a token that is there ahead of need.
    fn take_ahead(&mut self, gcra: Gcra, since: u64, now: u64) -> bool {
        let Ahead { tokens, asked } = self.ahead;
        let is_good = asked >= since && now <= asked.saturating_add(gcra.hold());
        self.ahead.tokens = if is_good { tokens.saturating_sub(1) } else { 0 };
        is_good && tokens > 0
    }

    fn admit(&mut self, gcra: Gcra, now: u64) {
        self.own = self.own.max(now).saturating_add(gcra.interval);
        self.admitted += 1;
    }

    /// The verdict on one that has passed.
    fn passed(&self, gcra: Gcra, now: u64) -> Verdict {
        let verdict = gcra.verdict(self.shared.saturating_sub(now), None);
        let remaining = verdict.remaining.saturating_add(self.ahead.tokens).min(gcra.burst);
        Verdict { remaining, ..verdict }
    }
}

impl Gcra {
    /// The verdict on one that the store has refused, with the store's arrival time.
    fn refused(self, arrival: u64, now: u64) -> Verdict {
        let verdict = self.look(arrival, now);
        Verdict { retry_after: verdict.retry_after.or(Some(1)), ..verdict }
    }
}

/// Forgets idle keys, and the less busy half if that leaves more than half.
pub fn make_room<K: Eq + Hash, V, S: BuildHasher>(
    keys: &mut HashMap<K, V, S>,
    most: usize,
    now: u64,
    arrival: impl Fn(&V) -> u64,
) {
    keys.retain(|_, value| arrival(value) > now);
    if keys.len() > most / 2 {
        let mut times: Vec<u64> = keys.values().map(&arrival).collect();
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        let median = *median;
        keys.retain(|_, value| arrival(value) > median);
    }
}
