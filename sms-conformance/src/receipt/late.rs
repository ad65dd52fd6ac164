//! Receipts that come too early, too late, or many at once.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::change::cancel::CancelPlan;
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::receipt::{ReceiptPlan, ReceiptStatus, Recorded};

use crate::Rig;
use crate::rig::{all_recorded, days, refused, request, taken};

scenarios! { Receipt;
    /// Receipts that many bring at once, each in a separate call, are each recorded, whatever else
    /// comes with them.
    async fn receipts_brought_one_by_one_at_once_are_each_recorded(rig: &Rig) {
        let account = rig.account(100).await;
        let endpoint = rig.endpoint(&account, &[EventType::MessageDelivered]).await;
        let sent = rig.send(&account, &request(1..=40)).await;
        rig.leave_all().await;
        let known = sent.messages.iter().map(|message| message.id);
        let unknown: Vec<MessageId> = (0..10).map(|_| rig.id()).collect();
        let plans: Vec<ReceiptPlan> = known
            .chain(unknown)
            .map(|message| rig.receipt(message, ReceiptStatus::Delivered))
            .collect();
        let recorded = rig.race_each(plans, |store, plan| async move {
            all_recorded(store.receipts_record(vec![plan]).await).remove(0)
        });
        assert!(recorded[..40].iter().all(|one| matches!(one, Recorded::Changed(_))));
        assert!(recorded[40..].iter().all(|one| *one == Recorded::NoSuchMessage));
        assert_eq!(rig.deliveries(&endpoint).await.len(), 40);
        assert_eq!(all_recorded(rig.store().receipts_record(Vec::new()).await), []);
    }

    /// A receipt for a message that is unknown is answered as such, and writes nothing.
    async fn a_receipt_for_an_unknown_message_is_answered_as_such(rig: &Rig) {
        assert_eq!(rig.deliver(rig.id()).await, Recorded::NoSuchMessage);
        assert_eq!(rig.undeliver(rig.id()).await, Recorded::NoSuchMessage);
    }

    /// A receipt for a message that has not been claimed yet changes nothing: the message still
    /// leaves.
    async fn a_receipt_for_a_message_that_waits_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let queued = rig.text(&account, 1).await;
        let later = request([2]).schedule_at(rig.now().plus(days(1)));
        let scheduled = rig.send(&account, &later).await.messages.remove(0);
        for message in [queued, scheduled] {
            for recorded in [rig.deliver(message.id).await, rig.undeliver(message.id).await] {
                assert_eq!(recorded, Recorded::Unchanged(message.clone()));
            }
            assert_eq!(rig.message(&account, message.id).await, message);
        }
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A receipt for a message that failed or was cancelled changes nothing: its refund stays.
    async fn a_receipt_for_a_message_that_never_left_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let failed = rig.text(&account, 1).await.id;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &refused()).await;
        let cancelled = rig.text(&account, 2).await.id;
        let plan =
            CancelPlan { account: account.id, message: cancelled, at: rig.now(), ids: rig.ids() };
        rig.store().message_cancel(plan).await.expect("cancelled");
        for id in [failed, cancelled] {
            let before = rig.message(&account, id).await;
            for recorded in [rig.deliver(id).await, rig.undeliver(id).await] {
                assert_eq!(recorded, Recorded::Unchanged(before.clone()));
            }
        }
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// Copies of one receipt race: one changes the message, and the endpoints hear of it once.
    async fn of_racing_copies_of_a_receipt_one_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let copies = (0..10).map(|_| rig.receipt(message.id, ReceiptStatus::Delivered));
        let recorded = rig.race_each(copies.collect::<Vec<_>>(), |store, plan| async move {
            all_recorded(store.receipts_record(vec![plan]).await).remove(0)
        });
        let changed = |recorded: &&Recorded| matches!(recorded, Recorded::Changed(_));
        assert_eq!(recorded.iter().filter(changed).count(), 1);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }

    /// Contradicting receipts race: whatever their order, the message was delivered.
    async fn of_racing_receipts_delivered_wins(rig: &Rig) {
        let account = rig.account(10).await;
        let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
        for _ in 0..5 {
            let message = rig.message_that_left(&account, 1).await;
            let statuses = [absent, ReceiptStatus::Delivered, absent, absent];
            let plans = statuses.map(|status| rig.receipt(message.id, status));
            rig.race_each(plans, |store, plan| async move {
                all_recorded(store.receipts_record(vec![plan]).await)
            });
            assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
        }
    }

    /// Receipts race with the outcomes of the same messages: every message ends delivered, and each
    /// event is raised once, the one of its leaving first.
    async fn receipts_that_race_with_outcomes_lose_nothing(rig: &Rig) {
        let account = rig.account(20).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let sent = rig.send(&account, &request(1..=20)).await;
        let hand = rig.claim_all().await;
        let ids: Vec<MessageId> = sent.messages.iter().map(|message| message.id).collect();
        let mut futures: Vec<BoxFuture<'static, ()>> = Vec::new();
        for chunk in ids.chunks(4) {
            let outcomes = chunk.iter().map(|id| rig.outcome(*id, hand.token, taken())).collect();
            let delivered = |id: &MessageId| rig.receipt(*id, ReceiptStatus::Delivered);
            let receipts = chunk.iter().rev().map(delivered).collect();
            let (store, other) = (rig.store().clone(), rig.store().clone());
            let record =
                async move { drop(store.dispatch_record(outcomes).await.expect("recorded")) };
            let receive =
                async move { drop(all_recorded(other.receipts_record(receipts).await)) };
            futures.extend([record.boxed(), receive.boxed()]);
        }
        rig.race(futures);
        for id in &ids {
            assert_eq!(
                rig.statuses(&account, *id).await,
                [
                    MessageStatus::Queued,
                    MessageStatus::Sending,
                    MessageStatus::Sent,
                    MessageStatus::Delivered,
                ]
            );
        }
        let kinds = rig.kinds(&endpoint).await;
        let count = |kind| kinds.iter().filter(|one| **one == kind).count();
        assert_eq!(count(EventType::MessageSent), 20);
        assert_eq!((count(EventType::MessageDelivered), kinds.len()), (20, 40));
    }
}
