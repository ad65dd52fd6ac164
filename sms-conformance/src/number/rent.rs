//! Rent of numbers.

use std::time::Duration;

use sms_core::account::{Account, AccountStatus};
use sms_core::credits::ledger::{Cause, Entry, Kind};
use sms_core::ids::NumberId;
use sms_core::number::rent::{MOST_AT_ONCE, PERIOD, RentPlan, RentScope, RentsCharged};
use sms_core::number::store::{CheckedIn, NumbersWanted};
use sms_core::number::{Holder, Number};
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;

use crate::Rig;
use crate::rig::{credits, millis, minutes, person, request};

/// Assigns 07700 900000 and `n` more to an account for `rent` credits a period, and takes no rent
/// yet: as when a program dies between the two.
async fn rented(rig: &Rig, n: u16, account: &Account, rent: u64) -> Number {
    let mut number = Number {
        rental_credits: credits(rent),
        ..rig.new_number(person(n), Holder::Dedicated(account.id))
    };
    number.next_rent_at = number.rent_due_at();
    rig.create_number(number).await
}

fn plan(rig: &Rig, scope: RentScope) -> RentPlan {
    RentPlan { at: rig.now(), scope, ids: rig.ids() }
}

/// Has a worker take the rent of up to `limit` numbers.
async fn charge(rig: &Rig, limit: usize) -> RentsCharged {
    rig.store().rents_charge(plan(rig, RentScope::Due(limit))).await.expect("answered")
}

async fn charge_account(rig: &Rig, account: &Account) -> RentsCharged {
    rig.store().rents_charge(plan(rig, RentScope::Account(account.id))).await.expect("answered")
}

async fn next(rig: &Rig) -> Option<Timestamp> {
    rig.store().next(Due::Rents).await.expect("answered")
}

/// The number as it is now, to its account and to what picks a number for a message.
async fn number_now(rig: &Rig, account: &Account, id: NumberId) -> Number {
    let held = rig.store().number_list(NumbersWanted::HeldBy(account.id)).await.expect("read");
    let usable = rig.store().number_list(NumbersWanted::UsableBy(account.id)).await.expect("read");
    let the_one = |numbers: Vec<Number>| {
        numbers.into_iter().find(|number| number.id == id).expect("the number is there")
    };
    let number = the_one(held);
    assert_eq!(the_one(usable), number, "nothing that was read before is told again");
    number
}

/// When the periods fell due whose rent was taken, in the order booked.
async fn due_times(rig: &Rig, account: &Account, id: NumberId) -> Vec<Timestamp> {
    let due = |entry: Entry| match entry.cause {
        Cause::Rent { number, due_at } => (number == id).then_some(due_at),
        _ => None,
    };
    rig.ledger(account.id).await.into_iter().rev().filter_map(due).collect()
}

fn taken(taken: usize) -> RentsCharged {
    RentsCharged { taken, unpaid: 0 }
}

const UNPAID: RentsCharged = RentsCharged { taken: 0, unpaid: 1 };
const HOUR: Duration = Duration::from_hours(1);

scenarios! { Number;
    /// The first rent is owed from the assignment on, each further one 30 days after the one
    /// before; each is an entry that names its number, and none is taken before it is owed.
    async fn rent_is_taken_every_thirty_days_from_the_assignment_on(rig: &Rig) {
        let account = rig.account(100).await;
        let number = rented(rig, 1, &account, 30).await;
        assert_eq!(next(rig).await, Some(number.assigned_at));
        assert_eq!(number_now(rig, &account, number.id).await, number);
        assert_eq!(charge(rig, 10).await, taken(1));
        assert_eq!(charge(rig, 10).await, taken(0));
        let second = number.assigned_at.plus(PERIOD);
        assert_eq!(next(rig).await, Some(second));
        rig.advance(PERIOD - millis(1));
        assert_eq!((charge(rig, 10).await, rig.balance(&account).await), (taken(0), 70));
        rig.advance(millis(1));
        assert_eq!((charge(rig, 10).await, rig.balance(&account).await), (taken(1), 40));
        let now = number_now(rig, &account, number.id).await;
        let expected = Number {
            rental_charged_at: Some(second),
            next_rent_at: Some(second.plus(PERIOD)),
            ..number.clone()
        };
        assert_eq!(now, expected);
        let entry = &rig.ledger(account.id).await[0];
        assert_eq!(entry.cause, Cause::Rent { number: number.id, due_at: second });
        assert_eq!((entry.amount.get(), entry.created_at), (-30, second));
        assert_eq!(rig.store().number_list(NumbersWanted::All).await.expect("read"), [now]);
    }

    /// Taken late, rent counts from when it fell due: nothing drifts.
    async fn rent_taken_late_counts_from_when_it_fell_due(rig: &Rig) {
        let account = rig.account(100).await;
        let number = rented(rig, 1, &account, 1).await;
        rig.advance(minutes(59));
        assert_eq!(charge(rig, 10).await, taken(1));
        let now = number_now(rig, &account, number.id).await;
        assert_eq!(now.rental_charged_at, Some(number.assigned_at));
        assert_eq!(next(rig).await, Some(number.assigned_at.plus(PERIOD)));
    }

    /// After months of downtime every period is taken, in order, a bounded number in one commit.
    async fn periods_missed_are_all_taken_in_order(rig: &Rig) {
        let account = rig.account(100).await;
        let number = rented(rig, 1, &account, 2).await;
        let missed = u32::try_from(MOST_AT_ONCE).expect("few") + 5;
        rig.advance(PERIOD * (missed - 1) + minutes(1));
        assert_eq!(charge(rig, 10).await, taken(MOST_AT_ONCE));
        assert!(next(rig).await.expect("more is owed") <= rig.now());
        assert_eq!(charge(rig, 10).await, taken(5));
        assert_eq!(charge(rig, 10).await, taken(0));
        let all: Vec<_> = (0..missed).map(|n| number.assigned_at.plus(PERIOD * n)).collect();
        assert_eq!(due_times(rig, &account, number.id).await, all);
        assert_eq!(rig.balance(&account).await, 100 - 2 * u64::from(missed));
    }

    /// Rent that the balance does not cover takes nothing and is tried for again after an hour;
    /// what the balance covers of several periods is taken.
    async fn rent_that_the_balance_does_not_cover_is_tried_for_every_hour(rig: &Rig) {
        let account = rig.account(7).await;
        let number = rented(rig, 1, &account, 5).await;
        rig.advance(PERIOD);
        assert_eq!(charge(rig, 10).await, RentsCharged { taken: 1, unpaid: 1 });
        assert_eq!(rig.balance(&account).await, 2);
        assert_eq!(next(rig).await, Some(rig.now().plus(HOUR)));
        rig.adjust(&account, 3).await.expect("added");
        rig.advance(HOUR - millis(1));
        assert_eq!(charge(rig, 10).await, taken(0));
        rig.advance(millis(1));
        assert_eq!((charge(rig, 10).await, rig.balance(&account).await), (taken(1), 0));
        let second = number.assigned_at.plus(PERIOD);
        assert_eq!(next(rig).await, Some(second.plus(PERIOD)));
        rig.advance_to(second.plus(PERIOD));
        assert_eq!(charge(rig, 10).await, UNPAID);
        assert_eq!(due_times(rig, &account, number.id).await, [number.assigned_at, second]);
    }

    /// When credits come, an account's rent need not wait for its hour; another's does.
    async fn rent_that_is_owed_is_taken_when_credits_come(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let number = rented(rig, 1, &account, 5).await;
        let others = rented(rig, 2, &other, 5).await;
        rented(rig, 3, &account, 50).await;
        assert_eq!(charge(rig, 10).await, RentsCharged { taken: 0, unpaid: 3 });
        for account in [&account, &other] {
            rig.adjust(account, 9).await.expect("added");
        }
        let charged = charge_account(rig, &account).await;
        assert_eq!(charged, RentsCharged { taken: 1, unpaid: 1 });
        assert_eq!((rig.balance(&account).await, rig.balance(&other).await), (4, 9));
        assert_eq!(due_times(rig, &account, number.id).await, [number.assigned_at]);
        assert_eq!(due_times(rig, &other, others.id).await, []);
        assert_eq!(charge_account(rig, &account).await, UNPAID);
    }

    /// Rent is taken whatever the state of the account.
    async fn rent_is_taken_whatever_the_state_of_the_account(rig: &Rig) {
        for (n, status) in [(1, AccountStatus::Pending), (2, AccountStatus::Suspended)] {
            let account = rig.account_of(status, 9).await;
            rented(rig, n, &account, 9).await;
            assert_eq!((charge(rig, 10).await, rig.balance(&account).await), (taken(1), 0));
        }
    }

    /// A shared number and a free one owe nothing, ever.
    async fn a_shared_number_and_a_free_one_owe_nothing(rig: &Rig) {
        let account = rig.account(100).await;
        let free = rented(rig, 1, &account, 0).await;
        let shared =
            Number { rental_credits: credits(5), ..rig.new_number(person(2), Holder::Shared) };
        rig.create_number(shared).await;
        rig.advance(PERIOD * 3);
        assert_eq!((next(rig).await, charge(rig, 10).await), (None, taken(0)));
        assert_eq!(charge_account(rig, &account).await, taken(0));
        assert_eq!(number_now(rig, &account, free.id).await, free);
        assert_eq!(rig.balance(&account).await, 100);
    }

    /// A number that is removed gets nothing back and owes nothing more. Made again, it begins
    /// anew.
    async fn a_removed_number_gets_nothing_back_and_owes_nothing_more(rig: &Rig) {
        let account = rig.account(20).await;
        let number = rented(rig, 1, &account, 5).await;
        assert_eq!(charge(rig, 10).await, taken(1));
        rig.advance(PERIOD * 2);
        rig.release(&number).await;
        assert_eq!((next(rig).await, charge(rig, 10).await), (None, taken(0)));
        assert_eq!(rig.ledger_lines(&account).await, [(Kind::Rent, -5, 15), (Kind::TopUp, 20, 20)]);
        let again = rented(rig, 1, &account, 5).await;
        assert_eq!(charge(rig, 10).await, taken(1));
        assert_eq!(due_times(rig, &account, again.id).await, [again.assigned_at]);
    }

    /// The longest due are taken first, no more numbers at once than asked for, and one that
    /// cannot pay holds up no other.
    async fn the_longest_due_are_taken_first(rig: &Rig) {
        let (account, poor) = (rig.account(100).await, rig.account(0).await);
        let first = rented(rig, 1, &account, 1).await;
        rig.advance(millis(5));
        rented(rig, 2, &poor, 1).await;
        rig.advance(millis(5));
        let last = rented(rig, 3, &account, 1).await;
        assert_eq!(charge(rig, 1).await, taken(1));
        assert_eq!(due_times(rig, &account, first.id).await, [first.assigned_at]);
        assert_eq!(charge(rig, 1).await, UNPAID);
        assert_eq!(charge(rig, 1).await, taken(1));
        assert_eq!(due_times(rig, &account, last.id).await, [last.assigned_at]);
    }

    /// Many workers take the rent of many numbers of a few accounts at once, while credits come:
    /// each period is taken once.
    async fn racing_workers_take_each_period_once(rig: &Rig) {
        let accounts = [rig.account(1_000).await, rig.account(1_000).await];
        let mut numbers = Vec::new();
        for n in 0..20 {
            numbers.push(rented(rig, n, &accounts[usize::from(n % 2)], 3).await);
        }
        rig.advance(PERIOD);
        let scopes = (0..12).map(|n| match n % 4 {
            0 => RentScope::Account(accounts[n / 4 % 2].id),
            _ => RentScope::Due(7),
        });
        let plans: Vec<RentPlan> = scopes.map(|scope| plan(rig, scope)).collect();
        let charged = rig.race_each(plans, |store, plan| async move {
            store.rents_charge(plan).await.expect("answered").taken
        });
        let rest = charge(rig, 100).await.taken;
        assert_eq!(charged.iter().sum::<usize>() + rest, 40);
        for number in numbers {
            let account = number.holder.account().expect("it is rented");
            let account = accounts.iter().find(|one| one.id == account).expect("one of both");
            let all = [number.assigned_at, number.assigned_at.plus(PERIOD)];
            assert_eq!(due_times(rig, account, number.id).await, all);
        }
        assert_eq!(rig.balance(&accounts[0]).await, 1_000 - 60);
    }

    /// Workers, sends and a removal race for a balance that does not cover all: it never goes below
    /// zero, and no period is taken twice.
    async fn rent_and_sends_race_for_a_balance(rig: &Rig) {
        let account = rig.account(10).await;
        rig.shared_number(person(900)).await;
        let numbers = [rented(rig, 1, &account, 4).await, rented(rig, 2, &account, 4).await];
        let sends: Vec<_> = (0..6).map(|n| rig.plan(&account, &request([n]))).collect();
        let sends = sends.into_iter().map(|plan| Race::Send(Box::new(plan)));
        let charges = (0..4).map(|_| Race::Charge(plan(rig, RentScope::Due(10))));
        let mut all: Vec<Race> = sends.chain(charges).collect();
        all.insert(3, Race::Delete(numbers[1].id, rig.now()));
        rig.race_each(all, |store, race| async move {
            match race {
                Race::Send(plan) => drop(store.send_accept(vec![*plan]).await),
                Race::Charge(plan) => drop(store.rents_charge(plan).await.expect("answered")),
                Race::Delete(id, at) => drop(store.number_delete(id, at).await.expect("answered")),
            }
        });
        for number in &numbers {
            assert!(due_times(rig, &account, number.id).await.len() <= 1);
        }
        let owed = number_now(rig, &account, numbers[0].id).await.rental_charged_at.is_none();
        assert!(!owed || rig.balance(&account).await < 4, "what could be paid was paid");
    }

    /// An account's own numbers are listed newest first, as they are now.
    async fn an_accounts_own_numbers_are_listed_newest_first(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(0).await);
        rig.shared_number(person(4)).await;
        let first = rented(rig, 1, &account, 5).await;
        rented(rig, 2, &other, 5).await;
        let second = rented(rig, 3, &account, 0).await;
        let held = async |account: &Account| {
            rig.store().number_list(NumbersWanted::HeldBy(account.id)).await
        };
        assert_eq!(held(&account).await.expect("read"), [second.clone(), first.clone()]);
        let now = rig.advance(millis(5));
        let seen = rig.store().number_check_in(CheckedIn::Number(second.id), now).await;
        assert_eq!(seen.expect("kept"), 1);
        assert_eq!(charge_account(rig, &account).await, taken(1));
        let numbers = held(&account).await.expect("read");
        assert_eq!((numbers[0].checked_in_at, numbers[1].checked_in_at), (Some(now), None));
        assert_eq!(numbers[1].rental_charged_at, Some(first.assigned_at));
        rig.release(&second).await;
        assert_eq!(held(&account).await.expect("read").len(), 1);
    }
}

/// What races in [`rent_and_sends_race_for_a_balance`].
enum Race {
    Send(Box<sms_core::sending::SendPlan>),
    Charge(RentPlan),
    Delete(NumberId, Timestamp),
}
