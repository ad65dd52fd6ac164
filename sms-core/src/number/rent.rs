//! Rent: what a dedicated number costs for every 30 days since it was assigned.
//!
//! The first period falls due at the assignment, and each later one 30 days after the one before,
//! whenever that was charged. Periods are charged in order and once each. Rent that the balance
//! does not cover stays owed and is tried again. A number that is removed owes nothing more, and
//! nothing is refunded.

use std::time::Duration;

use super::Number;
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::ids::{AccountId, Ids};
use crate::time::Timestamp;

/// The length of a period: 30 days.
pub const PERIOD: Duration = Duration::from_hours(30 * 24);
/// How long to wait before charging rent again that the balance did not cover.
pub const TRY_AGAIN_AFTER: Duration = Duration::from_hours(1);
/// How long the rent of a number may be overdue before no messages are sent from it any more: 7
/// days.
pub const GRACE: Duration = Duration::from_hours(7 * 24);
/// The maximum number of periods of one number to charge in one commit. The rest is due at once.
pub const MOST_AT_ONCE: usize = 24;

/// The numbers whose rent to charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RentScope {
    /// At most this many numbers whose [`next_rent_at`](Number::next_rent_at) has come, longest due
    /// first. Skips numbers that another commit has locked.
    Due(usize),
    /// All numbers of this account, even before their next attempt is due, because its balance may
    /// now cover the rent. Waits for numbers that another commit has locked.
    Account(AccountId),
}

/// A request to charge the rent that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RentPlan {
    /// The current time, at which the entries are booked.
    pub at: Timestamp,
    /// The numbers whose rent to charge.
    pub scope: RentScope,
    /// Ids for the ledger entries.
    pub ids: Ids,
}

/// Rent that is owed for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overdue {
    /// When the earliest period fell due that is not paid.
    pub since: Timestamp,
    /// The rent of all periods that have begun and are not paid.
    pub credits: Credits,
}

/// What a store writes for one number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the store must write this verdict"]
pub struct RentVerdict {
    /// The number after the charge.
    pub number: Number,
    /// A ledger entry for each period charged, in order.
    pub entries: Vec<Entry>,
    /// The account's balance after these entries.
    pub balance: Credits,
}

/// The result of charging rent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RentsCharged {
    /// The number of periods charged.
    pub taken: usize,
    /// The number of numbers whose rent the balance does not cover; they are tried again.
    pub unpaid: usize,
}

impl RentsCharged {
    /// Adds the result of one verdict.
    pub fn add(&mut self, verdict: &RentVerdict, at: Timestamp) {
        self.taken += verdict.entries.len();
        let is_owed = verdict.number.rent_due_at().is_some_and(|due| due <= at);
        self.unpaid += usize::from(is_owed && verdict.entries.len() < MOST_AT_ONCE);
    }
}

impl Number {
    /// When the earliest period that is not charged fell or falls due; `None` for a shared number
    /// and for one whose rent is 0.
    pub fn rent_due_at(&self) -> Option<Timestamp> {
        if self.holder.account().is_none() || self.rental_credits == Credits::ZERO {
            return None;
        }
        Some(self.rental_charged_at.map_or(self.assigned_at, |last| last.plus(PERIOD)))
    }

    /// The rent that is owed at `now`; `None` if all is paid.
    pub fn overdue(&self, now: Timestamp) -> Option<Overdue> {
        let since = self.rent_due_at().filter(|due| *due <= now)?;
        let begun = now.since(since).as_millis() / PERIOD.as_millis() + 1;
        let begun = u64::try_from(begun).unwrap_or(u64::MAX);
        let owed = self.rental_credits.get().saturating_mul(begun);
        Some(Overdue { since, credits: Credits::new(owed).unwrap_or(Credits::MAX) })
    }

    /// Whether the rent has been overdue for so long that no message is sent from the number until
    /// it is paid. The number still receives messages.
    pub fn is_stopped(&self, now: Timestamp) -> bool {
        self.overdue(now).is_some_and(|overdue| now.since(overdue.since) >= GRACE)
    }
}

impl RentPlan {
    /// The verdict on one number and its account's balance, as the store reads them under its lock;
    /// `None` if nothing is owed.
    pub fn settle(&mut self, number: &Number, balance: Credits) -> Option<RentVerdict> {
        number.rent_due_at().filter(|due| *due <= self.at)?;
        let mut verdict = RentVerdict { number: number.clone(), entries: Vec::new(), balance };
        while let Some(due_at) = verdict.number.rent_due_at() {
            let is_owed = due_at <= self.at;
            if !is_owed || verdict.entries.len() == MOST_AT_ONCE {
                verdict.number.next_rent_at = Some(due_at);
                break;
            }
            let Ok((entries, balance)) = post(verdict.balance, vec![self.draft(number, due_at)])
            else {
                verdict.number.next_rent_at = Some(self.at.plus(TRY_AGAIN_AFTER));
                break;
            };
            verdict.entries.extend(entries);
            verdict.balance = balance;
            verdict.number.rental_charged_at = Some(due_at);
        }
        Some(verdict)
    }

    fn draft(&mut self, number: &Number, due_at: Timestamp) -> Draft {
        Draft {
            id: self.ids.next(),
            cause: Cause::Rent { number: number.id, due_at },
            amount: number.rental_credits.loss(),
            note: Some(format!("{} for 30 days from {due_at}", number.phone)),
            at: self.at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::NumberId;
    use crate::number::Holder;
    use crate::samples::{account_id, credits, ids, mobile, now};

    /// A dedicated number assigned at [`now`].
    fn number(rental: u64) -> Number {
        Number {
            id: NumberId::from_u128(1),
            phone: mobile(1),
            holder: Holder::Dedicated(account_id()),
            route: None,
            rental_credits: credits(rental),
            monthly_credits: credits(rental),
            rental_charged_at: None,
            next_rent_at: Some(now()),
            assigned_at: now(),
            checked_in_at: None,
        }
    }

    fn plan(at: Timestamp) -> RentPlan {
        RentPlan { at, scope: RentScope::Due(10), ids: ids() }
    }

    fn periods(count: u32) -> Duration {
        PERIOD * count
    }

    /// The periods that a verdict charges, counted from the assignment.
    fn taken(verdict: &RentVerdict) -> Vec<u128> {
        let period = |entry: &Entry| match entry.cause {
            Cause::Rent { number, due_at } if number == NumberId::from_u128(1) => {
                due_at.since(now()).as_millis() / PERIOD.as_millis()
            }
            _ => panic!("{entry:?} is no rent of the number"),
        };
        verdict.entries.iter().map(period).collect()
    }

    #[test]
    fn the_first_rent_is_charged_when_the_number_is_assigned() {
        let verdict = plan(now()).settle(&number(5), credits(12)).unwrap();
        assert_eq!((taken(&verdict), verdict.balance), (vec![0], credits(7)));
        assert_eq!(verdict.entries[0].amount.get(), -5);
        assert_eq!(verdict.entries[0].created_at, now());
        let note = "+447700900001 for 30 days from 2026-11-21T07:07:10.123Z";
        assert_eq!(verdict.entries[0].note.as_deref(), Some(note));
        let next = Some(now().plus(PERIOD));
        let expected = Number { rental_charged_at: Some(now()), next_rent_at: next, ..number(5) };
        assert_eq!(verdict.number, expected);
    }

    #[test]
    fn a_period_is_owed_from_its_start() {
        let paid = Number { rental_charged_at: Some(now()), ..number(5) };
        let due = now().plus(PERIOD);
        let before = due.minus(Duration::from_millis(1));
        assert_eq!(plan(before).settle(&paid, credits(50)), None);
        let verdict = plan(due).settle(&paid, credits(50)).unwrap();
        assert_eq!((taken(&verdict), verdict.number.rental_charged_at), (vec![1], Some(due)));
    }

    #[test]
    fn rent_that_is_charged_late_counts_from_when_it_fell_due() {
        let late = now().plus(Duration::from_hours(50));
        let verdict = plan(late).settle(&number(5), credits(50)).unwrap();
        assert_eq!(verdict.number.rental_charged_at, Some(now()));
        assert_eq!(verdict.number.next_rent_at, Some(now().plus(PERIOD)));
        assert_eq!(verdict.entries[0].created_at, late);
    }

    #[test]
    fn missed_periods_are_charged_in_order_as_far_as_the_balance_covers_them() {
        let at = now().plus(periods(3));
        let verdict = plan(at).settle(&number(5), credits(13)).unwrap();
        assert_eq!((taken(&verdict), verdict.balance), (vec![0, 1], credits(3)));
        assert_eq!(verdict.number.next_rent_at, Some(at.plus(TRY_AGAIN_AFTER)));
        let mut charged = RentsCharged::default();
        charged.add(&verdict, at);
        assert_eq!(charged, RentsCharged { taken: 2, unpaid: 1 });
        let rest = plan(at).settle(&verdict.number, credits(10)).unwrap();
        assert_eq!((taken(&rest), rest.balance), (vec![2, 3], Credits::ZERO));
        assert_eq!(rest.number.next_rent_at, Some(now().plus(periods(4))));
    }

    #[test]
    fn one_commit_charges_a_limited_number_of_periods_and_the_rest_is_due_at_once() {
        let most = u32::try_from(MOST_AT_ONCE).unwrap();
        let at = now().plus(periods(most));
        let first = plan(at).settle(&number(1), credits(100)).unwrap();
        assert_eq!(taken(&first).len(), MOST_AT_ONCE);
        assert_eq!(first.number.next_rent_at, Some(at));
        let mut charged = RentsCharged::default();
        charged.add(&first, at);
        assert_eq!(charged.unpaid, 0);
        let second = plan(at).settle(&first.number, first.balance).unwrap();
        assert_eq!(taken(&second), [u128::from(most)]);
    }

    #[test]
    fn what_is_owed_grows_by_each_period_that_begins() {
        let paid = Number { rental_charged_at: Some(now()), ..number(5) };
        let at =
            |count: u32, more: u64| now().plus(periods(count)).plus(Duration::from_millis(more));
        let owes = |since, amount| Some(Overdue { since, credits: credits(amount) });
        for (number, at, expected) in [
            (number(5), now(), owes(now(), 5)),
            (paid.clone(), now(), None),
            (paid.clone(), at(1, 0).minus(Duration::from_millis(1)), None),
            (paid.clone(), at(1, 0), owes(at(1, 0), 5)),
            (paid.clone(), at(2, 0).minus(Duration::from_millis(1)), owes(at(1, 0), 5)),
            (paid.clone(), at(3, 9), owes(at(1, 0), 15)),
            (Number { holder: Holder::Shared, ..number(5) }, at(3, 0), None),
        ] {
            assert_eq!(number.overdue(at), expected);
        }
        let late =
            |more: u64| paid.is_stopped(at(1, 0).plus(GRACE).minus(Duration::from_millis(more)));
        assert_eq!((late(1), late(0)), (false, true));
    }

    #[test]
    fn shared_numbers_and_numbers_without_rent_owe_nothing() {
        let shared = Number { holder: Holder::Shared, ..number(5) };
        for number in [shared, number(0)] {
            assert_eq!(number.rent_due_at(), None);
            assert_eq!(plan(now().plus(periods(9))).settle(&number, credits(50)), None);
        }
    }

    proptest! {
        /// Rent is charged and credits are added at arbitrary times: every period that has started
        /// is charged once, in order, as far as the credits cover it.
        #[test]
        fn each_period_is_charged_once_and_in_order(
            visits in proptest::collection::vec((0u64..40, 0u64..30), 1..40),
            rental in 1u64..9,
        ) {
            let (mut number, mut balance, mut at) = (number(rental), Credits::ZERO, now());
            let (mut all, mut given) = (Vec::new(), 0);
            for (days, gift) in visits {
                at = at.plus(Duration::from_hours(24 * days));
                given += gift;
                balance = balance.checked_add(credits(gift)).unwrap();
                if let Some(verdict) = plan(at).settle(&number, balance) {
                    all.extend(taken(&verdict));
                    (number, balance) = (verdict.number, verdict.balance);
                }
            }
            let owed = at.since(now()).as_millis() / PERIOD.as_millis() + 1;
            let payable = owed.min(u128::from(given / rental));
            prop_assert_eq!(all, (0..payable).collect::<Vec<_>>());
            let spent = u128::from(rental) * payable;
            prop_assert_eq!(u128::from(balance.get()), u128::from(given) - spent);
        }
    }
}
