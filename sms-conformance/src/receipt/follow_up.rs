//! Receipts that a simulated network owes: each is recorded once.

use sms_core::dispatch::FollowUp;
use sms_core::event::EventType;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::receipt::{ReceiptPlan, ReceiptStatus, Recorded};
use sms_core::route::{Comeback, Simulated};
use sms_core::upkeep::Due;

use crate::Rig;
use crate::rig::{all_recorded, seconds, taken_with};

fn owed(status: ReceiptStatus) -> Simulated {
    Simulated { after: seconds(2), what: Comeback::Receipt(status) }
}

fn plan(rig: &Rig, row: &FollowUp) -> ReceiptPlan {
    match row.what {
        Comeback::Receipt(status) => rig.receipt_for(row.message, status, row.id),
        Comeback::Reply(_) => panic!("no answer is owed"),
    }
}

scenarios! { Receipt;
    /// A receipt that is owed is recorded once; the second time it was done already, and nothing is
    /// written.
    async fn a_receipt_that_is_owed_is_recorded_once(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_brings(&account, 1, [owed(ReceiptStatus::Delivered)]).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.advance(seconds(2));
        let due = rig.follow_ups().await;
        assert_eq!(due.len(), 1);
        let recorded = rig.record_receipt(plan(rig, &due[0])).await;
        assert!(matches!(recorded, Recorded::Changed(_)), "{recorded:?}");
        assert_eq!(rig.follow_ups().await, []);
        assert_eq!(rig.store().next(Due::FollowUps).await.expect("read"), None);
        assert_eq!(rig.record_receipt(plan(rig, &due[0])).await, Recorded::AlreadyDone);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 1);
    }

    /// A receipt that was done already writes nothing, not even where it would change the message.
    async fn a_receipt_that_was_done_already_writes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.message_that_left(&account, 1).await;
        let gone = rig.receipt_for(message.id, ReceiptStatus::Delivered, rig.id());
        assert_eq!(rig.record_receipt(gone).await, Recorded::AlreadyDone);
        assert_eq!(rig.message(&account, message.id).await, message);
    }

    /// A receipt that is owed and changes nothing is no longer owed.
    async fn a_late_receipt_that_is_owed_is_done_with(rig: &Rig) {
        let account = rig.account(10).await;
        let absent = ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber);
        let message = rig.message_that_brings(&account, 1, [owed(absent)]).await;
        rig.deliver(message.id).await;
        rig.advance(seconds(2));
        let due = rig.follow_ups().await;
        let recorded = rig.record_receipt(plan(rig, &due[0])).await;
        assert!(matches!(recorded, Recorded::Unchanged(_)), "{recorded:?}");
        assert_eq!(rig.follow_ups().await, []);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Delivered);
    }

    /// Of two receipts owed for one message each is recorded separately.
    async fn each_of_two_receipts_is_recorded_by_itself(rig: &Rig) {
        let account = rig.account(10).await;
        let twice = [owed(ReceiptStatus::Delivered), owed(ReceiptStatus::Delivered)];
        rig.message_that_brings(&account, 1, twice).await;
        rig.advance(seconds(2));
        let due = rig.follow_ups().await;
        assert_eq!(due.len(), 2);
        let plans = vec![plan(rig, &due[0]), plan(rig, &due[0]), plan(rig, &due[1])];
        let recorded = rig.record_receipts(plans).await;
        assert!(matches!(recorded[0], Recorded::Changed(_)));
        assert_eq!(recorded[1], Recorded::AlreadyDone);
        assert!(matches!(recorded[2], Recorded::Unchanged(_)));
        assert_eq!(rig.follow_ups().await, []);
    }

    /// Many record the same owed receipts at once: each is recorded by one.
    async fn racing_recorders_of_an_owed_receipt_do_it_once(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &crate::rig::request(1..=10)).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &taken_with([owed(ReceiptStatus::Delivered)])).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        rig.advance(seconds(2));
        let due = rig.follow_ups().await;
        assert_eq!(due.len(), 10);
        let calls: Vec<Vec<ReceiptPlan>> = (0..6)
            .map(|n| {
                let mut plans: Vec<_> = due.iter().map(|row| plan(rig, row)).collect();
                plans.rotate_left(n);
                plans
            })
            .collect();
        let recorded = rig.race_each(calls, |store, plans| async move {
            all_recorded(store.receipts_record(plans).await)
        });
        let count = |wanted: fn(&Recorded) -> bool| {
            recorded.iter().flatten().filter(|one| wanted(one)).count()
        };
        assert_eq!(count(|one| matches!(one, Recorded::Changed(_))), 10);
        assert_eq!(count(|one| matches!(one, Recorded::AlreadyDone)), 50);
        assert_eq!(rig.deliveries(&endpoint).await.len(), 10);
    }
}
