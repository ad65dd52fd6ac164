//! The operator's numbers.

use std::collections::BTreeSet;

use sms_core::ids::{AccountId, NumberId};
use sms_core::number::release::AddPlan;
use sms_core::number::store::{CheckedIn, NumberCreated, NumbersWanted};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::Rig;
use crate::rig::{credits, done, millis, our_number, person};

pub(crate) mod release;
pub(crate) mod rent;

async fn create(rig: &Rig, number: &Number) -> NumberCreated {
    done(rig.store().number_create(AddPlan::new(number.clone()), None).await).expect("answered")
}

async fn list(rig: &Rig) -> Vec<Number> {
    rig.store().number_list(NumbersWanted::All).await.expect("read")
}

async fn usable(rig: &Rig, account: AccountId) -> BTreeSet<NumberId> {
    let numbers = rig.store().number_list(NumbersWanted::UsableBy(account)).await.expect("read");
    numbers.iter().map(|number| number.id).collect()
}

/// Has the gateway of a number check in, which so many numbers have.
async fn check_in(rig: &Rig, id: NumberId, numbers: usize) {
    let found = rig.store().number_check_in(CheckedIn::Number(id), rig.now()).await;
    assert_eq!(found.expect("answered"), numbers);
}

scenarios! { Number;
    /// A number is kept as it was made.
    async fn a_number_is_kept_as_it_was_made(rig: &Rig) {
        let account = rig.account(0).await;
        let number = Number {
            route: Some(RouteName::new("smpp")),
            rental_credits: credits(30),
            monthly_credits: credits(40),
            rental_charged_at: Some(rig.now()),
            ..rig.new_number(person(900), Holder::Dedicated(account.id))
        };
        assert_eq!(create(rig, &number).await, NumberCreated::Created);
        assert_eq!(list(rig).await, [number]);
    }

    /// A number is found by the number that people know, as it is then, and by no other.
    async fn a_number_is_found_by_its_phone_number(rig: &Rig) {
        let account = rig.account(0).await;
        let by_phone = async |n| {
            rig.store().number_list(NumbersWanted::Phone(person(n))).await.expect("read")
        };
        assert_eq!(by_phone(901).await, []);
        let shared = rig.shared_number(person(901)).await;
        let held = Number {
            route: Some(RouteName::new("backup")),
            ..rig.new_number(person(902), Holder::Dedicated(account.id))
        };
        create(rig, &held).await;
        assert_eq!(by_phone(901).await, std::slice::from_ref(&shared));
        assert_eq!(by_phone(903).await, []);
        assert_eq!(by_phone(902).await, [held]);
        rig.release(&shared).await;
        assert_eq!(by_phone(901).await, []);
    }

    /// The store finds the operator's numbers among others, whichever account holds them.
    async fn numbers_are_told_from_those_of_people(rig: &Rig) {
        let account = rig.account(0).await;
        rig.shared_number(person(901)).await;
        rig.dedicated_number(person(902), &account).await;
        let gone = rig.shared_number(person(903)).await;
        rig.release(&gone).await;
        let among = async |of: &[u16]| {
            let phones: Vec<E164> = of.iter().map(|n| person(*n)).collect();
            rig.store().numbers_among(&phones).await.expect("read")
        };
        let ours = BTreeSet::from([901, 902].map(person));
        assert_eq!(among(&[904, 902, 903, 901, 902]).await, ours);
        assert_eq!(among(&[904]).await, BTreeSet::new());
        assert_eq!(among(&[]).await, BTreeSet::new());
    }

    /// A number exists once, whatever its holder; when it is removed it can be made again.
    async fn a_number_exists_once(rig: &Rig) {
        let account = rig.account(0).await;
        let first = rig.shared_number(our_number()).await;
        let again = rig.new_number(our_number(), Holder::Dedicated(account.id));
        assert_eq!(create(rig, &again).await, NumberCreated::NumberExists);
        assert_eq!(list(rig).await, std::slice::from_ref(&first));
        rig.release(&first).await;
        let again = rig.new_number(our_number(), Holder::Shared);
        assert_eq!(create(rig, &again).await, NumberCreated::Created);
        assert_eq!(list(rig).await, [again]);
    }

    /// One number is made by many at once: one does.
    async fn of_racing_makers_of_a_number_one_wins(rig: &Rig) {
        let numbers: Vec<_> =
            (0..10).map(|_| rig.new_number(our_number(), Holder::Shared)).collect();
        let answers = rig.race_each(numbers, |store, number| async move {
            done(store.number_create(AddPlan::new(number), None).await).expect("answered")
        });
        let made = answers.iter().filter(|answer| **answer == NumberCreated::Created).count();
        assert_eq!((made, list(rig).await.len()), (1, 1));
    }

    /// A number cannot be rented by an account that does not exist.
    async fn a_number_needs_the_account_that_rents_it(rig: &Rig) {
        let number = rig.new_number(our_number(), Holder::Dedicated(rig.id()));
        assert_eq!(create(rig, &number).await, NumberCreated::NoSuchAccount);
        assert_eq!(list(rig).await, []);
    }

    /// A route that is connected checks in the numbers behind it, and where it is the one of
    /// numbers that name none, those too.
    async fn a_connected_route_checks_in_the_numbers_behind_it(rig: &Rig) {
        let main = RouteName::new("main");
        let on = |n, route: Option<&str>| Number {
            route: route.map(RouteName::new),
            ..rig.new_number(person(n), Holder::Shared)
        };
        for (n, route) in [(901, Some("main")), (902, Some("backup")), (903, None)] {
            create(rig, &on(n, route)).await;
        }
        let online = async || {
            let numbers = list(rig).await;
            numbers.iter().rev().map(|number| number.is_online(rig.now())).collect::<Vec<_>>()
        };
        let check_in = async |routes| {
            let behind = CheckedIn::Routes(routes);
            rig.store().number_check_in(behind, rig.now()).await.expect("checked in")
        };
        assert_eq!(check_in(vec![Some(main.clone())]).await, 1);
        assert_eq!(online().await, [true, false, false]);
        assert_eq!(check_in(vec![Some(main), None]).await, 2);
        assert_eq!(online().await, [true, false, true]);
        assert_eq!(check_in(vec![Some(RouteName::new("other"))]).await, 0);
    }

    /// Numbers are listed newest first.
    async fn numbers_are_listed_newest_first(rig: &Rig) {
        let account = rig.account(0).await;
        let mut expected = Vec::new();
        for n in [905, 901, 903] {
            expected.insert(0, rig.shared_number(person(n)).await);
            rig.advance(millis(u64::from(n % 2)));
        }
        expected.insert(0, rig.dedicated_number(person(902), &account).await);
        assert_eq!(list(rig).await, expected);
    }

    /// An account may use its own numbers and the shared ones.
    async fn an_account_may_use_its_own_numbers_and_the_shared_ones(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let shared = rig.shared_number(person(901)).await;
        let own = rig.dedicated_number(person(902), &account).await;
        let others = rig.dedicated_number(person(903), &other).await;
        assert_eq!(usable(rig, account.id).await, BTreeSet::from([shared.id, own.id]));
        assert_eq!(usable(rig, other.id).await, BTreeSet::from([shared.id, others.id]));
        assert_eq!(usable(rig, rig.id()).await, BTreeSet::from([shared.id]));
    }

    /// The numbers that sends are planned from are those of now: added, seen and removed.
    async fn sends_are_planned_from_the_numbers_of_now(rig: &Rig) {
        let account = rig.account(0).await;
        let usable = async || {
            rig.store().number_list(NumbersWanted::UsableBy(account.id)).await.expect("read")
        };
        assert_eq!(usable().await, []);
        let shared = rig.shared_number(person(901)).await;
        assert_eq!(usable().await, std::slice::from_ref(&shared));
        let own = rig.dedicated_number(person(902), &account).await;
        assert_eq!(usable().await, [shared.clone(), own.clone()]);
        let now = rig.advance(millis(5));
        check_in(rig, own.id, 1).await;
        let seen = Number { checked_in_at: Some(now), ..own };
        assert_eq!(usable().await, [shared.clone(), seen.clone()]);
        rig.release(&shared).await;
        assert_eq!(usable().await, [seen]);
    }

    /// A number that is removed is gone; removing it again does nothing.
    async fn a_number_is_removed_once(rig: &Rig) {
        let account = rig.account(0).await;
        let number = rig.dedicated_number(person(901), &account).await;
        let other = rig.shared_number(person(902)).await;
        rig.release(&number).await;
        assert!(!rig.store().number_delete(number.id, rig.now()).await.expect("answered"));
        assert_eq!(list(rig).await, std::slice::from_ref(&other));
        assert_eq!(usable(rig, account.id).await, BTreeSet::from([other.id]));
    }

    /// The gateway behind a number checks in, again and again; one that is unknown cannot.
    async fn a_gateway_checks_in(rig: &Rig) {
        let number = rig.shared_number(person(901)).await;
        let other = rig.shared_number(person(902)).await;
        for _ in 0..2 {
            let now = rig.advance(millis(5));
            check_in(rig, number.id, 1).await;
            let seen = Number { checked_in_at: Some(now), ..number.clone() };
            assert_eq!(list(rig).await, [other.clone(), seen]);
        }
        check_in(rig, rig.id(), 0).await;
    }
}
