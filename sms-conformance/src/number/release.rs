//! Numbers that are released: only the former holder can get them for 30 days.

use sms_core::number::release::{AddPlan, QUARANTINE, Quarantine};
use sms_core::number::store::{NumberCreated, NumbersWanted};
use sms_core::number::{Holder, Number};

use crate::Rig;
use crate::rig::{done, millis, person};

async fn add(rig: &Rig, number: &Number) -> NumberCreated {
    let number = Number { id: rig.id(), assigned_at: rig.now(), ..number.clone() };
    done(rig.store().number_create(AddPlan::new(number), None).await).expect("answered")
}

scenarios! { Number;
    /// A released number is kept from other holders for 30 days; its former holder may have it back
    /// at any time.
    async fn a_released_number_is_kept_for_its_holder_for_30_days(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let number = rig.dedicated_number(person(900), &account).await;
        rig.release(&number).await;
        let quarantined = NumberCreated::Quarantined(rig.now().plus(QUARANTINE));
        let others = Number { holder: Holder::Dedicated(other.id), ..number.clone() };
        let shared = Number { holder: Holder::Shared, ..number.clone() };
        assert_eq!(add(rig, &others).await, quarantined);
        assert_eq!(add(rig, &shared).await, quarantined);
        rig.advance(QUARANTINE - millis(1));
        assert_eq!(add(rig, &others).await, quarantined);
        let found = rig.store().number_list(NumbersWanted::Phone(number.phone)).await;
        assert_eq!(found.expect("read"), []);
        rig.advance(millis(1));
        assert_eq!(add(rig, &others).await, NumberCreated::Created);
        let own = rig.dedicated_number(person(901), &account).await;
        rig.release(&own).await;
        assert_eq!(add(rig, &own).await, NumberCreated::Created);
    }

    /// The last release counts: it is another holder who has to wait then.
    async fn the_last_release_of_a_number_counts(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let number = rig.dedicated_number(person(900), &account).await;
        rig.release(&number).await;
        rig.advance(QUARANTINE);
        let others = rig.dedicated_number(person(900), &other).await;
        rig.release(&others).await;
        let until = rig.now().plus(QUARANTINE);
        assert_eq!(add(rig, &number).await, NumberCreated::Quarantined(until));
        assert_eq!(add(rig, &others).await, NumberCreated::Created);
    }

    /// The operator may give a released number to another account at once.
    async fn the_operator_may_override_the_quarantine(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        let number = rig.dedicated_number(person(900), &account).await;
        rig.release(&number).await;
        let others = rig.new_number(number.phone, Holder::Dedicated(other.id));
        let plan = AddPlan { number: others.clone(), quarantine: Quarantine::Override };
        let created = done(rig.store().number_create(plan, None).await).expect("answered");
        assert_eq!(created, NumberCreated::Created);
        let found = rig.store().number_list(NumbersWanted::Phone(number.phone)).await;
        assert_eq!(found.expect("read"), [others]);
    }

    /// A number that is released and wanted by another account at once is either still there or
    /// kept from it.
    async fn a_release_that_races_with_another_account_keeps_the_number(rig: &Rig) {
        let (account, other) = (rig.account(0).await, rig.account(0).await);
        for round in 900..906 {
            let number = rig.dedicated_number(person(round), &account).await;
            let wants: Vec<_> = (0..8)
                .map(|n| {
                    let others = rig.new_number(number.phone, Holder::Dedicated(other.id));
                    (n == 3, AddPlan::new(others))
                })
                .collect();
            let (id, at) = (number.id, rig.now());
            let answers = rig.race_each(wants, move |store, (releases, plan)| async move {
                if releases {
                    assert!(store.number_delete(id, at).await.expect("removed"));
                    return None;
                }
                Some(done(store.number_create(plan, None).await).expect("answered"))
            });
            let made = answers.iter().flatten().filter(|made| **made == NumberCreated::Created);
            assert_eq!(made.count(), 0, "{answers:?}");
        }
    }
}
