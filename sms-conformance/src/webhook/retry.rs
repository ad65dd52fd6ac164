//! Deliveries that are sent again by hand.

use sms_core::webhook::attempt::{ATTEMPT_LEASE, RetryPlan, RetryVerdict};
use sms_core::webhook::delivery::{DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, Power};

use crate::Rig;
use crate::rig::{millis, minutes, person};

/// An endpoint with one delivery that waits.
async fn endpoint_with_delivery(rig: &Rig) -> (Endpoint, sms_core::ids::DeliveryId) {
    let (_, endpoint) = rig.listener(person(900)).await;
    rig.raise(person(900), 1).await;
    let delivery = rig.deliveries(&endpoint).await[0].id;
    (endpoint, delivery)
}

async fn under_way(rig: &Rig, plan: RetryPlan) -> bool {
    let verdict = rig.store().delivery_retry(plan).await.expect("answered");
    matches!(verdict, Some(RetryVerdict::UnderWay(_)))
}

scenarios! { Webhook;
    /// A delivery that waits for its retry is sent now; no worker takes it meanwhile.
    async fn a_pending_delivery_is_sent_now_by_hand(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        let first = rig.claim_any(1).await;
        rig.fail(&first).await;
        let now = rig.advance(millis(5));
        let claimed = rig.retry(&endpoint, id).await;
        assert_eq!(claimed.request, first[0].request, "the same id and body");
        let held = rig.delivery(&endpoint, id).await;
        assert_eq!(
            (held.lease, held.leased_until),
            (Some(claimed.token), Some(now.plus(ATTEMPT_LEASE)))
        );
        assert_eq!(rig.claim_any(10).await, []);
        rig.succeed(&[claimed]).await;
        let delivery = rig.delivery(&endpoint, id).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 2));
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 0);
        rig.advance(minutes(60));
        assert_eq!(rig.claim_any(10).await, []);
    }

    /// A delivery that was given up is sent again; if it fails once more it is given up once more.
    async fn a_delivery_that_was_given_up_is_sent_again(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        for _ in 0..7 {
            let claimed = rig.claim_any(1).await;
            rig.fail(&claimed).await;
            rig.advance(minutes(720));
        }
        assert_eq!(rig.delivery(&endpoint, id).await.status, DeliveryStatus::GivenUp);
        let claimed = rig.retry(&endpoint, id).await;
        assert_eq!(rig.delivery(&endpoint, id).await.status, DeliveryStatus::Pending);
        rig.fail(&[claimed]).await;
        let delivery = rig.delivery(&endpoint, id).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::GivenUp, 8));
        let claimed = rig.retry(&endpoint, id).await;
        rig.succeed(&[claimed]).await;
        assert_eq!(rig.delivery(&endpoint, id).await.status, DeliveryStatus::Delivered);
    }

    /// A delivery that was taken before stays delivered when it fails now, and is not tried again
    /// by itself.
    async fn a_delivered_one_stays_delivered_when_it_fails_again(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        let claimed = rig.claim_any(1).await;
        rig.succeed(&claimed).await;
        let delivered_at = rig.delivery(&endpoint, id).await.delivered_at;
        rig.advance(millis(5));
        let claimed = rig.retry(&endpoint, id).await;
        rig.fail(&[claimed]).await;
        let delivery = rig.delivery(&endpoint, id).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 2));
        assert_eq!((delivery.delivered_at, delivery.next_attempt_at), (delivered_at, None));
        assert_eq!(delivery.last_error, Some(DeliveryError::HttpStatus));
        rig.advance(minutes(60));
        assert_eq!(rig.claim_any(10).await, []);
    }

    /// While a worker has a delivery, it cannot be retried by hand; once the lease has expired it
    /// can, and the worker has lost it.
    async fn a_delivery_under_way_is_not_sent_by_hand(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        let slow = rig.claim_any(1).await;
        rig.advance(ATTEMPT_LEASE - millis(1));
        let before = rig.delivery(&endpoint, id).await;
        let plan = rig.retry_plan(&endpoint, id);
        let verdict = rig.store().delivery_retry(plan).await.expect("answered");
        assert_eq!(verdict, Some(RetryVerdict::UnderWay(Box::new(before.clone()))));
        assert_eq!(rig.delivery(&endpoint, id).await, before);
        rig.advance(millis(1));
        let claimed = rig.retry(&endpoint, id).await;
        assert!(under_way(rig, rig.retry_plan(&endpoint, id)).await);
        rig.succeed(&slow).await;
        assert_eq!(rig.delivery(&endpoint, id).await.attempts, 0);
        rig.succeed(&[claimed]).await;
        assert_eq!(rig.delivery(&endpoint, id).await.attempts, 1);
    }

    /// A delivery whose sender by hand died is taken over by a worker when the lease expires.
    async fn a_delivery_whose_sender_by_hand_died_is_not_lost(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        rig.retry(&endpoint, id).await;
        rig.advance(ATTEMPT_LEASE - millis(1));
        assert_eq!(rig.claim_any(10).await, []);
        rig.advance(millis(1));
        let claimed = rig.claim_any(10).await;
        assert_eq!(claimed.len(), 1);
        assert_eq!(claimed[0].request.delivery, id);
    }

    /// Deliveries of an endpoint that is off can be sent by hand; a failure is given up, and a
    /// success does not switch it on.
    async fn an_endpoint_that_is_off_can_be_sent_to_by_hand(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        let claimed = rig.retry(&endpoint, id).await;
        rig.fail(&[claimed]).await;
        let delivery = rig.delivery(&endpoint, id).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::GivenUp, 1));
        let claimed = rig.retry(&endpoint, id).await;
        rig.succeed(&[claimed]).await;
        assert_eq!(rig.delivery(&endpoint, id).await.status, DeliveryStatus::Delivered);
        assert!(!rig.endpoint_now(&endpoint).await.power.is_on());
    }

    /// A delivery is reached through its own account and endpoint only.
    async fn another_endpoints_delivery_is_out_of_reach(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        let (_, other) = rig.listener(person(901)).await;
        let plan = || rig.retry_plan(&endpoint, id);
        let plans = [
            RetryPlan { account: other.account, ..plan() },
            RetryPlan { endpoint: other.id, ..plan() },
            RetryPlan { account: other.account, endpoint: other.id, ..plan() },
            RetryPlan { delivery: rig.id(), ..plan() },
        ];
        for plan in plans {
            let (account, through, id) = (plan.account, plan.endpoint, plan.delivery);
            assert_eq!(rig.store().delivery_retry(plan).await.expect("answered"), None);
            let found = rig.store().delivery_get(account, through, id).await;
            assert_eq!(found.expect("read"), None);
        }
        assert_eq!(rig.delivery(&endpoint, id).await.lease, None);
    }

    /// Many send one delivery by hand at once: one does.
    async fn of_racing_senders_by_hand_one_sends(rig: &Rig) {
        let (endpoint, id) = endpoint_with_delivery(rig).await;
        let plans: Vec<_> = (0..8).map(|_| rig.retry_plan(&endpoint, id)).collect();
        let verdicts = rig.race_each(plans, |store, plan| async move {
            store.delivery_retry(plan).await.expect("answered")
        });
        let sent =
            |verdict: &&Option<RetryVerdict>| matches!(verdict, Some(RetryVerdict::Send(..)));
        assert_eq!(verdicts.iter().filter(sent).count(), 1);
        assert!(verdicts.iter().all(Option::is_some));
    }
}
