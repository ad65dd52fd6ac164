//! What a receipt changes.

use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, Message, MessageStatus};
use sms_core::receipt::{ReceiptStatus, Recorded};

use crate::Rig;
use crate::rig::{event_of, millis, person};

/// The message as a receipt changed it.
fn changed(recorded: Recorded) -> Message {
    match recorded {
        Recorded::Changed(message) => message,
        other => panic!("expected a change, not {other:?}"),
    }
}

/// The message that a receipt left as it was.
fn unchanged(recorded: Recorded) -> Message {
    match recorded {
        Recorded::Unchanged(message) => message,
        other => panic!("expected no change, not {other:?}"),
    }
}

scenarios! { Receipt;
    /// A delivered message has the time of its delivery, and notifies the endpoints.
    async fn a_delivered_message_says_when_and_tells_the_endpoints(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let now = rig.advance(millis(5));
        let delivered = changed(rig.deliver(message.id).await);
        assert_eq!(delivered.status, MessageStatus::Delivered);
        assert_eq!(delivered.times.delivered_at, Some(now));
        assert_eq!(delivered.times.sent_at, message.times.sent_at);
        assert_eq!(rig.message(&account, message.id).await, delivered);
        let deliveries = rig.deliveries(&endpoint).await;
        assert_eq!((deliveries.len(), deliveries[0].event_type), (1, EventType::MessageDelivered));
        let event = event_of(&deliveries[0].body);
        assert_eq!(event["data"], serde_json::to_value(&delivered).expect("a text is JSON"));
    }

    /// An undelivered message has the reason, is not refunded, and notifies the endpoints.
    async fn an_undelivered_message_says_why_and_is_not_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let now = rig.advance(millis(5));
        let undelivered = changed(rig.undeliver(message.id).await);
        assert_eq!(undelivered.status, MessageStatus::Undelivered);
        assert_eq!(undelivered.error, Some(ErrorCode::AbsentSubscriber));
        assert_eq!(undelivered.times.failed_at, Some(now));
        let (kept, timeline) = rig.message_and_timeline(account.id, message.id).await;
        assert_eq!(kept, undelivered);
        assert!(timeline.last().is_some_and(|line| line.detail.is_some()));
        assert_eq!(rig.kinds(&endpoint).await, [EventType::MessageFailed]);
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (9, 2));
    }

    /// A message reported undelivered and then delivered was delivered: error and failure are gone.
    async fn delivered_wins_over_an_earlier_undelivered(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.undeliver(message.id).await;
        let now = rig.advance(millis(5));
        let delivered = changed(rig.deliver(message.id).await);
        assert_eq!(delivered.status, MessageStatus::Delivered);
        assert_eq!((delivered.error, delivered.times.failed_at), (None, None));
        assert_eq!(delivered.times.delivered_at, Some(now));
        assert_eq!(rig.message(&account, message.id).await, delivered);
        let statuses = rig.statuses(&account, message.id).await;
        assert_eq!(statuses[3..], [MessageStatus::Undelivered, MessageStatus::Delivered]);
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageFailed, EventType::MessageDelivered]);
    }

    /// A message that was delivered stays delivered, whatever a later receipt says.
    async fn a_delivered_message_stays_delivered(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let delivered = changed(rig.deliver(message.id).await);
        rig.advance(millis(5));
        assert_eq!(unchanged(rig.undeliver(message.id).await), delivered);
        assert_eq!(unchanged(rig.deliver(message.id).await), delivered);
        let (kept, timeline) = rig.message_and_timeline(account.id, message.id).await;
        assert_eq!((kept, timeline.len()), (delivered, 4));
    }

    /// A receipt that comes twice changes a message once and notifies the endpoints once.
    async fn a_repeated_receipt_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        changed(rig.undeliver(message.id).await);
        let before = rig.message_and_timeline(account.id, message.id).await;
        rig.advance(millis(5));
        unchanged(rig.undeliver(message.id).await);
        assert_eq!(rig.message_and_timeline(account.id, message.id).await, before);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }

    /// A receipt for a message that is still in a worker's hands proves that it left: it goes
    /// through `sent`, and its place in the queue is gone.
    async fn a_receipt_proves_that_a_message_left(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        rig.claim_all().await;
        let now = rig.advance(millis(5));
        let undelivered = changed(rig.undeliver(message.id).await);
        assert_eq!(undelivered.status, MessageStatus::Undelivered);
        assert_eq!(undelivered.times.sent_at, Some(now));
        assert_eq!(
            rig.statuses(&account, message.id).await,
            [
                MessageStatus::Queued,
                MessageStatus::Sending,
                MessageStatus::Sent,
                MessageStatus::Undelivered,
            ]
        );
        let kinds = rig.kinds(&endpoint).await;
        assert_eq!(kinds, [EventType::MessageSent, EventType::MessageFailed]);
        assert_eq!(rig.next_dispatch().await, None);
        rig.advance(millis(60_000));
        assert_eq!(rig.claim_all().await.messages, []);
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// Receipts of one call are recorded in the order given, each against what the ones before it
    /// left, and unknown messages are answered as such.
    async fn receipts_of_one_call_are_recorded_in_turn(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let other = rig.message_that_left(&account, 2).await;
        let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
        let unknown: MessageId = rig.id();
        let plans = vec![
            rig.receipt(message.id, absent),
            rig.receipt(unknown, ReceiptStatus::Delivered),
            rig.receipt(message.id, ReceiptStatus::Delivered),
            rig.receipt(other.id, absent),
            rig.receipt(message.id, absent),
        ];
        let recorded = rig.record_receipts(plans).await;
        let status = |recorded: &Recorded| match recorded {
            Recorded::Changed(message) => (true, Some(message.status)),
            Recorded::Unchanged(message) => (false, Some(message.status)),
            Recorded::NoSuchMessage | Recorded::AlreadyDone => (false, None),
        };
        let seen: Vec<_> = recorded.iter().map(status).collect();
        assert_eq!(
            seen,
            [
                (true, Some(MessageStatus::Undelivered)),
                (false, None),
                (true, Some(MessageStatus::Delivered)),
                (true, Some(MessageStatus::Undelivered)),
                (false, Some(MessageStatus::Delivered)),
            ]
        );
        assert_eq!(recorded[1], Recorded::NoSuchMessage);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
        assert_eq!(rig.record_receipts(Vec::new()).await, []);
    }

    /// Two hundred receipts in one call, of two accounts, are each recorded.
    async fn two_hundred_receipts_are_recorded_in_one_call(rig: &Rig) {
        let (one, two) = (rig.account(100).await, rig.account(100).await);
        let people = || crate::rig::request(1..=100);
        let (first, second) = (rig.send(&one, &people()).await, rig.send(&two, &people()).await);
        rig.leave_all().await;
        let plans: Vec<_> = first
            .messages
            .iter()
            .zip(&second.messages)
            .flat_map(|(first, second)| [first, second])
            .map(|message| rig.receipt(message.id, ReceiptStatus::Delivered))
            .collect();
        let expected: Vec<MessageId> = plans.iter().map(|plan| plan.receipt.message).collect();
        let recorded = rig.record_receipts(plans).await;
        let seen: Vec<MessageId> = recorded.into_iter().map(|one| changed(one).id).collect();
        assert_eq!(seen, expected);
        assert_eq!(rig.status(&two, expected[199]).await, MessageStatus::Delivered);
    }

    /// A receipt for a message that came in changes nothing.
    async fn a_receipt_for_a_received_message_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let message = rig.inbound_routed(1, number.phone, "Hello").await;
        assert_eq!(unchanged(rig.deliver(message.id).await), message);
    }
}
