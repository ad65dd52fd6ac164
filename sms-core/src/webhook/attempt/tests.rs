mod pause;

use proptest::prelude::*;

use super::*;
use crate::event::{EventBody, EventType};
use crate::ids::EventId;
use crate::samples::{account_id, endpoint, now, seconds};

const OURS: LeaseToken = LeaseToken(1);
const ANOTHERS: LeaseToken = LeaseToken(2);

fn lease() -> Lease {
    Lease { token: OURS, until: seconds(30) }
}

/// A delivery that waits for its first attempt.
fn waiting() -> Delivery {
    Delivery {
        id: DeliveryId::from_u128(6),
        account: account_id(),
        endpoint: endpoint().id,
        event_id: EventId::from_u128(5),
        event_type: EventType::MessageSent,
        body: EventBody::from_stored("{}"),
        status: DeliveryStatus::Pending,
        attempts: 0,
        last_status_code: None,
        last_error: None,
        last_attempt_at: None,
        next_attempt_at: Some(seconds(-1)),
        delivered_at: None,
        lease: None,
        leased_until: None,
        created_at: seconds(-1),
    }
}

fn held() -> Delivery {
    claim(waiting(), &endpoint(), lease(), now()).0
}

fn delivered() -> Delivery {
    Delivery {
        status: DeliveryStatus::Delivered,
        attempts: 1,
        last_status_code: Some(204),
        last_attempt_at: Some(seconds(-1)),
        next_attempt_at: None,
        delivered_at: Some(seconds(-1)),
        ..waiting()
    }
}

fn off() -> Endpoint {
    Endpoint { power: Power::Off(DisabledReason::ByOwner), ..endpoint() }
}

fn attempt(result: Result<(), DeliveryError>, at: Timestamp) -> AttemptPlan {
    let status_code = match result {
        Ok(()) => Some(200),
        Err(DeliveryError::HttpStatus) => Some(503),
        Err(_) => None,
    };
    AttemptPlan {
        account: account_id(),
        delivery: waiting().id,
        token: OURS,
        result,
        status_code,
        retry_after: None,
        began: at,
        at,
        schedule: RetrySchedule::default(),
        jitter: Jitter(0),
    }
}

/// Delivery and endpoint after the attempt, and whether it disabled the endpoint.
fn recorded(
    plan: &AttemptPlan,
    delivery: &Delivery,
    endpoint: &Endpoint,
) -> (Delivery, Endpoint, bool) {
    match plan.settle(Some((delivery, endpoint))) {
        AttemptVerdict::Record { delivery, endpoint, switched_off } => {
            (*delivery, *endpoint, switched_off)
        }
        AttemptVerdict::LeaseLost => panic!("lease lost"),
    }
}

// ---- one attempt ---------------------------------------------------------------------------

#[test]
fn a_successful_attempt_delivers_and_resets_the_failures() {
    let failed_before = Delivery {
        attempts: 2,
        last_error: Some(DeliveryError::Timeout),
        last_attempt_at: Some(seconds(-300)),
        ..held()
    };
    let failing = Endpoint { consecutive_failures: 99, ..endpoint() };
    let plan = attempt(Ok(()), now());
    let (delivery, endpoint, switched_off) = recorded(&plan, &failed_before, &failing);
    let expected = Delivery {
        status: DeliveryStatus::Delivered,
        attempts: 3,
        last_status_code: Some(200),
        last_error: None,
        last_attempt_at: Some(now()),
        next_attempt_at: None,
        delivered_at: Some(now()),
        lease: None,
        leased_until: None,
        ..failed_before
    };
    assert_eq!(delivery, expected);
    let expected = Endpoint { consecutive_failures: 0, last_delivered_at: Some(now()), ..failing };
    assert_eq!((endpoint, switched_off), (expected, false));
}

#[test]
fn a_delivery_that_failed_says_why_and_waits_from_the_end_of_the_attempt() {
    let endpoint = endpoint();
    for (error, status_code) in [
        (DeliveryError::HttpStatus, Some(503)),
        (DeliveryError::Timeout, None),
        (DeliveryError::DnsFailed, None),
    ] {
        let plan = attempt(Err(error), now());
        let (delivery, after, switched_off) = recorded(&plan, &held(), &endpoint);
        let expected = Delivery {
            status: DeliveryStatus::Pending,
            attempts: 1,
            last_status_code: status_code,
            last_error: Some(error),
            last_attempt_at: Some(now()),
            next_attempt_at: Some(seconds(60)),
            ..waiting()
        };
        assert_eq!(delivery, expected);
        let expected = Endpoint { consecutive_failures: 1, ..endpoint.clone() };
        assert_eq!((after, switched_off), (expected, false));
    }
}

#[test]
fn jitter_delays_a_retry_by_at_most_a_tenth() {
    let plan =
        AttemptPlan { jitter: Jitter(u32::MAX), ..attempt(Err(DeliveryError::Timeout), now()) };
    let (delivery, ..) = recorded(&plan, &held(), &endpoint());
    assert_eq!(delivery.next_attempt_at, Some(seconds(66)));
}

#[test]
fn a_worker_that_no_longer_holds_the_delivery_changes_nothing() {
    let endpoint = endpoint();
    let anothers = Delivery { lease: Some(ANOTHERS), ..held() };
    for result in [Ok(()), Err(DeliveryError::Timeout)] {
        let plan = attempt(result, now());
        assert_eq!(plan.settle(None), AttemptVerdict::LeaseLost);
        for delivery in [&waiting(), &anothers, &delivered()] {
            assert_eq!(plan.settle(Some((delivery, &endpoint))), AttemptVerdict::LeaseLost);
        }
    }
}

// ---- the whole schedule --------------------------------------------------------------------

#[test]
fn seven_attempts_are_made_after_1_5_30_120_360_and_720_minutes_and_then_it_is_given_up() {
    let (mut delivery, mut endpoint) = (waiting(), endpoint());
    let mut at = now();
    for (attempts, minutes) in (1..).zip([1, 5, 30, 120, 360, 720]) {
        let (held, _) = claim(delivery, &endpoint, lease(), now());
        let failed = attempt(Err(DeliveryError::HttpStatus), at);
        (delivery, endpoint, _) = recorded(&failed, &held, &endpoint);
        assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, attempts));
        let due = at.plus(Duration::from_mins(minutes));
        assert_eq!(delivery.next_attempt_at, Some(due));
        assert_eq!(delivery.claimable_at(), Some(due));
        // Each delay counts from the end of the attempt, which took five seconds.
        at = due.plus(Duration::from_secs(5));
    }
    let (held, _) = claim(delivery, &endpoint, lease(), now());
    let failed = attempt(Err(DeliveryError::HttpStatus), at);
    let (delivery, endpoint, _) = recorded(&failed, &held, &endpoint);
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::GivenUp, 7));
    assert_eq!((delivery.next_attempt_at, delivery.claimable_at()), (None, None));
    assert_eq!(delivery.last_error, Some(DeliveryError::HttpStatus));
    assert_eq!(endpoint.consecutive_failures, 7);
}

// ---- disabling -----------------------------------------------------------------------------

#[test]
fn only_the_hundredth_failure_in_a_row_disables_an_endpoint() {
    for (before, after, is_on) in [(0, 1, true), (97, 98, true), (98, 99, true), (99, 100, false)] {
        let failing = Endpoint { consecutive_failures: before, ..endpoint() };
        let failed = attempt(Err(DeliveryError::HttpStatus), now());
        let (delivery, endpoint, switched_off) = recorded(&failed, &held(), &failing);
        assert_eq!((endpoint.consecutive_failures, switched_off), (after, !is_on));
        let power = if is_on { Power::On } else { Power::Off(DisabledReason::Failures) };
        assert_eq!(endpoint.power, power);
        // The delivery of the last failure is not retried either, and it shows how it failed.
        let status = if is_on { DeliveryStatus::Pending } else { DeliveryStatus::GivenUp };
        assert_eq!((delivery.status, delivery.next_attempt_at.is_some()), (status, is_on));
        assert_eq!(delivery.last_error, Some(DeliveryError::HttpStatus));
    }
}

#[test]
fn a_failed_attempt_at_a_disabled_endpoint_is_the_last_and_does_not_count() {
    for reason in [DisabledReason::ByOwner, DisabledReason::Failures] {
        let off = Endpoint { power: Power::Off(reason), consecutive_failures: 100, ..endpoint() };
        let failed = attempt(Err(DeliveryError::Timeout), now());
        let (delivery, endpoint, switched_off) = recorded(&failed, &held(), &off);
        assert_eq!((delivery.status, delivery.next_attempt_at), (DeliveryStatus::GivenUp, None));
        assert_eq!(delivery.last_error, Some(DeliveryError::Timeout));
        assert_eq!((endpoint, switched_off), (off, false));
    }
}

#[test]
fn a_successful_attempt_at_a_disabled_endpoint_is_delivered_and_leaves_it_disabled() {
    let (delivery, endpoint, switched_off) = recorded(&attempt(Ok(()), now()), &held(), &off());
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!((endpoint.power, switched_off), (off().power, false));
    assert_eq!(endpoint.last_delivered_at, Some(now()));
}

// ---- claiming ------------------------------------------------------------------------------

#[test]
fn a_claim_holds_the_delivery_and_says_what_to_send() {
    let endpoint = endpoint();
    let (held, claimed) = claim(waiting(), &endpoint, lease(), now());
    let expected = Delivery { lease: Some(OURS), leased_until: Some(seconds(30)), ..waiting() };
    assert_eq!(held, expected);
    let expected = ClaimedDelivery {
        account: account_id(),
        endpoint: endpoint.id,
        token: OURS,
        request: WebhookRequest {
            account: account_id(),
            secrets: endpoint.signing_secrets(now()),
            url: endpoint.url,
            delivery: waiting().id,
            event_type: EventType::MessageSent,
            body: EventBody::from_stored("{}"),
        },
    };
    assert_eq!(claimed, expected);
}

// ---- sending again on request -------------------------------------------------------------

fn by_hand(delivery: &Delivery, endpoint: &Endpoint) -> RetryVerdict {
    let plan = RetryPlan {
        account: account_id(),
        endpoint: endpoint.id,
        delivery: delivery.id,
        at: now(),
        lease: lease(),
    };
    plan.settle(delivery, endpoint)
}

/// A delivery claimed to be sent again.
fn taken_by_hand(delivery: &Delivery, endpoint: &Endpoint) -> Delivery {
    match by_hand(delivery, endpoint) {
        RetryVerdict::Send(delivery, claimed) => {
            assert_eq!((claimed.token, claimed.request.delivery), (OURS, delivery.id));
            *delivery
        }
        RetryVerdict::UnderWay(_) => panic!("under way"),
    }
}

#[test]
fn any_delivery_can_be_sent_again_on_request_even_to_a_disabled_endpoint() {
    let given_up = Delivery { attempts: 7, ..waiting().given_up() };
    for endpoint in [endpoint(), off()] {
        for delivery in [waiting(), given_up.clone(), delivered()] {
            let taken = taken_by_hand(&delivery, &endpoint);
            let expected = Delivery {
                status: DeliveryStatus::Pending,
                next_attempt_at: Some(now()),
                lease: Some(OURS),
                leased_until: Some(seconds(30)),
                ..delivery
            };
            assert_eq!(taken, expected);
        }
    }
}

#[test]
fn a_delivery_that_a_worker_is_sending_is_left_to_it_until_its_lease_runs_out() {
    for (until, is_under_way) in [(seconds(1), true), (now(), false), (seconds(-1), false)] {
        let delivery = Delivery { lease: Some(ANOTHERS), leased_until: Some(until), ..waiting() };
        match by_hand(&delivery, &endpoint()) {
            RetryVerdict::UnderWay(shown) => assert!(is_under_way && *shown == delivery),
            RetryVerdict::Send(..) => assert!(!is_under_way),
        }
    }
}

#[test]
fn what_was_delivered_once_stays_delivered_when_sending_it_again_fails() {
    for endpoint in [endpoint(), off()] {
        let again = taken_by_hand(&delivered(), &endpoint);
        let failed = attempt(Err(DeliveryError::Timeout), now());
        let (after, ..) = recorded(&failed, &again, &endpoint);
        let expected = Delivery {
            attempts: 2,
            last_status_code: None,
            last_error: Some(DeliveryError::Timeout),
            last_attempt_at: Some(now()),
            ..delivered()
        };
        assert_eq!(after, expected);
    }
}

#[test]
fn what_was_given_up_is_delivered_when_sending_it_again_succeeds_and_else_stays_given_up() {
    let given_up = Delivery { attempts: 7, ..waiting().given_up() };
    let again = taken_by_hand(&given_up, &endpoint());
    let (after, ..) = recorded(&attempt(Ok(()), now()), &again, &endpoint());
    assert_eq!((after.status, after.attempts), (DeliveryStatus::Delivered, 8));
    let failed = attempt(Err(DeliveryError::Timeout), now());
    let (after, endpoint, _) = recorded(&failed, &again, &endpoint());
    assert_eq!((after.status, after.next_attempt_at), (DeliveryStatus::GivenUp, None));
    assert_eq!(endpoint.consecutive_failures, 1, "a failure is a failed attempt");
}

#[test]
fn sending_a_waiting_delivery_on_request_counts_as_one_of_its_attempts() {
    let third = Delivery { attempts: 2, ..waiting() };
    let again = taken_by_hand(&third, &endpoint());
    let failed = attempt(Err(DeliveryError::Timeout), now());
    let (after, ..) = recorded(&failed, &again, &endpoint());
    assert_eq!((after.attempts, after.next_attempt_at), (3, Some(seconds(30 * 60))));
}

// ---- room ----------------------------------------------------------------------------------

fn numbered(id: u128, consecutive_failures: u32) -> Endpoint {
    Endpoint { id: EndpointId::from_u128(id), consecutive_failures, ..endpoint() }
}

#[test]
fn an_endpoint_has_the_least_of_its_own_the_failing_and_the_total_room() {
    let good = numbered(1, 0);
    let bad = numbered(1, 1);
    let own = |slots| BTreeMap::from([(good.id, slots)]);
    for (total, failing, each, endpoints, for_good, for_bad) in [
        (10, 4, 3, own(2), 2, 2),
        (10, 4, 3, own(9), 9, 4),
        (10, 4, 3, own(0), 0, 0),
        (10, 4, 3, BTreeMap::new(), 3, 3),
        (10, 2, 3, BTreeMap::new(), 3, 2),
        (10, 0, 3, BTreeMap::new(), 3, 0),
        (1, 9, 3, own(9), 1, 1),
        (0, 9, 3, own(9), 0, 0),
    ] {
        let room = Room { total, failing, each, endpoints };
        assert_eq!((room.of(&good, now()), room.of(&bad, now())), (for_good, for_bad), "{room:?}");
    }
    assert_eq!((Room::any(7).of(&good, now()), Room::any(7).of(&bad, now())), (7, 7));
}

#[test]
fn a_claim_for_one_endpoint_reduces_its_own_and_the_shared_room() {
    let mut room = Room { total: 10, failing: 3, each: 4, endpoints: BTreeMap::new() };
    let (good, bad, other) = (numbered(1, 0), numbered(2, 5), numbered(3, 9));
    room.take(&good, 4);
    assert_eq!((room.total, room.failing, room.of(&good, now())), (6, 3, 0));
    room.take(&bad, 2);
    assert_eq!(
        (room.total, room.failing, room.of(&bad, now()), room.of(&other, now())),
        (4, 1, 1, 1)
    );
    room.take(&other, 1);
    assert_eq!((room.failing, room.of(&bad, now()), room.of(&other, now())), (0, 0, 0));
    assert_eq!(room.of(&numbered(4, 0), now()), 3);
    room.take(&numbered(4, 0), 100);
    assert_eq!((room.total, room.of(&numbered(5, 0), now())), (0, 0), "never below nothing");
}

proptest! {
    #[test]
    fn room_is_never_overdrawn_and_dead_endpoints_leave_room_for_the_others(
        total in 0usize..20,
        failing in 0usize..20,
        each in 0usize..8,
        wishes in prop::collection::vec((0u128..6, 0usize..10), 0..20),
    ) {
        let mut room = Room { total, failing, each, endpoints: BTreeMap::new() };
        // Endpoints with odd numbers fail.
        let numbered = |id: u128| numbered(id, u32::from(id % 2 == 1));
        let mut taken = BTreeMap::<u128, usize>::new();
        for (id, wish) in wishes {
            let count = wish.min(room.of(&numbered(id), now()));
            room.take(&numbered(id), count);
            *taken.entry(id).or_default() += count;
        }
        prop_assert!(taken.values().sum::<usize>() <= total);
        prop_assert!(taken.values().all(|count| *count <= each));
        let by_failing: usize = taken.iter().filter(|(id, _)| *id % 2 == 1).map(|(_, n)| n).sum();
        prop_assert!(by_failing <= failing);
    }

    #[test]
    fn an_endpoint_is_disabled_exactly_when_its_last_hundred_attempts_failed(
        failures_at_first in 0u32..100,
        results in prop::collection::vec(prop::bool::weighted(0.99), 0..250),
    ) {
        let mut endpoint = Endpoint { consecutive_failures: failures_at_first, ..endpoint() };
        let mut in_a_row = failures_at_first;
        for fails in results {
            let result = if fails { Err(DeliveryError::HttpStatus) } else { Ok(()) };
            let was_on = endpoint.power.is_on();
            let switched_off;
            (_, endpoint, switched_off) = recorded(&attempt(result, now()), &held(), &endpoint);
            in_a_row = if fails { in_a_row + 1 } else { 0 };
            prop_assert_eq!(switched_off, was_on && in_a_row == 100);
            prop_assert_eq!(endpoint.power.is_on(), was_on && in_a_row < 100);
            if was_on {
                prop_assert_eq!(endpoint.consecutive_failures, in_a_row);
            }
        }
    }
}

#[test]
fn a_due_delivery_of_a_disabled_endpoint_is_given_up_and_not_sent() {
    let off = Endpoint { power: Power::Off(DisabledReason::ByOwner), ..endpoint() };
    let DeliveryClaim::GiveUp(delivery) = settle_claim(waiting(), &off, lease(), now()) else {
        panic!("it was claimed");
    };
    assert_eq!(delivery.status, DeliveryStatus::GivenUp);
    assert_eq!(delivery.last_error, Some(DeliveryError::EndpointOff));
    let DeliveryClaim::Take(held, claimed) = settle_claim(waiting(), &endpoint(), lease(), now())
    else {
        panic!("it was given up");
    };
    assert_eq!((held.lease, claimed.token), (Some(lease().token), lease().token));
}

#[test]
fn a_delivery_sent_on_request_to_a_disabled_endpoint_leaves_its_count_of_failures() {
    let off = Endpoint {
        power: Power::Off(DisabledReason::Failures),
        consecutive_failures: 100,
        ..endpoint()
    };
    let (held, _) = claim(waiting(), &off, lease(), now());
    let AttemptVerdict::Record { endpoint, delivery, .. } =
        attempt(Ok(()), seconds(1)).settle(Some((&held, &off)))
    else {
        panic!("the lease was lost");
    };
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!(endpoint.consecutive_failures, 100);
}

#[test]
fn a_test_sent_again_on_request_is_neither_retried_nor_counted() {
    for (result, status) in [
        (Ok(()), DeliveryStatus::Delivered),
        (Err(DeliveryError::HttpStatus), DeliveryStatus::GivenUp),
    ] {
        let test = Delivery { event_type: EventType::WebhookTest, ..held() };
        let AttemptVerdict::Record { delivery, endpoint: after, switched_off } =
            attempt(result, seconds(1)).settle(Some((&test, &endpoint())))
        else {
            panic!("the lease was lost");
        };
        assert_eq!((delivery.status, delivery.next_attempt_at), (status, None));
        assert_eq!(after.consecutive_failures, endpoint().consecutive_failures);
        assert!(!switched_off);
    }
}

#[test]
fn a_test_that_was_received_once_stays_delivered_when_it_fails_later() {
    let taken_once =
        Delivery { event_type: EventType::WebhookTest, delivered_at: Some(seconds(-1)), ..held() };
    let AttemptVerdict::Record { delivery, .. } =
        attempt(Err(DeliveryError::Timeout), seconds(1)).settle(Some((&taken_once, &endpoint())))
    else {
        panic!("the lease was lost");
    };
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!(delivery.delivered_at, Some(seconds(-1)));
}
