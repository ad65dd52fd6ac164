//! Which replicas count requests, and how: one alone by itself, or several in the store.
//!
//! Each has a lease, renewed by checking in. A replica trusts its lease for less long than the
//! store keeps it, counted from before it asked: it has stopped when others believe that it has.
//! Whoever changes from one way of counting to the other stops before it asks.

use std::time::Duration;

use super::SECOND;

/// How often a replica checks in.
pub const CHECK_IN_EVERY: Duration = Duration::from_millis(400);
/// How often one checks in that may not count yet.
pub const CHECK_IN_WHILE_WAITING: Duration = Duration::from_millis(50);
/// How long the store keeps a lease.
pub const LEASE: u64 = 2 * SECOND;
/// How long a replica trusts it. What is left covers clocks that run at different speeds.
pub const TRUST: u64 = 3 * SECOND / 2;
/// How long a replica that has had company counts on in the store, for replicas come and go.
const COMPANY: u64 = 10 * SECOND;

/// A running program, by a random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u128);

/// How a replica counts requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Footing {
    /// Not yet: another counts alone.
    Waiting,
    /// By itself.
    Alone,
    /// In the store, with others or ready for them.
    Shared,
}

/// A replica's place, as the store keeps it. Times are nanoseconds by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Whose.
    pub replica: ReplicaId,
    /// How it counts.
    pub footing: Footing,
    /// Until when.
    pub until: u64,
    /// Of one that counts alone: until when others may have counted, before it.
    pub spent: Option<u64>,
    /// The check-in that wrote it.
    pub turn: u64,
}

/// What a replica wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To count by itself.
    Alone,
    /// To count in the store.
    Shared,
    /// To count no more.
    Leave,
}

/// A replica's sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckIn {
    /// Whose.
    pub replica: ReplicaId,
    /// What it wants.
    pub wish: Wish,
    /// Its number; one that was overtaken by a later one counts for nothing.
    pub turn: u64,
}

/// When each way of counting last ended, for the one that begins. Times of the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ends {
    /// One replica counted alone until then.
    pub alone: Option<u64>,
    /// Replicas counted in the store until then.
    pub shared: Option<u64>,
}

/// What the store knows, read with all check-ins locked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckInFacts {
    /// All leases, those that ran out included.
    pub leases: Vec<Lease>,
    /// The ends so far.
    pub ends: Ends,
    /// The present, read under the lock.
    pub now: u64,
}

/// What a check-in changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedIn {
    /// What the replica is told.
    pub standing: Standing,
    /// Its lease from now on; `None` leaves nothing of it.
    pub lease: Option<Lease>,
    /// Leases that are to be removed: they have run out.
    pub gone: Vec<ReplicaId>,
    /// The ends from now on.
    pub ends: Ends,
}

/// What a replica is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Count by yourself.
    Alone {
        /// How long ago others may have counted last, in nanoseconds; nothing if nobody ever did.
        spent: Option<u64>,
    },
    /// Count in the store.
    Shared {
        /// How many others live.
        others: usize,
    },
    /// Another counts by itself still; ask again.
    Waiting,
    /// You count by yourself, and another waits: stop, and ask to share.
    GiveWay,
    /// You have left.
    Left,
    /// A later check-in was heard before this one.
    Overtaken,
}

impl CheckIn {
    /// Gives the replica its standing.
    pub fn settle(&self, facts: CheckInFacts) -> CheckedIn {
        let CheckInFacts { leases, mut ends, now } = facts;
        let mine = leases.iter().find(|lease| lease.replica == self.replica).copied();
        if mine.is_some_and(|mine| mine.turn >= self.turn) {
            let standing = Standing::Overtaken;
            return CheckedIn { standing, lease: mine, gone: Vec::new(), ends };
        }
        let (live, dead): (Vec<_>, Vec<_>) = leases.into_iter().partition(|lease| lease.lives(now));
        for lease in &dead {
            // One that reaches too far was written by a clock that has been set back since.
            ends.note(lease.footing, lease.until.min(now));
        }
        let mine = mine.filter(|mine| mine.lives(now));
        let others = || live.iter().filter(|lease| lease.replica != self.replica);
        let standing = self.standing(mine, others(), now, &mut ends);
        let footing = match standing {
            Standing::Alone { .. } | Standing::GiveWay => Footing::Alone,
            Standing::Shared { .. } => Footing::Shared,
            Standing::Waiting | Standing::Left | Standing::Overtaken => Footing::Waiting,
        };
        let spent = match standing {
            Standing::Alone { spent } => spent.map(|ago| now.saturating_sub(ago)),
            _ => mine.and_then(|mine| mine.spent),
        };
        let until = match (standing, mine) {
            (Standing::GiveWay, Some(mine)) => mine.until,
            _ => now.saturating_add(LEASE),
        };
        let lease = Lease { replica: self.replica, footing, until, spent, turn: self.turn };
        let gone = dead.iter().map(|lease| lease.replica).filter(|id| *id != self.replica);
        CheckedIn {
            standing,
            lease: (standing != Standing::Left).then_some(lease),
            gone: gone.collect(),
            ends,
        }
    }

    fn standing<'a>(
        &self,
        mine: Option<Lease>,
        others: impl Iterator<Item = &'a Lease> + Clone,
        now: u64,
        ends: &mut Ends,
    ) -> Standing {
        let footing = mine.map(|mine| mine.footing);
        let is_alone = footing == Some(Footing::Alone);
        let is_first = others.clone().next().is_none();
        match self.wish {
            Wish::Alone if is_first && is_alone => {
                let spent = mine.and_then(|mine| mine.spent);
                return Standing::Alone { spent: spent.map(|spent| now.saturating_sub(spent)) };
            }
            Wish::Alone if is_alone => return Standing::GiveWay,
            _ => {}
        }
        // It has stopped being what it was, or goes on as one of those that share.
        if let Some(before) = footing {
            ends.note(before, now);
        }
        match self.wish {
            Wish::Leave => Standing::Left,
            Wish::Alone if is_first => {
                let spent = ends.alone.max(ends.shared);
                Standing::Alone { spent: spent.map(|spent| now.saturating_sub(spent)) }
            }
            _ if others.clone().any(|lease| lease.footing == Footing::Alone) => Standing::Waiting,
            _ => Standing::Shared { others: others.count() },
        }
    }
}

impl Lease {
    /// Whether it holds. One that ends much later than a lease can was written by a clock that has
    /// been set back since.
    fn lives(&self, now: u64) -> bool {
        self.until > now && self.until <= now.saturating_add(2 * LEASE)
    }
}

impl Ends {
    fn note(&mut self, footing: Footing, at: u64) {
        match footing {
            Footing::Waiting => {}
            Footing::Alone => self.alone = self.alone.max(Some(at)),
            Footing::Shared => self.shared = self.shared.max(Some(at)),
        }
    }
}

/// A replica's own view of its lease. Times are nanoseconds by its own clock.
#[derive(Debug, Clone)]
pub(super) struct Membership {
    replica: ReplicaId,
    turn: u64,
    held: Held,
    /// When others were last known to live.
    company: Option<u64>,
}

/// What a replica may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// Count by itself, beginning with the burst spent at `spent`.
    Alone {
        until: u64,
        spent: Option<u64>,
    },
    /// Count in the store, as it has done since `since`.
    Shared {
        until: u64,
        since: u64,
    },
}

impl Membership {
    pub(super) fn new(replica: ReplicaId) -> Self {
        Self { replica, turn: 0, held: Held::Nothing, company: None }
    }

    /// What it may do at this moment.
    pub(super) fn held(&self, now: u64) -> Held {
        match self.held {
            Held::Alone { until, .. } | Held::Shared { until, .. } if now >= until => Held::Nothing,
            held => held,
        }
    }

    /// The next sign of life. Whoever is to change stops here, before it asks.
    pub(super) fn check_in(&mut self, now: u64) -> CheckIn {
        let has_company = self.company.is_some_and(|company| now.saturating_sub(company) < COMPANY);
        let wish = if has_company { Wish::Shared } else { Wish::Alone };
        match (self.held, wish) {
            (Held::Alone { .. }, Wish::Shared) | (Held::Shared { .. }, Wish::Alone) => {
                self.held = Held::Nothing;
            }
            _ => {}
        }
        self.asks_for(wish)
    }

    /// The last sign of life: it counts nothing from here on.
    pub(super) fn leave(&mut self) -> CheckIn {
        self.held = Held::Nothing;
        self.asks_for(Wish::Leave)
    }

    fn asks_for(&mut self, wish: Wish) -> CheckIn {
        self.turn += 1;
        CheckIn { replica: self.replica, wish, turn: self.turn }
    }

    /// The answer to what was asked at `asked`.
    pub(super) fn checked_in(
        &mut self,
        check_in: CheckIn,
        standing: Standing,
        asked: u64,
        now: u64,
    ) {
        // Of an answer that came after another question nothing is known.
        if check_in.turn != self.turn {
            return;
        }
        let until = asked.saturating_add(TRUST);
        let before = self.held(now);
        self.held = match standing {
            Standing::Alone { spent } => {
                // The store said "so long ago" before now, so this is late rather than early.
                Held::Alone { until, spent: spent.map(|ago| now.saturating_sub(ago)) }
            }
            Standing::Shared { .. } => match before {
                Held::Shared { since, .. } => Held::Shared { until, since },
                _ => Held::Shared { until, since: now },
            },
            _ => Held::Nothing,
        };
        let has_company = match standing {
            Standing::Shared { others } => others > 0,
            Standing::Waiting | Standing::GiveWay => true,
            Standing::Alone { .. } | Standing::Left | Standing::Overtaken => false,
        };
        if has_company {
            self.company = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_to_give_way_has_no_more_time_for_it() {
        let now = 10 * SECOND;
        let lease = |id, footing, until| {
            let replica = ReplicaId(id);
            Lease { replica, footing, until, spent: None, turn: 1 }
        };
        let mine = lease(1, Footing::Alone, now + 1);
        let leases = vec![mine, lease(2, Footing::Waiting, now + LEASE)];
        let check_in = CheckIn { replica: mine.replica, wish: Wish::Alone, turn: 2 };
        let told = check_in.settle(CheckInFacts { leases, ends: Ends::default(), now });
        assert_eq!(told.standing, Standing::GiveWay);
        assert_eq!(told.lease, Some(Lease { turn: 2, ..mine }));
    }

    #[test]
    fn nothing_is_left_of_one_that_leaves_but_until_when_it_counted() {
        let now = 10 * SECOND;
        let replica = ReplicaId(1);
        let (until, spent) = (now + 1, None);
        let leases = vec![Lease { replica, footing: Footing::Alone, until, spent, turn: 1 }];
        let check_in = CheckIn { replica, wish: Wish::Leave, turn: 2 };
        let told = check_in.settle(CheckInFacts { leases, ends: Ends::default(), now });
        assert_eq!((told.standing, told.lease), (Standing::Left, None));
        assert_eq!(told.ends, Ends { alone: Some(now), shared: None });
    }

    #[test]
    fn a_lease_lasts_to_its_end_and_one_that_ends_too_late_was_written_by_another_clock() {
        let now = 10 * SECOND;
        let (ended, holds) = (Standing::Alone { spent: Some(0) }, Standing::Waiting);
        let check_in = CheckIn { replica: ReplicaId(1), wish: Wish::Alone, turn: 1 };
        for (until, standing) in
            [(now, ended), (now + 1, holds), (now + 2 * LEASE, holds), (now + 2 * LEASE + 1, ended)]
        {
            let (replica, footing) = (ReplicaId(2), Footing::Alone);
            let leases = vec![Lease { replica, footing, until, spent: None, turn: 1 }];
            let told = check_in.settle(CheckInFacts { leases, ends: Ends::default(), now });
            assert_eq!(told.standing, standing);
            assert_eq!(told.gone.contains(&replica), standing == ended);
        }
    }

    #[test]
    fn one_counts_on_in_the_store_for_ten_seconds_after_it_had_company() {
        let began = 10 * SECOND;
        for (others, later, wish) in [
            (0, 1, Wish::Alone),
            (1, COMPANY - 1, Wish::Shared),
            (1, COMPANY, Wish::Alone),
            (2, COMPANY - 1, Wish::Shared),
        ] {
            let mut membership = Membership::new(ReplicaId(1));
            let asked = membership.check_in(began);
            membership.checked_in(asked, Standing::Shared { others }, began, began);
            assert_eq!(membership.check_in(began + later).wish, wish, "{others} {later}");
        }
    }

    #[test]
    fn a_replica_trusts_its_lease_for_less_long_than_the_store_keeps_it() {
        let times = [TRUST, LEASE, COMPANY].map(Duration::from_nanos);
        assert_eq!(times.map(|time| time.as_millis()), [1_500, 2_000, 10_000]);
        assert!(3 * CHECK_IN_EVERY < times[0], "one that fails leaves time for another");
    }
}
