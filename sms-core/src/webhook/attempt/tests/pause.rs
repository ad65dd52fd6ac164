//! Endpoints that ask for a pause.

use super::*;
use crate::webhook::pause::Pause;

/// A 429 that asks for this many seconds.
fn too_many(retry_after: u64, began: Timestamp, at: Timestamp) -> AttemptPlan {
    AttemptPlan {
        status_code: Some(429),
        retry_after: Some(Duration::from_secs(retry_after)),
        began,
        ..attempt(Err(DeliveryError::HttpStatus), at)
    }
}

fn a_pause(since: i64, until: i64) -> Pause {
    Pause { since: seconds(since), until: seconds(until) }
}

#[test]
fn a_429_pauses_the_endpoint_and_counts_as_one_failure() {
    let (delivery, after, switched_off) =
        recorded(&too_many(120, now(), now()), &held(), &endpoint());
    let expected = Endpoint { consecutive_failures: 1, pause: Some(a_pause(0, 120)), ..endpoint() };
    assert_eq!((after, switched_off), (expected, false));
    assert_eq!((delivery.attempts, delivery.status), (1, DeliveryStatus::Pending));
    assert_eq!(delivery.last_status_code, Some(429));
    assert_eq!(delivery.last_error, Some(DeliveryError::HttpStatus));
}

#[test]
fn a_retry_follows_after_the_pause_or_its_own_delay_whichever_is_later() {
    for (attempts, retry_after, next) in
        [(0, 1, 60), (0, 59, 60), (0, 61, 61), (0, 9_999, 300), (1, 299, 300)]
    {
        let held = Delivery { attempts, ..held() };
        let (delivery, ..) = recorded(&too_many(retry_after, now(), now()), &held, &endpoint());
        assert_eq!(delivery.next_attempt_at, Some(seconds(next)), "{retry_after} s");
    }
    // The seventh attempt is the last, pause or not.
    let (delivery, ..) =
        recorded(&too_many(60, now(), now()), &Delivery { attempts: 6, ..held() }, &endpoint());
    assert_eq!((delivery.status, delivery.next_attempt_at), (DeliveryStatus::GivenUp, None));
}

#[test]
fn attempts_in_flight_when_a_pause_began_add_no_failure() {
    let mut endpoint = endpoint();
    for (began, at, failures, pause) in [
        (0, 1, 1, Some(a_pause(1, 11))),
        (0, 2, 1, Some(a_pause(1, 12))),
        (0, 30, 1, Some(a_pause(1, 40))),
        (40, 41, 2, Some(a_pause(41, 51))),
        (40, 45, 2, Some(a_pause(41, 55))),
    ] {
        let plan = too_many(10, seconds(began), seconds(at));
        (_, endpoint, _) = recorded(&plan, &held(), &endpoint);
        assert_eq!((endpoint.consecutive_failures, endpoint.pause), (failures, pause), "{at}");
    }
    // Another failure in a pause counts as ever.
    let failed = attempt(Err(DeliveryError::Timeout), seconds(46));
    (_, endpoint, _) = recorded(&failed, &held(), &endpoint);
    assert_eq!((endpoint.consecutive_failures, endpoint.pause), (3, Some(a_pause(41, 55))));
    // A success, too; the pause continues.
    (_, endpoint, _) = recorded(&attempt(Ok(()), seconds(47)), &held(), &endpoint);
    assert_eq!((endpoint.consecutive_failures, endpoint.pause), (0, Some(a_pause(41, 55))));
}

#[test]
fn the_hundredth_pause_in_a_row_disables_an_endpoint() {
    let mut endpoint = endpoint();
    for n in 1..=100 {
        assert!(endpoint.power.is_on());
        let at = seconds(n * 10);
        (_, endpoint, _) = recorded(&too_many(5, at, at), &held(), &endpoint);
    }
    assert_eq!(endpoint.power, Power::Off(DisabledReason::Failures));
    let at = seconds(9_000);
    let (_, after, _) = recorded(&too_many(5, at, at), &held(), &endpoint);
    assert_eq!(after, endpoint, "nothing is sent to it, so there is nothing to pause");
}

#[test]
fn an_answer_to_a_test_pauses_nothing() {
    let test = Delivery { event_type: EventType::WebhookTest, ..held() };
    let (_, after, _) = recorded(&too_many(5, now(), now()), &test, &endpoint());
    assert_eq!(after, endpoint());
}

#[test]
fn there_is_no_room_for_a_paused_endpoint_until_its_pause_ends() {
    let endpoint = Endpoint { pause: Some(a_pause(0, 5)), ..endpoint() };
    for (at, room) in [(0, 0), (4, 0), (5, 7), (6, 7)] {
        assert_eq!(Room::any(7).of(&endpoint, seconds(at)), room, "{at}");
    }
}
