//! STOP and START.

use std::collections::BTreeSet;

use sms_core::event::EventType;
use sms_core::inbound::{Origin, TakenIn};
use sms_core::message::{Direction, MessageFilter};

use crate::Rig;
use crate::rig::{done, event_of, our_number, person, request};

async fn received(rig: &Rig, account: sms_core::ids::AccountId) -> usize {
    let direction = Some(Direction::Inbound);
    rig.messages(account, &MessageFilter { direction, ..MessageFilter::default() }).await.len()
}

scenarios! { Inbound;
    /// A STOP opts the person out; the endpoints hear first of the message and then of the opt-out.
    async fn a_stop_opts_out_and_tells_the_endpoints(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        assert!(!rig.has_opted_out(&account, 1).await);
        rig.inbound_routed(1, number.phone, "Stop, please").await;
        assert!(rig.has_opted_out(&account, 1).await);
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageReceived, EventType::OptOutCreated]);
        let event = event_of(&rig.deliveries(&endpoint).await[0].body);
        assert_eq!(event["data"]["phone"], person(1).to_string());
        assert_eq!(event["data"]["source"], "sms");
        assert_eq!(event["data"]["created_at"], rig.now().to_string());
        assert_eq!(received(rig, account.id).await, 1);
    }

    /// A second STOP is kept as a message, and is no second opt-out.
    async fn a_second_stop_is_no_second_opt_out(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &[EventType::OptOutCreated]).await;
        for word in ["STOP", "end", "OPT OUT"] {
            rig.inbound_routed(1, number.phone, word).await;
        }
        assert_eq!(received(rig, account.id).await, 3);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
        assert!(rig.has_opted_out(&account, 1).await);
    }

    /// A START takes the opt-out back, so that the person can be sent messages, and can opt out,
    /// again.
    async fn a_start_takes_the_opt_out_back(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &[EventType::OptOutCreated]).await;
        rig.inbound_routed(1, number.phone, "STOP").await;
        rig.inbound_routed(1, number.phone, "start").await;
        assert!(!rig.has_opted_out(&account, 1).await);
        assert_eq!(rig.send(&account, &request([1])).await.messages.len(), 1);
        rig.leave_all().await;
        rig.inbound_routed(1, number.phone, "Stop").await;
        assert!(rig.has_opted_out(&account, 1).await);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 2);
        assert_eq!(received(rig, account.id).await, 3);
    }

    /// A START of someone who has not opted out is a message like any other.
    async fn a_start_without_an_opt_out_is_a_message_like_any_other(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.inbound_routed(1, number.phone, "UNSTOP").await;
        assert!(!rig.has_opted_out(&account, 1).await);
        assert_eq!(rig.kinds(&endpoint).await, [EventType::MessageReceived]);
    }

    /// A STOP to a shared number opts out of the account it answers, and of no other.
    async fn a_stop_to_a_shared_number_concerns_one_account(rig: &Rig) {
        let (one, two) = (rig.account(5).await, rig.account(5).await);
        rig.shared_number(our_number()).await;
        rig.message_that_left(&one, 1).await;
        rig.advance(std::time::Duration::from_secs(1));
        rig.message_that_left(&two, 1).await;
        assert_eq!(rig.inbound_routed(1, our_number(), "STOP").await.account, two.id);
        assert!(rig.has_opted_out(&two, 1).await);
        assert!(!rig.has_opted_out(&one, 1).await);
    }

    /// Of the numbers asked about, those that opted out are named, and no others.
    async fn of_the_numbers_asked_about_those_opted_out_are_named(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        for n in [1, 3, 5] {
            rig.opt_out(&account, n).await;
        }
        rig.opt_out(&other, 2).await;
        let among = async |of, numbers: &[u16]| {
            let numbers: Vec<_> = numbers.iter().map(|n| person(*n)).collect();
            rig.store().opt_outs_among(of, &numbers).await.expect("read")
        };
        let expected = BTreeSet::from([person(1), person(5)]);
        assert_eq!(among(account.id, &[5, 2, 1, 1, 4]).await, expected);
        assert_eq!(among(account.id, &[]).await, BTreeSet::new());
        assert_eq!(among(rig.id(), &[1, 2]).await, BTreeSet::new());
    }

    /// Many STOPs of one person at once are kept as messages, and are one opt-out with one event.
    async fn racing_stops_are_one_opt_out(rig: &Rig) {
        let account = rig.account(5).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let endpoint = rig.endpoint(&account, &[EventType::OptOutCreated]).await;
        let plan = |_| rig.inbound_plan(1, number.phone, "STOP", Origin::Network);
        let plans: Vec<_> = (0..10).map(plan).collect();
        let taken = rig.race_each(plans, |store, plan| async move {
            done(store.inbound_take(plan, None).await).expect("taken in")
        });
        assert!(taken.iter().all(|one| matches!(one, TakenIn::Routed(_))));
        assert_eq!(received(rig, account.id).await, 10);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }
}
