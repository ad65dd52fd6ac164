//! Turns: how accounts share what leaves while more is due than a claim takes.
//!
//! As long as a claim takes everything that is due, messages leave in the order in which they fell
//! due. When a claim is full, each lane of each route in it becomes *crowded*, and later claims
//! take from it by turns: so much from each account that has something due. Nothing is stored for
//! that. A claim visits accounts in the order of their ids and remembers where it stopped, so any
//! number of servers can claim at once, each in its own rounds.
//!
//! An account whose messages wait in a crowded lane is passed over by at most as many claims of one
//! server as it takes to visit all accounts in that lane, [`ClaimPlan::limit`] at a time.
//!
//! [`ClaimPlan::limit`]: super::ClaimPlan::limit

use std::collections::{BTreeMap, BTreeSet};

use crate::account::share::Share;
use crate::ids::AccountId;
use crate::lane::{Lane, LaneOrder, RouteLane};

/// Whose turn it is: what a program remembers from one claim for the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turns {
    /// The crowded lanes, each with the account after which the next claim continues.
    crowded: BTreeMap<RouteLane, AccountId>,
    order: LaneOrder,
}

/// Sorts before every account, so a round starts after it.
const FIRST: AccountId = AccountId::from_u128(0);

impl Turns {
    /// The account after which a claim continues; `None` if it takes what is longest due.
    pub fn after(&self, lane: &RouteLane) -> Option<AccountId> {
        self.crowded.get(lane).copied()
    }

    /// The lanes whose accounts take turns, each with the account after which a claim continues.
    pub fn crowded(&self) -> impl Iterator<Item = (&RouteLane, AccountId)> {
        self.crowded.iter().map(|(lane, after)| (lane, *after))
    }

    /// The same, but accounts take turns in this lane, and the next claim continues after `after`.
    #[must_use]
    pub fn going_on_after(mut self, lane: RouteLane, after: AccountId) -> Self {
        self.crowded.insert(lane, after);
        self
    }

    /// The order of the two lanes.
    pub fn order(&self) -> LaneOrder {
        self.order
    }

    /// Whether any accounts take turns.
    pub fn is_crowded(&self) -> bool {
        !self.crowded.is_empty()
    }

    /// How many messages of an account a claim of `limit` takes from a crowded lane at most, if all
    /// accounts visited have the share `all` together: its part of the limit, rounded up.
    pub fn most(limit: usize, share: Share, all: u64) -> usize {
        let part = (limit as u128 * u128::from(share.get())).div_ceil(u128::from(all.max(1)));
        usize::try_from(part).unwrap_or(usize::MAX).max(1)
    }

    /// Where message number `nth` (from 0) of an account stands in a crowded lane: messages leave
    /// by this, and then by account in the order of the visits. So accounts alternate by share.
    pub fn round(nth: usize, share: Share) -> u64 {
        // A common multiple of no shares in particular; it only has to distinguish close ones.
        const UNIT: u64 = 1 << 32;
        nth as u64 * UNIT / u64::from(share.get())
    }
}

/// Learns from what a claim takes where the next one continues.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnsTaken {
    taken: BTreeMap<RouteLane, BTreeSet<AccountId>>,
    lanes: Vec<Lane>,
}

impl TurnsTaken {
    /// Notes that a claim takes a message.
    pub(crate) fn note(&mut self, lane: RouteLane, account: AccountId) {
        self.lanes.push(lane.lane);
        self.taken.entry(lane).or_default().insert(account);
    }

    /// The turns after a claim that began with `before`, took up to `limit`, and read the lanes
    /// that `concerns` says.
    pub(crate) fn next(
        self,
        before: &Turns,
        limit: usize,
        concerns: impl Fn(&RouteLane) -> bool,
    ) -> Turns {
        let Self { mut taken, lanes } = self;
        let is_full = lanes.len() >= limit;
        let mut next = before.clone();
        for lane in lanes {
            next.order.went(lane);
        }
        for (lane, after) in &before.crowded {
            match taken.remove(lane) {
                Some(accounts) => {
                    next.crowded.insert(lane.clone(), last_visited(&accounts, *after));
                }
                // The claim was not full, so nothing was due here.
                None if !is_full && concerns(lane) => {
                    next.crowded.remove(lane);
                }
                None => {}
            }
        }
        if is_full {
            next.crowded.extend(taken.into_keys().map(|lane| (lane, FIRST)));
        }
        next
    }
}

/// The last of these accounts in the order of the visits: those after `after`, then the others.
fn last_visited(accounts: &BTreeSet<AccountId>, after: AccountId) -> AccountId {
    let wrapped = accounts.range(..=after).next_back();
    wrapped.or_else(|| accounts.last()).copied().unwrap_or(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteName;

    fn lane(lane: Lane) -> RouteLane {
        RouteLane::new(RouteName::new("network"), lane)
    }

    fn account(number: u128) -> AccountId {
        AccountId::from_u128(number)
    }

    /// The turns after a claim of `limit` that took a bulk message of each of these accounts.
    fn after(before: &Turns, limit: usize, accounts: &[u128]) -> Turns {
        let mut taken = TurnsTaken::default();
        for number in accounts {
            taken.note(lane(Lane::Bulk), account(*number));
        }
        taken.next(before, limit, |_| true)
    }

    #[test]
    fn accounts_take_turns_from_a_full_claim_until_one_finds_nothing() {
        let bulk = lane(Lane::Bulk);
        let calm = Turns::default();
        assert_eq!(after(&calm, 3, &[1, 1]), calm, "everything due was taken");
        let crowded = after(&calm, 3, &[1, 1, 1]);
        assert_eq!(crowded.after(&bulk), Some(FIRST));
        assert_eq!(crowded.after(&lane(Lane::Normal)), None);
        let on = after(&crowded, 3, &[1, 2, 3]);
        assert_eq!(on.after(&bulk), Some(account(3)));
        let round = after(&on, 3, &[4, 1]);
        assert_eq!(round.after(&bulk), Some(account(1)), "after the last account comes the first");
        let nothing_read = TurnsTaken::default().next(&round, 3, |_| false);
        assert_eq!(nothing_read.after(&bulk), Some(account(1)), "the route had no room");
        assert!(!after(&round, 3, &[]).is_crowded());
    }

    #[test]
    fn a_lane_that_a_full_claim_left_out_keeps_its_turns() {
        let crowded = after(&after(&Turns::default(), 1, &[7]), 1, &[7]);
        let mut taken = TurnsTaken::default();
        taken.note(lane(Lane::Normal), account(9));
        let next = taken.next(&crowded, 1, |_| true);
        assert_eq!(next.after(&lane(Lane::Bulk)), Some(account(7)));
        assert_eq!(next.after(&lane(Lane::Normal)), Some(FIRST));
        assert_eq!(next.order().since_bulk(), 1);
    }

    #[test]
    fn a_claim_is_divided_by_shares_and_everyone_gets_something() {
        let share = |weight| Share::new(weight).unwrap();
        for (limit, weight, all, most) in
            [(500, 1, 1, 500), (500, 1, 2, 250), (500, 3, 4, 375), (500, 1, 300, 2), (1, 1, 900, 1)]
        {
            assert_eq!(Turns::most(limit, share(weight), all), most, "{limit} {weight} {all}");
        }
        let mut standing: Vec<(u64, char)> =
            (0..3).map(|n| (Turns::round(n, share(1)), 'a')).collect();
        standing.extend((0..6).map(|n| (Turns::round(n, share(2)), 'b')));
        standing.sort_unstable();
        let order: String = standing.into_iter().map(|(_, account)| account).collect();
        assert_eq!(order, "abbabbabb");
    }
}
