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

#[cfg(test)]
mod tests {
    use super::super::SECOND;
    use super::super::reservation::ReservationFacts;
    use super::*;
    use crate::ids::Id;

    const NOW: u64 = 1_000 * SECOND;
    const MILLI: u64 = SECOND / 1_000;

    /// A replica that counts in the store, and the store's count of the one key.
    struct Rig {
        replica: Replica,
        arrival: Option<u64>,
    }

    fn key() -> ApiKeyId {
        Id::from_u128(1)
    }

    impl Rig {
        fn new() -> Self {
            let mut replica = Replica::new(ReplicaId(1), Gcra::new(20, 40));
            let check_in = replica.check_in(NOW);
            replica.checked_in(check_in, Standing::Shared { others: 1 }, NOW, NOW);
            Self { replica, arrival: None }
        }

        fn ask(&mut self, waiting: u64, now: u64) -> Asked {
            self.replica.reservation(key(), waiting, now).unwrap()
        }

        fn facts(&self, now: u64) -> ReservationFacts {
            ReservationFacts { arrival: self.arrival, start: Some(0), now }
        }

        fn answer(&mut self, asked: Asked, now: u64) {
            let granted = asked.reservation.settle(self.facts(now));
            self.arrival = Some(granted.arrival);
            self.replica.reserved(asked, granted, now).unwrap();
        }
    }

    #[test]
    fn a_key_that_comes_again_within_twice_the_time_that_tokens_keep_is_given_some_ahead() {
        for (later, ahead) in [(500 * MILLI, 3), (500 * MILLI + 1, 0)] {
            let mut rig = Rig::new();
            let asked = rig.ask(3, NOW);
            assert_eq!(asked.reservation.ahead, 0, "nothing is known of it yet");
            rig.answer(asked, NOW);
            assert_eq!(rig.ask(1, NOW + later).reservation.ahead, ahead, "{later}");
        }
    }

    #[test]
    fn of_too_many_keys_the_less_busy_half_is_forgotten() {
        let numbered = |n: u64| -> ApiKeyId { Id::from_u128(n.into()) };
        let mut replica = Rig::new().replica;
        let most = MAX_KEYS as u64;
        for n in 0..most {
            replica.judge_by_itself(numbered(n), NOW + n);
        }
        assert_eq!(replica.keys.len(), MAX_KEYS);
        replica.judge_by_itself(numbered(0), NOW + most);
        assert_eq!(replica.keys.len(), MAX_KEYS, "there is room for one that is known");
        replica.judge_by_itself(numbered(most), NOW + most);
        assert_eq!(replica.keys.len(), MAX_KEYS / 2);
        for (n, is_kept) in [(0, true), (1, false), (most / 2, false), (most - 1, true)] {
            assert_eq!(replica.keys.contains_key(&numbered(n)), is_kept, "{n}");
        }
    }

    #[test]
    fn the_idle_go_first_and_then_the_less_busy_half_if_more_than_half_is_left() {
        for (now, kept) in [
            (0, vec![5, 6]),
            (1, vec![5, 6]),
            (2, vec![6]),
            (3, vec![4, 5, 6]),
            (5, vec![6]),
            (6, vec![]),
        ] {
            let mut keys: HashMap<u64, u64> = (1..=6).map(|n| (n, n)).collect();
            make_room(&mut keys, 6, now, |arrival| *arrival);
            let mut left: Vec<u64> = keys.into_keys().collect();
            left.sort_unstable();
            assert_eq!(left, kept, "{now}");
        }
    }

    #[test]
    fn what_the_store_refuses_is_refused_whatever_is_known_of_it() {
        let gcra = Gcra::new(20, 40);
        assert_eq!(gcra.refused(NOW, NOW).retry_after, Some(1));
        assert_eq!(gcra.refused(NOW + 5 * SECOND, NOW).retry_after, Some(4));
    }

    #[test]
    fn tokens_that_are_there_ahead_remain_to_be_used_until_the_footing_is_lost() {
        let mut rig = Rig::new();
        for waiting in [5, 1] {
            let asked = rig.ask(waiting, NOW);
            rig.answer(asked, NOW);
        }
        // Eleven are charged, of which five are not used yet.
        let Judged::Said(verdict) = rig.replica.judge(key(), NOW) else { panic!("one is there") };
        assert_eq!((verdict.retry_after, verdict.remaining), (None, 40 - 11 + 4));
        let early = rig.ask(1, NOW);
        for standing in [Standing::Overtaken, Standing::Shared { others: 1 }] {
            let check_in = rig.replica.check_in(NOW);
            rig.replica.checked_in(check_in, standing, NOW, NOW + 1);
        }
        assert_eq!(rig.replica.judge(key(), NOW + 1), Judged::Ask);
        let granted = early.reservation.settle(rig.facts(NOW + 1));
        assert_eq!(rig.replica.reserved(early, granted, NOW + 1), None, "it was asked before");
    }

    #[test]
    fn an_answer_with_no_tokens_ahead_takes_none_away() {
        let mut rig = Rig::new();
        let asked = rig.ask(5, NOW);
        rig.answer(asked, NOW);
        let (some, none) = (rig.ask(1, NOW + 1), rig.ask(1, NOW + 2));
        assert_eq!((some.reservation.ahead, none.reservation.ahead), (5, 0));
        rig.answer(some, NOW + 3);
        rig.answer(none, NOW + 4);
        let judged = rig.replica.judge(key(), NOW + 5);
        assert!(matches!(judged, Judged::Said(Verdict { retry_after: None, .. })), "{judged:?}");
    }
}
