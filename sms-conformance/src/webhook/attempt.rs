//! How attempts end.

use sms_core::upkeep::Due;
use sms_core::webhook::attempt::{AttemptPlan, AttemptVerdict};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::{Endpoint, Power};
use sms_core::webhook::retry::{Jitter, RetrySchedule};

use crate::Rig;
use crate::rig::{all_recorded, millis, minutes, person, seconds};

/// What was recorded of an attempt.
fn recorded(verdict: AttemptVerdict) -> (Delivery, Endpoint) {
    match verdict {
        AttemptVerdict::Record { delivery, endpoint, .. } => (*delivery, *endpoint),
        AttemptVerdict::LeaseLost => panic!("the lease holds"),
    }
}

scenarios! { Webhook;
    /// A success ends a delivery, is remembered by its endpoint, and resets the count of failures.
    async fn a_success_ends_a_delivery_and_resets_the_failures(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 3).await;
        let claimed = rig.claim_any(10).await;
        rig.fail(&claimed[..2]).await;
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 2);
        let now = rig.advance(millis(5));
        let (delivery, after) = recorded(rig.succeed(&claimed[2..]).await.remove(0));
        assert_eq!(delivery.status, DeliveryStatus::Delivered);
        assert_eq!((delivery.attempts, delivery.last_status_code), (1, Some(204)));
        assert_eq!((delivery.delivered_at, delivery.last_attempt_at), (Some(now), Some(now)));
        assert_eq!((delivery.last_error, delivery.next_attempt_at), (None, None));
        assert_eq!((delivery.lease, delivery.leased_until), (None, None));
        assert_eq!((after.consecutive_failures, after.last_delivered_at), (0, Some(now)));
        assert_eq!(after.updated_at, endpoint.updated_at, "its owner did not change it");
        assert_eq!(rig.delivery(&endpoint, delivery.id).await, delivery);
        assert_eq!(rig.endpoint_now(&endpoint).await, after);
        rig.advance(minutes(1));
        assert_eq!(rig.claim_any(10).await.len(), 2, "the failed ones");
    }

    /// A failure is remembered with its reason.
    async fn a_failure_is_remembered_with_its_reason(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        let errors = [
            DeliveryError::DnsFailed,
            DeliveryError::ForbiddenAddress,
            DeliveryError::ConnectFailed,
            DeliveryError::TlsFailed,
            DeliveryError::Timeout,
            DeliveryError::HttpStatus,
        ];
        rig.raise(person(900), errors.len()).await;
        let claimed = rig.claim_any(10).await;
        let plans = claimed.iter().zip(errors).map(|(one, error)| rig.attempt(one, Err(error)));
        let verdicts = rig.record_attempts(plans.collect()).await;
        for ((verdict, error), failures) in verdicts.into_iter().zip(errors).zip(1..) {
            let (delivery, after) = recorded(verdict);
            assert_eq!((delivery.last_error, delivery.attempts), (Some(error), 1));
            let code = (error == DeliveryError::HttpStatus).then_some(500);
            assert_eq!((delivery.last_status_code, delivery.delivered_at), (code, None));
            assert_eq!((after.consecutive_failures, after.power), (failures, Power::On));
            assert_eq!(rig.delivery(&endpoint, delivery.id).await, delivery);
        }
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 6);
    }

    /// Retries follow after 1, 5, 30, 120, 360 and 720 minutes, each counted from the end of the
    /// attempt before it, and not a millisecond early; then the delivery is given up.
    async fn retries_follow_the_schedule_and_then_no_more(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        for (attempts, delay) in (1..).zip([1, 5, 30, 120, 360, 720].map(minutes)) {
            let claimed = rig.claim_any(10).await;
            assert_eq!(claimed.len(), 1);
            let ended = rig.advance(seconds(8));
            let (delivery, _) = recorded(rig.fail(&claimed).await.remove(0));
            assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, attempts));
            assert_eq!(delivery.next_attempt_at, Some(ended.plus(delay)));
            rig.advance(delay - millis(1));
            assert_eq!(rig.claim_any(10).await, []);
            rig.advance(millis(1));
        }
        let claimed = rig.claim_any(10).await;
        let (delivery, after) = recorded(rig.fail(&claimed).await.remove(0));
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::GivenUp, 7));
        assert_eq!((delivery.next_attempt_at, delivery.lease), (None, None));
        assert_eq!(delivery.last_error, Some(DeliveryError::HttpStatus));
        assert_eq!((after.consecutive_failures, after.power), (7, Power::On));
        assert_eq!(rig.deliveries(&endpoint).await, [delivery]);
        rig.advance(minutes(10_000));
        assert_eq!(rig.claim_any(10).await, []);
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
    }

    /// Schedule and jitter are the plan's, not the store's.
    async fn schedule_and_jitter_are_the_plans(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 2).await;
        let claimed = rig.claim_any(10).await;
        let attempt =
            |position: usize| rig.attempt(&claimed[position], Err(DeliveryError::Timeout));
        let plans = vec![
            AttemptPlan { jitter: Jitter(u32::MAX), ..attempt(0) },
            AttemptPlan { schedule: RetrySchedule::new(vec![seconds(3)]), ..attempt(1) },
        ];
        rig.record_attempts(plans).await;
        let due = async |position: usize| {
            let id = claimed[position].request.delivery;
            rig.delivery(&endpoint, id).await.next_attempt_at
        };
        assert_eq!(due(0).await, Some(rig.now().plus(seconds(66))));
        assert_eq!(due(1).await, Some(rig.now().plus(seconds(3))));
    }

    /// Attempts of one call are answered in the order given; an unknown delivery, a foreign account
    /// and a foreign token change nothing.
    async fn attempts_are_answered_in_the_order_given(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        let stranger = rig.account(0).await;
        rig.raise(person(900), 2).await;
        let claimed = rig.claim_any(10).await;
        let of = |position: usize| rig.attempt(&claimed[position], Ok(()));
        let plans = vec![
            AttemptPlan { token: rig.token(), ..of(0) },
            of(1),
            AttemptPlan { delivery: rig.id(), ..of(0) },
            AttemptPlan { account: stranger.id, ..of(0) },
            of(1),
        ];
        let verdicts = rig.record_attempts(plans).await;
        let counted: Vec<bool> =
            verdicts.iter().map(|verdict| *verdict != AttemptVerdict::LeaseLost).collect();
        assert_eq!(counted, [false, true, false, false, false]);
        let untouched = rig.delivery(&endpoint, claimed[0].request.delivery).await;
        assert_eq!((untouched.status, untouched.attempts), (DeliveryStatus::Pending, 0));
        assert_eq!(rig.record_attempts(Vec::new()).await, []);
    }

    /// Attempts recorded in one call whose delivery is unknown, or another account's, take nothing
    /// from the others.
    async fn attempts_recorded_with_others_keep_their_answers(rig: &Rig) {
        let (other, _) = rig.listener(person(901)).await;
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 4).await;
        let claimed = rig.claim_any(10).await;
        let mut plans: Vec<AttemptPlan> =
            claimed.iter().map(|one| rig.attempt(one, Ok(()))).collect();
        plans[0].delivery = rig.id();
        plans[2].account = other.id;
        let verdicts = rig.record_attempts(plans).await;
        let counted: Vec<bool> =
            verdicts.iter().map(|verdict| *verdict != AttemptVerdict::LeaseLost).collect();
        assert_eq!(counted, [false, true, false, true]);
        let done = rig.deliveries(&endpoint).await;
        let delivered = done.iter().filter(|one| one.status == DeliveryStatus::Delivered);
        assert_eq!(delivered.count(), 2);
    }

    /// Attempts at one endpoint that end at once are counted one by one.
    async fn racing_attempts_are_counted_one_by_one(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 60).await;
        let claimed = rig.claim_any(100).await;
        let failures: Vec<Vec<AttemptPlan>> = claimed
            .chunks(4)
            .map(|chunk| chunk.iter().map(|one| rig.attempt(one, Err(DeliveryError::Timeout))))
            .map(Iterator::collect)
            .collect();
        rig.race_each(failures, |store, plans| async move {
            all_recorded(store.deliveries_record(plans).await)
        });
        let after = rig.endpoint_now(&endpoint).await;
        assert_eq!((after.consecutive_failures, after.power), (60, Power::On));
        let deliveries = rig.deliveries(&endpoint).await;
        assert!(deliveries.iter().all(|delivery| delivery.attempts == 1));
    }

    /// One attempt recorded by many at once counts once.
    async fn of_racing_records_of_one_attempt_one_counts(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(10).await;
        let plans = vec![rig.attempt(&claimed[0], Err(DeliveryError::Timeout)); 8];
        let verdicts = rig.race_each(plans, |store, plan| async move {
            all_recorded(store.deliveries_record(vec![plan]).await).remove(0)
        });
        let lost = verdicts.iter().filter(|verdict| **verdict == AttemptVerdict::LeaseLost).count();
        assert_eq!(lost, 7);
        assert_eq!(rig.deliveries(&endpoint).await[0].attempts, 1);
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 1);
    }

    /// Attempts of several endpoints recorded at once in opposite orders do not block each other.
    async fn racing_records_over_the_same_endpoints_all_end(rig: &Rig) {
        let (_, one) = rig.listener(person(901)).await;
        let (_, two) = rig.listener(person(902)).await;
        rig.raise(person(901), 24).await;
        rig.raise(person(902), 24).await;
        let claimed = rig.claim_any(100).await;
        let (of_one, of_two): (Vec<_>, Vec<_>) =
            claimed.into_iter().partition(|delivery| delivery.endpoint == one.id);
        let calls: Vec<Vec<AttemptPlan>> = of_one
            .chunks(3)
            .zip(of_two.chunks(3))
            .enumerate()
            .map(|(n, (first, second))| {
                let order = if n % 2 == 0 { [first, second] } else { [second, first] };
                let fail = |one| rig.attempt(one, Err(DeliveryError::Timeout));
                order.into_iter().flatten().map(fail).collect()
            })
            .collect();
        rig.race_each(calls, |store, plans| async move {
            all_recorded(store.deliveries_record(plans).await)
        });
        for endpoint in [one, two] {
            assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 24);
        }
    }
}
