//! Endpoints that go off: by their owner, or after a hundred failures in a row.

use sms_core::event::EventType;
use sms_core::upkeep::{Chore, Due};
use sms_core::webhook::attempt::{ATTEMPT_LEASE, AttemptVerdict, Room};
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus, KEPT_FOR};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, EndpointChange, Power};

use crate::Rig;
use crate::rig::{all_recorded, millis, minutes, person};

const BY_OWNER: Power = Power::Off(DisabledReason::ByOwner);
const BY_FAILURES: Power = Power::Off(DisabledReason::Failures);
const OFF: Option<DeliveryError> = Some(DeliveryError::EndpointOff);
const HTTP: Option<DeliveryError> = Some(DeliveryError::HttpStatus);

/// How many of an endpoint's deliveries stand so, for this reason.
async fn count(
    rig: &Rig,
    endpoint: &Endpoint,
    status: DeliveryStatus,
    error: Option<DeliveryError>,
) -> usize {
    let stands_so =
        |delivery: &&Delivery| delivery.status == status && delivery.last_error == error;
    rig.deliveries(endpoint).await.iter().filter(stands_so).count()
}

/// Fails this many deliveries, one after the other.
async fn fail(rig: &Rig, failures: usize) {
    rig.raise(person(900), failures).await;
    let claimed = rig.claim_any(failures).await;
    assert_eq!(claimed.len(), failures);
    for one in claimed {
        rig.fail(&[one]).await;
    }
}

/// Clears away all that there is to clear away.
async fn tidy(rig: &Rig) {
    let before = rig.now().minus(KEPT_FOR);
    while rig.store().tidy(Chore::Deliveries { before }, 2).await.expect("tidied") > 0 {}
}

scenarios! { Webhook;
    /// The hundredth failure in a row switches an endpoint off and gives up what waits for it,
    /// whether it was tried before or not.
    async fn a_hundred_failures_in_a_row_switch_an_endpoint_off(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        fail(rig, 99).await;
        let almost = rig.endpoint_now(&endpoint).await;
        assert_eq!((almost.power, almost.consecutive_failures), (Power::On, 99));
        rig.raise(person(900), 1).await;
        let last = rig.claim_any(1).await;
        rig.raise(person(900), 3).await;
        let AttemptVerdict::Record { switched_off, .. } = rig.fail(&last).await.remove(0) else {
            panic!("the lease holds")
        };
        assert!(switched_off);
        let off = rig.endpoint_now(&endpoint).await;
        assert_eq!((off.power, off.consecutive_failures), (BY_FAILURES, 100));
        assert_eq!(off.updated_at, endpoint.updated_at, "its owner did not change it");
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 102);
        let hundredth = rig.delivery(&endpoint, last[0].request.delivery).await;
        assert_eq!((hundredth.status, hundredth.last_error), (DeliveryStatus::GivenUp, HTTP));
        let deliveries = rig.deliveries(&endpoint).await;
        assert!(deliveries.iter().all(|one| one.next_attempt_at.is_none() && one.lease.is_none()));
        rig.advance(minutes(10_000));
        assert_eq!(rig.claim_any(200).await, []);
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
        rig.raise(person(900), 1).await;
        assert_eq!(rig.deliveries(&endpoint).await.len(), 103);
    }

    /// A success within them starts the count anew: ninety-nine and ninety-nine switch nothing off.
    async fn a_success_starts_the_count_anew(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        fail(rig, 99).await;
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(1).await;
        rig.succeed(&claimed).await;
        fail(rig, 99).await;
        let after = rig.endpoint_now(&endpoint).await;
        assert_eq!((after.power, after.consecutive_failures), (Power::On, 99));
    }

    /// Attempts under way when an endpoint goes off are not disturbed: a success counts, a failure
    /// is given up for its own reason.
    async fn attempts_under_way_end_as_they_end(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 3).await;
        let under_way = rig.claim_any(2).await;
        rig.switch(&endpoint, BY_OWNER).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 1);
        for claimed in &under_way {
            let delivery = rig.delivery(&endpoint, claimed.request.delivery).await;
            let held = (delivery.status, delivery.lease);
            assert_eq!(held, (DeliveryStatus::Pending, Some(claimed.token)));
        }
        let now = rig.advance(millis(5));
        rig.succeed(&under_way[..1]).await;
        rig.fail(&under_way[1..]).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::Delivered, None).await, 1);
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, HTTP).await, 1);
        let after = rig.endpoint_now(&endpoint).await;
        assert_eq!((after.power, after.last_delivered_at), (BY_OWNER, Some(now)));
        assert_eq!(
            after.consecutive_failures, 0,
            "failures of an endpoint that is off do not count"
        );
    }

    /// Of attempts recorded in one call, the hundredth failure switches off, gives up what the ones
    /// before it put off, and the rest end as they end.
    async fn a_hundredth_failure_within_a_call_switches_off(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 105).await;
        let claimed = rig.claim_any(104).await;
        assert_eq!(claimed.len(), 104);
        let verdicts = rig.fail(&claimed).await;
        let switched: Vec<usize> = verdicts
            .iter()
            .enumerate()
            .filter(|(_, verdict)| {
                matches!(verdict, AttemptVerdict::Record { switched_off: true, .. })
            })
            .map(|(position, _)| position)
            .collect();
        assert_eq!(switched, [99]);
        let after = rig.endpoint_now(&endpoint).await;
        assert_eq!((after.power, after.consecutive_failures), (BY_FAILURES, 100));
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 100);
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, HTTP).await, 5);
    }

    /// What was held too long when the hundredth failure switched off is given up by it, also when
    /// its own attempt is recorded in the same call.
    async fn a_lapsed_hold_ends_with_the_hundredth_failure_of_the_call(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 101).await;
        let claimed = rig.claim_any(101).await;
        rig.advance(ATTEMPT_LEASE);
        let verdicts = rig.fail(&claimed).await;
        assert_eq!(verdicts.last(), Some(&AttemptVerdict::LeaseLost));
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 100);
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, HTTP).await, 1);
    }

    /// Failures that race reach a hundred once: one of them switches off.
    async fn racing_failures_switch_off_once(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 120).await;
        let claimed = rig.claim_any(120).await;
        let calls: Vec<Vec<_>> = claimed
            .chunks(10)
            .map(|chunk| chunk.iter().map(|one| rig.attempt(one, Err(DeliveryError::Timeout))))
            .map(Iterator::collect)
            .collect();
        let verdicts = rig.race_each(calls, |store, plans| async move {
            all_recorded(store.deliveries_record(plans).await)
        });
        let switched = |verdict: &&AttemptVerdict| {
            matches!(verdict, AttemptVerdict::Record { switched_off: true, .. })
        };
        assert_eq!(verdicts.iter().flatten().filter(switched).count(), 1);
        let after = rig.endpoint_now(&endpoint).await;
        assert_eq!((after.power, after.consecutive_failures), (BY_FAILURES, 100));
        let pending = rig.deliveries(&endpoint).await;
        assert!(pending.iter().all(|delivery| delivery.status == DeliveryStatus::GivenUp));
    }

    /// An owner who switches an endpoint off gives up what waits for it, and for no other; changing
    /// anything else gives up nothing.
    async fn switching_off_gives_up_what_waits(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        rig.raise(person(900), 2).await;
        let change = EndpointChange { description: Some(None), ..EndpointChange::default() };
        rig.update_endpoint(&endpoint, change).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::Pending, None).await, 2);
        let off = rig.switch(&endpoint, BY_OWNER).await;
        assert_eq!(off.power, BY_OWNER);
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 2);
        assert_eq!(count(rig, &other, DeliveryStatus::Pending, None).await, 2);
        assert_eq!(rig.claim_any(2).await.len(), 2, "what was given up takes no room");
    }

    /// What a dead worker held when its endpoint is disabled is no attempt under way: it is given
    /// up.
    async fn what_a_dead_worker_held_is_given_up(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let dead = rig.claim_any(1).await;
        rig.advance(minutes(1));
        rig.switch(&endpoint, BY_OWNER).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 1);
        assert_eq!(rig.succeed(&dead).await, [AttemptVerdict::LeaseLost]);
    }

    /// An attempt under way when its endpoint went off, whose worker then died, is not made again:
    /// the delivery is given up at the next claim, and its neighbour's are not.
    async fn a_dead_attempt_at_an_endpoint_that_went_off_is_not_made_again(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let dead = rig.claim_any(10).await;
        rig.switch(&endpoint, BY_OWNER).await;
        let other = rig.endpoint(&account, &[EventType::MessageReceived]).await;
        rig.advance(ATTEMPT_LEASE);
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(10).await;
        assert_eq!((claimed.len(), claimed[0].endpoint), (1, other.id));
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 1);
        assert_eq!(rig.succeed(&dead).await, [AttemptVerdict::LeaseLost]);
        rig.succeed(&claimed).await;
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
    }

    /// What an endpoint took once stays delivered when it is disabled while the delivery waits to
    /// be sent again.
    async fn what_was_delivered_once_is_not_given_up(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(1).await;
        rig.succeed(&claimed).await;
        let id = claimed[0].request.delivery;
        rig.retry(&endpoint, id).await;
        rig.advance(ATTEMPT_LEASE);
        rig.switch(&endpoint, BY_OWNER).await;
        assert_eq!(rig.delivery(&endpoint, id).await.status, DeliveryStatus::Delivered);
        assert_eq!(rig.claim_any(1).await, []);
    }

    /// What was given up stays given up when the endpoint is enabled again, also while much has yet
    /// to be cleared away, and holds up nothing new; sent again by hand, it is a delivery like any
    /// other.
    async fn what_was_given_up_stays_so_until_sent_by_hand(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 5).await;
        rig.switch(&endpoint, BY_OWNER).await;
        rig.switch(&endpoint, Power::On).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 5);
        assert_eq!(rig.claim_any(10).await, []);
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
        rig.advance(millis(5));
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(1).await;
        assert_eq!(claimed.len(), 1, "what is over is not in the way");
        rig.succeed(&claimed).await;
        let over = rig.deliveries(&endpoint).await.pop().expect("five were given up").id;
        let again = rig.retry(&endpoint, over).await;
        rig.fail(&[again]).await;
        let delivery = rig.delivery(&endpoint, over).await;
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, 1));
        let read = rig.store().next(Due::Deliveries);
        assert_eq!(read.await.expect("read"), delivery.next_attempt_at);
        tidy(rig).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await, 4);
        assert_eq!(rig.delivery(&endpoint, over).await, delivery);
        rig.advance_to(delivery.next_attempt_at.expect("it is tried again"));
        assert_eq!(rig.claim_any(10).await.len(), 1);
    }

    /// An attempt under way while its endpoint went off and on again is one like any other: its
    /// failure is tried again, and a dead worker's is taken by another.
    async fn an_attempt_under_way_outlasts_an_endpoint_that_goes_off_and_on(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 2).await;
        let under_way = rig.claim_any(2).await;
        rig.switch(&endpoint, BY_OWNER).await;
        rig.switch(&endpoint, Power::On).await;
        tidy(rig).await;
        rig.fail(&under_way[..1]).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::Pending, HTTP).await, 1);
        rig.advance(ATTEMPT_LEASE);
        let taken_over = rig.claim_any(10).await;
        assert_eq!(taken_over.len(), 1);
        assert_eq!(taken_over[0].request, under_way[1].request);
        assert_eq!(rig.succeed(&under_way[1..]).await, [AttemptVerdict::LeaseLost]);
        rig.succeed(&taken_over).await;
        assert_eq!(count(rig, &endpoint, DeliveryStatus::Delivered, None).await, 1);
    }

    /// Endpoints that are disabled while workers claim and record: what was under way counts, and
    /// all else is given up.
    async fn racing_claims_and_a_switch_off_leave_nothing_in_between(rig: &Rig) {
        let (account, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 60).await;
        let claims: Vec<_> = (0..6).map(|_| Some(rig.delivery_claim(Room::any(5)))).collect();
        let (id, at) = (endpoint.id, rig.now());
        let off = EndpointChange { power: Some(BY_OWNER), ..EndpointChange::default() };
        let acts = claims.into_iter().chain([None]);
        let claimed = rig.race_each(acts, move |store, act| {
            let off = off.clone();
            async move {
                let Some(plan) = act else {
                    store.endpoint_update(account.id, id, off, at).await.expect("updated");
                    return Vec::new();
                };
                store.deliveries_claim(plan).await.expect("claimed")
            }
        });
        let claimed: Vec<_> = claimed.into_iter().flatten().collect();
        let verdicts = rig.succeed(&claimed).await;
        assert!(verdicts.iter().all(|verdict| *verdict != AttemptVerdict::LeaseLost));
        let delivered = count(rig, &endpoint, DeliveryStatus::Delivered, None).await;
        let given_up = count(rig, &endpoint, DeliveryStatus::GivenUp, OFF).await;
        assert_eq!((delivered, delivered + given_up), (claimed.len(), 60));
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), None);
    }

    /// An endpoint that is switched on again counts from zero, hears of new events, and gets
    /// none of what was given up.
    async fn an_endpoint_that_is_on_again_begins_anew(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        fail(rig, 100).await;
        assert_eq!(rig.endpoint_now(&endpoint).await.power, BY_FAILURES);
        let still_off = rig.switch(&endpoint, BY_OWNER).await;
        assert_eq!(still_off.power, BY_FAILURES, "the reason stays");
        let on = rig.switch(&endpoint, Power::On).await;
        assert_eq!((on.power, on.consecutive_failures), (Power::On, 0));
        rig.advance(minutes(10_000));
        assert_eq!(rig.claim_any(200).await, []);
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(200).await;
        assert_eq!(claimed.len(), 1);
        rig.fail(&claimed).await;
        assert_eq!(rig.endpoint_now(&endpoint).await.consecutive_failures, 1);
    }
}
