//! Messages that a route turned away for now.

use sms_core::account::AccountStatus;
use sms_core::dispatch::{LEASE, OutcomeRecorded, retry_delay};
use sms_core::event::EventType;
use sms_core::message::{ErrorCode, MessageStatus};

use crate::Rig;
use crate::rig::{days, millis, refused, request, seconds, taken, try_later};

scenarios! { Dispatch;
    /// A message that was turned away stays `sending`, keeps its credits, notifies no endpoint, and
    /// is tried again after a while, and then a longer one, each time as the next attempt.
    async fn a_message_turned_away_is_tried_again_after_a_while(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        for attempt in 0..3 {
            let delay = retry_delay(attempt);
            let hand = rig.claim_all().await;
            assert_eq!((hand.ids(), hand.messages[0].attempt), (vec![message.id], attempt));
            rig.advance(millis(7));
            let recorded = rig.record(message.id, hand.token, try_later()).await;
            assert_eq!(recorded, OutcomeRecorded::Retry);
            assert_eq!(rig.status(&account, message.id).await, MessageStatus::Sending);
            assert_eq!(rig.next_dispatch().await, Some(rig.now().plus(delay)));
            rig.advance(delay - millis(1));
            assert_eq!(rig.claim_all().await.messages, []);
            rig.advance(millis(1));
        }
        assert_eq!((rig.balance(&account).await, rig.deliveries(&endpoint).await), (9, vec![]));
        rig.leave_all().await;
        assert_eq!(rig.kinds(&endpoint).await, [EventType::MessageSent]);
    }

    /// The timeline shows a refused hand-over, with the reason.
    async fn the_timeline_tells_why_a_message_was_turned_away(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        let now = rig.advance(millis(7));
        rig.record(message.id, hand.token, try_later()).await;
        let (_, timeline) = rig.message_and_timeline(account.id, message.id).await;
        let note = &timeline[2];
        assert_eq!((timeline.len(), note.status, note.at), (3, MessageStatus::Sending, now));
        assert!(note.detail.as_deref().is_some_and(|detail| detail.contains("throttled")));
    }

    /// The lease is given back with the message: an outcome under it is late.
    async fn a_message_turned_away_is_no_longer_its_workers(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        rig.record(message.id, hand.token, try_later()).await;
        let recorded = rig.record(message.id, hand.token, taken()).await;
        assert_eq!(recorded, OutcomeRecorded::LeaseLost);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Sending);
    }

    /// A message that is turned away for as long as it is valid fails as expired when it no longer
    /// is, and is refunded.
    async fn a_message_turned_away_for_ever_expires(rig: &Rig) {
        let account = rig.account(10).await;
        let mut plan = rig.plan(&account, &request([1]));
        plan.expires_at = plan.at.plus(seconds(60));
        let (expires_at, id) = (plan.expires_at, plan.messages[0].id);
        rig.accept(plan).await.expect("accepted");
        let mut attempts = 0;
        loop {
            let hand = rig.claim_all().await;
            if hand.failed > 0 {
                assert_eq!(hand.messages, []);
                break;
            }
            assert_eq!(rig.record(id, hand.token, try_later()).await, OutcomeRecorded::Retry);
            let due = rig.now().plus(retry_delay(attempts)).min(expires_at);
            assert_eq!(rig.next_dispatch().await, Some(due));
            rig.advance_to(due);
            attempts += 1;
        }
        assert!(attempts > 2);
        assert_eq!(rig.now(), expires_at);
        let failed = rig.message(&account, id).await;
        assert_eq!(
            (failed.status, failed.error),
            (MessageStatus::Failed, Some(ErrorCode::Expired))
        );
        assert_eq!((rig.balance(&account).await, rig.next_dispatch().await), (10, None));
    }

    /// What changed while a message waited for its retry is respected.
    async fn a_message_that_waits_to_be_tried_again_can_still_fail(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let to_a_stranger = rig.text(&account, 1).await;
        let of_a_suspect = rig.text(&other, 2).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &try_later()).await;
        rig.opt_out(&account, 1).await;
        rig.set_status(&other, AccountStatus::Suspended).await;
        rig.advance(retry_delay(0));
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages, hand.failed), (Vec::new(), 2));
        let error = async |account, id| rig.message(account, id).await.error;
        assert_eq!(error(&account, to_a_stranger.id).await, Some(ErrorCode::OptedOut));
        assert_eq!(error(&other, of_a_suspect.id).await, Some(ErrorCode::AccountSuspended));
        assert_eq!((rig.balance(&account).await, rig.balance(&other).await), (10, 10));
    }

    /// A message keeps its attempts when the worker that has it dies.
    async fn attempts_outlive_a_worker(rig: &Rig) {
        let account = rig.account(10).await;
        rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &try_later()).await;
        rig.advance(retry_delay(0));
        assert_eq!(rig.claim_all().await.messages[0].attempt, 1);
        rig.advance(LEASE);
        let hand = rig.claim_all().await;
        assert_eq!(hand.messages[0].attempt, 1);
        rig.finish(&hand, &refused()).await;
        rig.advance(days(2));
        assert_eq!(rig.claim_all().await.messages, []);
        assert_eq!(rig.balance(&account).await, 9, "the worker that died may have sent it");
    }
}
