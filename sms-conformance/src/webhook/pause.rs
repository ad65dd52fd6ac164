//! Endpoints that ask for a pause.

use sms_core::event::EventType;
use sms_core::ids::EndpointId;
use sms_core::upkeep::Due;
use sms_core::webhook::attempt::{ClaimedDelivery, Room};
use sms_core::webhook::delivery::DeliveryStatus;
use sms_core::webhook::endpoint::{DisabledReason, Power};
use sms_core::webhook::pause::Pause;

use crate::Rig;
use crate::rig::{millis, minutes, person, seconds};

/// The endpoint of each claimed delivery.
fn endpoints(claimed: &[ClaimedDelivery]) -> Vec<EndpointId> {
    claimed.iter().map(|claimed| claimed.endpoint).collect()
}

scenarios! { Webhook;
    /// Nothing of an endpoint that asked for a pause is claimed until the pause ends, by any
    /// server; other endpoints do not wait for it.
    async fn nothing_is_claimed_of_a_paused_endpoint(rig: &Rig) {
        let next = async || rig.store().next(Due::Deliveries).await.expect("read");
        let (_, paused) = rig.listener(person(901)).await;
        let (_, other) = rig.listener(person(902)).await;
        rig.raise(person(901), 1).await;
        let asking = rig.claim_any(10).await;
        rig.raise(person(901), 3).await;
        let begin = rig.now();
        rig.ask_for_pause(&asking, seconds(90)).await;
        let pause = Pause { since: begin, until: begin.plus(seconds(90)) };
        let now = rig.endpoint_now(&paused).await;
        assert_eq!((now.pause, now.consecutive_failures), (Some(pause), 1));
        let retried = rig.delivery(&paused, asking[0].request.delivery).await;
        assert_eq!((retried.status, retried.attempts), (DeliveryStatus::Pending, 1));
        assert_eq!(retried.next_attempt_at, Some(pause.until));
        assert_eq!(next().await, Some(pause.until));
        rig.raise(person(902), 1).await;
        assert_eq!(next().await, Some(begin));
        assert_eq!(endpoints(&rig.claim_any(10).await), [other.id]);
        rig.advance(seconds(90) - millis(1));
        let room = Room { failing: 10, ..Room::any(10) };
        assert!(!endpoints(&rig.claim_deliveries(room).await).contains(&paused.id));
        rig.advance(millis(1));
        let claimed = rig.claim_any(10).await;
        assert_eq!(claimed.iter().filter(|claimed| claimed.endpoint == paused.id).count(), 4);
    }

    /// Attempts that were in flight when the pause began lengthen it and add no failure, whether
    /// they are recorded in one call or later.
    async fn attempts_side_by_side_are_one_pause(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 20).await;
        let in_flight = rig.claim_any(20).await;
        let begin = rig.now();
        rig.ask_for_pause(&in_flight[..10], seconds(10)).await;
        rig.advance(seconds(1));
        rig.ask_for_pause(&in_flight[10..], seconds(10)).await;
        let after = rig.endpoint_now(&endpoint).await;
        let pause = Pause { since: begin, until: begin.plus(seconds(11)) };
        assert_eq!((after.pause, after.consecutive_failures), (Some(pause), 1));
        let deliveries = rig.deliveries(&endpoint).await;
        assert!(deliveries.iter().all(|delivery| delivery.attempts == 1));
    }

    /// Each pause counts as one failure, however many deliveries wait: the hundredth in a row
    /// switches the endpoint off.
    async fn the_hundredth_pause_in_a_row_switches_off(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 120).await;
        for n in 1..=100 {
            let before = rig.endpoint_now(&endpoint).await;
            assert_eq!((before.power, before.consecutive_failures), (Power::On, n - 1));
            let claimed = rig.claim_any(2).await;
            rig.ask_for_pause(&claimed, seconds(1)).await;
            rig.advance(seconds(1));
        }
        let off = rig.endpoint_now(&endpoint).await;
        assert_eq!(off.power, Power::Off(DisabledReason::Failures));
        rig.advance(minutes(10_000));
        assert_eq!(rig.claim_any(200).await, []);
    }

    /// Switching an endpoint on ends its pause.
    async fn switching_on_ends_a_pause(rig: &Rig) {
        let (_, endpoint) = rig.listener(person(900)).await;
        rig.raise(person(900), 1).await;
        let claimed = rig.claim_any(1).await;
        rig.ask_for_pause(&claimed, seconds(300)).await;
        rig.switch(&endpoint, Power::Off(DisabledReason::ByOwner)).await;
        assert_eq!(rig.switch(&endpoint, Power::On).await.pause, None);
        rig.raise(person(900), 1).await;
        assert_eq!(rig.claim_any(10).await.len(), 1);
    }

    /// The backlog of a paused endpoint hides neither another's delivery nor when that is due.
    async fn the_backlog_of_a_paused_endpoint_hides_no_other(rig: &Rig) {
        let (_, paused) = rig.listener(person(901)).await;
        let (_, other) = rig.listener(person(902)).await;
        rig.raise(person(901), 121).await;
        let one = rig.claim_any(1).await;
        rig.ask_for_pause(&one, minutes(5)).await;
        rig.advance(millis(1));
        rig.raise(person(902), 1).await;
        let failing = rig.claim_any(10).await;
        assert_eq!(endpoints(&failing), [other.id]);
        rig.fail(&failing).await;
        let due = rig.now().plus(minutes(1));
        assert_eq!(rig.store().next(Due::Deliveries).await.expect("read"), Some(due));
        let another = rig.endpoint(&rig.account(0).await, &[EventType::MessageSent]).await;
        assert_eq!(another.pause, None);
        rig.advance(minutes(1));
        assert_eq!(endpoints(&rig.claim_any(10).await), [other.id]);
        rig.advance(minutes(4));
        assert!(endpoints(&rig.claim_any(200).await).contains(&paused.id));
    }
}
