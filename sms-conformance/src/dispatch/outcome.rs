//! The outcome of a submission.

use sms_core::credits::ledger::{Cause, Kind};
use sms_core::dispatch::{OutcomeRecorded, retry_delay};
use sms_core::event::EventType;
use sms_core::message::{Body, ErrorCode, MessageStatus};
use sms_core::receipt::ReceiptStatus;
use sms_core::route::{Comeback, HandOver, Simulated};
use sms_core::upkeep::Due;

use crate::Rig;
use crate::rig::{
    event_of, millis, refused, request, request_with_body, seconds, taken, taken_with, try_later,
};

const SENT: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Sent);
const FAILED: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Failed);

scenarios! { Dispatch;
    /// A message that a route took is `sent`, leaves the queue, and notifies the endpoints.
    async fn a_message_that_left_is_sent_and_tells_the_endpoints(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        let now = rig.advance(millis(5));
        assert_eq!(rig.record(message.id, hand.token, taken()).await, SENT);
        let sent = rig.message(&account, message.id).await;
        assert_eq!((sent.status, sent.times.sent_at), (MessageStatus::Sent, Some(now)));
        assert_eq!(rig.next_dispatch().await, None);
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!((deliveries.len(), deliveries[0].event_type), (1, EventType::MessageSent));
        let event = event_of(&deliveries[0].body);
        assert_eq!(event["type"], "message.sent");
        assert_eq!(event["data"], serde_json::to_value(&sent).expect("a text is JSON"));
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (9, 2));
    }

    /// A message that the network refuses fails, is refunded in full, and notifies the endpoints
    /// why.
    async fn a_refused_message_fails_and_is_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let request = request_with_body([1], "a".repeat(161));
        let sent = rig.send(&account, &request).await;
        let message = &sent.messages[0];
        let hand = rig.claim_all().await;
        let error = ErrorCode::UnknownSubscriber;
        let refused = HandOver::Refused { error, detail: Some("error 11".to_owned()) };
        let now = rig.advance(millis(5));
        assert_eq!(rig.record(message.id, hand.token, refused).await, FAILED);
        let (failed, timeline) = rig.message_and_timeline(account.id, message.id).await;
        assert_eq!((failed.status, failed.error), (MessageStatus::Failed, Some(error)));
        assert_eq!((failed.times.failed_at, failed.times.sent_at), (Some(now), None));
        assert_eq!(timeline[2].detail.as_deref(), Some("error 11"));
        assert_eq!(rig.ledger_lines(&account).await[0], (Kind::Refund, 2, 10));
        let entry = rig.ledger(account.id).await.remove(0);
        let batch = Some(sent.batch);
        assert_eq!(entry.cause, Cause::Refund { message: message.id, batch, campaign: None });
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!((deliveries.len(), deliveries[0].event_type), (1, EventType::MessageFailed));
        let event = event_of(&deliveries[0].body);
        assert_eq!(event["data"], serde_json::to_value(&failed).expect("a text is JSON"));
    }

    /// A test message that fails is not refunded.
    async fn a_test_message_that_fails_refunds_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send_test(&account, &request([1])).await;
        rig.advance(seconds(1));
        let hand = rig.claim_all().await;
        assert_eq!(rig.finish(&hand, &refused()).await, [FAILED]);
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (10, 1));
    }

    /// An outcome recorded twice, in one call or in two, counts once.
    async fn an_outcome_recorded_twice_counts_once(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.send(&account, &request([1, 2])).await;
        let hand = rig.claim_all().await;
        let echo = Simulated { after: seconds(3), what: Comeback::Reply(Body::new("Hello")) };
        let left = rig.outcome(hand.messages[0].message, hand.token, taken_with(vec![echo]));
        let failed = rig.outcome(hand.messages[1].message, hand.token, refused());
        let plans = vec![left.clone(), failed.clone(), left.clone(), failed.clone()];
        let lost = OutcomeRecorded::LeaseLost;
        assert_eq!(rig.record_all(plans).await, [SENT, FAILED, lost, lost]);
        assert_eq!(rig.record_all(vec![failed, left]).await, [lost, lost]);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 2);
        assert_eq!(rig.balance(&account).await, 9);
        rig.advance(seconds(3));
        assert_eq!(rig.follow_ups().await.len(), 1);
    }

    /// Outcomes of many messages in one call are answered in the order given, unknown ones
    /// included.
    async fn outcomes_are_answered_in_the_order_given(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request([1, 2, 3])).await;
        let hand = rig.claim_all().await;
        let of =
            |at: usize, result| rig.outcome(hand.messages[at].message, hand.token, result);
        let unknown = rig.outcome(rig.id(), hand.token, taken());
        let foreign = rig.outcome(hand.messages[0].message, rig.token(), taken());
        let plans = vec![of(2, refused()), unknown, of(1, try_later()), foreign, of(0, taken())];
        let lost = OutcomeRecorded::LeaseLost;
        let expected = [FAILED, lost, OutcomeRecorded::Retry, lost, SENT];
        assert_eq!(rig.record_all(plans).await, expected);
        assert_eq!(rig.record_all(Vec::new()).await, []);
    }

    /// Five hundred outcomes in one call, refunds of two accounts among them, are each recorded.
    async fn five_hundred_outcomes_are_recorded_in_one_call(rig: &Rig) {
        let (one, two) = (rig.account(300).await, rig.account(200).await);
        rig.send(&one, &request(1..=300)).await;
        rig.send(&two, &request(1..=200)).await;
        let hand = rig.claim_all().await;
        let results = [taken(), refused(), try_later(), refused()];
        let plans: Vec<_> = hand
            .messages
            .iter()
            .zip(results.iter().cycle())
            .map(|(text, result)| rig.outcome(text.message, hand.token, result.clone()))
            .collect();
        let expected = [SENT, FAILED, OutcomeRecorded::Retry, FAILED];
        let recorded = rig.record_all(plans).await;
        assert!(recorded.iter().eq(expected.iter().cycle().take(500)));
        assert_eq!((rig.balance(&one).await, rig.balance(&two).await), (150, 100));
        rig.advance(retry_delay(0));
        assert_eq!(rig.claim_all().await.messages.len(), 125);
    }

    /// What a simulated network owes is due at its time, earliest first, in portions no larger than
    /// asked for, and stays until it is recorded.
    async fn what_a_simulated_network_owes_is_due_at_its_time(rig: &Rig) {
        let account = rig.account(10).await;
        let reply =
            Simulated { after: seconds(3), what: Comeback::Reply(Body::new("Échο 🐦")) };
        let delivered = Comeback::Receipt(ReceiptStatus::Delivered);
        let receipt = Simulated { after: seconds(2), what: delivered };
        let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
        let other = Simulated { after: seconds(4), what: Comeback::Receipt(absent) };
        let owed = vec![reply.clone(), receipt.clone(), other.clone()];
        assert_eq!(rig.store().next(Due::FollowUps).await.expect("read"), None);
        let message = rig.message_that_brings(&account, 1, owed).await;
        let left_at = rig.now();
        let next = rig.store().next(Due::FollowUps).await.expect("read");
        assert_eq!(next, Some(left_at.plus(seconds(2))));
        rig.advance(seconds(2) - millis(1));
        assert_eq!(rig.follow_ups().await, []);
        rig.advance(seconds(2) + millis(1));
        let due = rig.follow_ups().await;
        assert_eq!(rig.follow_ups().await, due, "it stays until it is recorded");
        let first = rig.store().follow_ups_due(rig.now(), 1).await.expect("read");
        assert_eq!(first, due[..1]);
        let seen: Vec<_> = due.iter().map(|row| (row.due_at, row.what.clone())).collect();
        let expected = [receipt, reply, other].map(|one| (left_at.plus(one.after), one.what));
        assert_eq!(seen, expected);
        let row = &due[0];
        assert_eq!((row.message, row.number, row.person), (message.id, message.from, message.to));
        assert_eq!(row.route, message.route);
    }

    /// A receipt that overtakes the outcome settles the message: it was sent and delivered, and a
    /// later outcome changes nothing.
    async fn a_receipt_before_the_outcome_settles_the_message(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        rig.deliver(message.id).await;
        assert_eq!(rig.next_dispatch().await, None);
        for result in [taken(), refused(), try_later()] {
            let recorded = rig.record(message.id, hand.token, result).await;
            assert_eq!(recorded, OutcomeRecorded::LeaseLost);
        }
        assert_eq!(
            rig.statuses(&account, message.id).await,
            [
                MessageStatus::Queued,
                MessageStatus::Sending,
                MessageStatus::Sent,
                MessageStatus::Delivered,
            ]
        );
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageSent, EventType::MessageDelivered]);
        assert_eq!(rig.balance(&account).await, 9);
    }
}
