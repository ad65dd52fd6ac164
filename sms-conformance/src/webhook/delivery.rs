//! The log of deliveries: its pages, tests of an endpoint, tidying.

use sms_core::event::{Event, EventData, EventType, TestPing};
use sms_core::ids::DeliveryId;
use sms_core::upkeep::{Chore, Due};
use sms_core::webhook::attempt::AttemptVerdict;
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus, KEPT_FOR};
use sms_core::webhook::endpoint::Endpoint;

use crate::Rig;
use crate::rig::{days, event_of, millis, page, person, read_all};

/// A test of an endpoint that ended so.
fn test_of(rig: &Rig, endpoint: &Endpoint, result: Result<(), DeliveryError>) -> Delivery {
    let now = rig.now();
    let mut ids = rig.ids();
    let data = EventData::WebhookTest(TestPing { message: "It works" });
    let event = Event::new(endpoint.account, data, now, &mut ids);
    let made = Delivery::of(&event, event.body(), endpoint.id, &mut ids);
    let taken = result.is_ok();
    Delivery {
        status: if taken { DeliveryStatus::Delivered } else { DeliveryStatus::GivenUp },
        attempts: 1,
        last_status_code: taken.then_some(200),
        last_error: result.err(),
        last_attempt_at: Some(now),
        next_attempt_at: None,
        delivered_at: taken.then_some(now),
        ..made
    }
}

async fn tidy(rig: &Rig, limit: usize) -> usize {
    let before = rig.now().minus(KEPT_FOR);
    rig.store().tidy(Chore::Deliveries { before }, limit).await.expect("tidied")
}

scenarios! { Webhook;
    /// Deliveries are listed newest first, an endpoint's own only, and pages neither repeat nor
    /// miss any.
    async fn deliveries_are_listed_newest_first(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        for n in 0..5 {
            rig.raise(person(900), 1).await;
            rig.advance(millis(n % 2));
        }
        let listed = rig.deliveries(&endpoint).await;
        assert_eq!(listed.len(), 5);
        assert!(listed.is_sorted_by(|newer, older| newer.id > older.id));
        assert!(listed.iter().all(|delivery| delivery.endpoint == endpoint.id));
        assert_eq!(rig.deliveries(&other).await.len(), 5);
        for limit in [1, 2, 4, 5, 6] {
            let read = async |page| {
                let (account, id) = (endpoint.account, endpoint.id);
                rig.store().delivery_list(account, id, page).await.expect("read")
            };
            assert_eq!(read_all(limit, read).await, listed, "by {limit}");
        }
        let wanted = page(5, None);
        let only = rig.store().delivery_list(account.id, endpoint.id, wanted).await.expect("read");
        assert_eq!((only.items.len(), only.next), (5, None));
    }

    /// Pages neither repeat nor miss a delivery while newer ones arrive.
    async fn pages_of_deliveries_stay_whole_while_newer_ones_arrive(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 5).await;
        let before = rig.deliveries(&endpoint).await;
        let read = async |wanted| {
            let page = rig.store().delivery_list(account.id, endpoint.id, wanted).await;
            rig.raise(person(900), 1).await;
            page.expect("read")
        };
        assert_eq!(read_all(2, read).await, before);
    }

    /// A test of an endpoint is in the log, is not sent again automatically, and counts as no
    /// failure.
    async fn a_test_of_an_endpoint_is_in_the_log(rig: &Rig) {
        let account = rig.account(0).await;
        let endpoint = rig.endpoint(&account, &[EventType::MessageSent]).await;
        let taken = test_of(rig, &endpoint, Ok(()));
        rig.advance(millis(5));
        let failed = test_of(rig, &endpoint, Err(DeliveryError::TlsFailed));
        for delivery in [&taken, &failed] {
            rig.store().delivery_log(delivery.clone()).await.expect("kept");
        }
        assert_eq!(event_of(&taken.body)["type"], "webhook.test");
        assert_eq!(rig.deliveries(&endpoint).await, [failed.clone(), taken]);
        rig.advance(days(1));
        assert_eq!(rig.claim_any(10).await, []);
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
        assert_eq!(rig.endpoint_now(&endpoint).await, endpoint);
        let claimed = rig.retry(&endpoint, failed.id).await;
        rig.succeed(&[claimed]).await;
        let delivery = rig.delivery(&endpoint, failed.id).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 2));
    }

    /// Tidying removes what was made before a moment, whatever became of it, in portions no larger
    /// than asked for, and nothing younger.
    async fn tidying_removes_old_deliveries_in_portions(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 5).await;
        let claimed = rig.claim_any(2).await;
        rig.succeed(&claimed[..1]).await;
        rig.advance(millis(1));
        rig.raise(person(900), 2).await;
        let younger: Vec<DeliveryId> =
            rig.deliveries(&endpoint).await[..2].iter().map(|delivery| delivery.id).collect();
        rig.advance(KEPT_FOR - millis(1));
        assert_eq!(tidy(rig, 100).await, 0);
        rig.advance(millis(1));
        let removed =
            [tidy(rig, 2).await, tidy(rig, 2).await, tidy(rig, 2).await, tidy(rig, 2).await];
        assert_eq!(removed, [2, 2, 1, 0]);
        let left: Vec<DeliveryId> =
            rig.deliveries(&endpoint).await.iter().map(|delivery| delivery.id).collect();
        assert_eq!(left, younger);
        assert_eq!(rig.succeed(&claimed[1..]).await, [AttemptVerdict::LeaseLost]);
        assert_eq!(rig.claim_any(10).await.len(), 2);
    }

    /// Tidying counts from when a delivery was made, not from its last attempt.
    async fn tidying_counts_from_when_a_delivery_was_made(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        rig.advance(KEPT_FOR);
        let claimed = rig.claim_any(10).await;
        rig.succeed(&claimed).await;
        assert_eq!(tidy(rig, 100).await, 0);
        rig.advance(millis(1));
        assert_eq!(tidy(rig, 100).await, 1);
        assert_eq!(rig.deliveries(&endpoint).await, []);
    }

    /// Ids rise even when a clock is set back; the clock decides what is old.
    async fn tidying_finds_the_old_behind_the_younger(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        let taken = test_of(rig, &endpoint, Ok(()));
        let ahead = Delivery { created_at: rig.now().plus(millis(1)), ..taken };
        let behind = test_of(rig, &endpoint, Ok(()));
        assert!(ahead.id < behind.id);
        for test in [&ahead, &behind] {
            rig.store().delivery_log(test.clone()).await.expect("kept");
        }
        rig.advance(KEPT_FOR.saturating_add(millis(1)));
        assert_eq!(tidy(rig, 100).await, 1);
        assert_eq!(rig.deliveries(&endpoint).await, [ahead]);
    }
}
