//! How long a worker has what it claimed.

use sms_core::dispatch::{AGAIN_UNANSWERED, LEASE, OutcomeRecorded, retry_delay};
use sms_core::message::MessageStatus;
use sms_core::route::OutboundMessage;

use crate::Rig;
use crate::rig::{millis, refused, request, seconds, taken, try_later, unanswered};

scenarios! { Dispatch;
    /// What one worker has claimed, no other gets while the lease holds; when it expires, another
    /// gets it, as the same attempt, and the timeline says that it may be sent twice.
    async fn a_message_whose_lease_ran_out_is_claimed_again(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let first = rig.claim_all().await;
        rig.advance(LEASE - millis(1));
        assert_eq!(rig.claim_all().await.messages, []);
        rig.advance(millis(1));
        let second = rig.claim_all().await;
        let look = second.messages[0].look.clone();
        assert_ne!(look, first.messages[0].look, "it was looked at again");
        let looked_at = |one| OutboundMessage { look: look.clone(), ..one };
        let same = first.messages.into_iter().map(looked_at);
        assert_eq!(second.messages, same.collect::<Vec<_>>());
        assert_eq!(second.messages[0].attempt, 0);
        let timeline = rig.timeline(&account, message.id).await;
        let line = timeline.last().expect("a line about the second claim");
        assert_eq!((timeline.len(), line.status), (3, MessageStatus::Sending));
        assert_eq!(line.at, rig.now());
        assert!(line.detail.as_deref().is_some_and(|told| told.contains("may be sent twice")));
        rig.advance(LEASE - millis(1));
        assert_eq!(rig.claim_all().await.messages, [], "the second lease holds as long");
    }

    /// Renewing holds a worker's messages until the new moment.
    async fn renewing_holds_what_a_worker_has(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request([1, 2])).await;
        let hand = rig.claim_all().await;
        rig.advance(seconds(20));
        let until = rig.now().plus(LEASE);
        let held = rig.store().dispatch_renew(hand.token, until).await.expect("renewed");
        assert_eq!(held, 2);
        assert_eq!(rig.next_dispatch().await, Some(until));
        rig.advance_to(until.minus(millis(1)));
        assert_eq!(rig.claim_all().await.messages, []);
        assert_eq!(
            rig.finish(&hand, &taken()).await,
            [OutcomeRecorded::Done(MessageStatus::Sent); 2]
        );
    }

    /// A renewed lease expires, too.
    async fn a_renewed_lease_runs_out_too(rig: &Rig) {
        let account = rig.account(10).await;
        rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        let until = rig.now().plus(seconds(45));
        rig.store().dispatch_renew(hand.token, until).await.expect("renewed");
        rig.advance_to(until);
        assert_eq!(rig.claim_all().await.ids(), hand.ids());
    }

    /// A token without claims renews nothing.
    async fn a_foreign_token_renews_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        rig.text(&account, 1).await;
        rig.claim_all().await;
        let until = rig.now().plus(seconds(60));
        let held = rig.store().dispatch_renew(rig.token(), until).await.expect("renewed");
        assert_eq!(held, 0);
        rig.advance(LEASE);
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A worker that lost its messages to another renews none of them.
    async fn a_worker_that_lost_its_messages_renews_none(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request([1, 2])).await;
        let slow = rig.claim_all().await;
        rig.advance(LEASE);
        rig.claim(1).await;
        let until = rig.now().plus(LEASE);
        let held = rig.store().dispatch_renew(slow.token, until).await.expect("renewed");
        assert_eq!(held, 1, "the text that nobody else took is still its own");
    }

    /// A renewal holds only what is still claimed: neither what left nor what is to be tried again.
    async fn a_renewal_holds_only_what_is_still_in_hand(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request([1, 2, 3])).await;
        let hand = rig.claim_all().await;
        rig.record(hand.messages[0].message, hand.token, taken()).await;
        rig.record(hand.messages[1].message, hand.token, try_later()).await;
        let until = rig.now().plus(seconds(3_600));
        let held = rig.store().dispatch_renew(hand.token, until).await.expect("renewed");
        assert_eq!(held, 1);
        rig.advance(retry_delay(0));
        assert_eq!(rig.claim_all().await.ids(), [hand.messages[1].message]);
    }

    /// An outcome under a lease that another worker has taken over changes nothing.
    async fn an_outcome_under_a_lost_lease_changes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let slow = rig.claim_all().await;
        rig.advance(LEASE);
        let other = rig.claim_all().await;
        for result in [taken(), refused(), try_later()] {
            let recorded = rig.record(message.id, slow.token, result).await;
            assert_eq!(recorded, OutcomeRecorded::LeaseLost);
        }
        let statuses = rig.statuses(&account, message.id).await;
        let sending = MessageStatus::Sending;
        let left = [MessageStatus::Queued, sending, sending];
        assert_eq!(statuses, left, "as the other claim left it");
        assert_eq!(rig.balance(&account).await, 9);
        let recorded = rig.record(message.id, other.token, refused()).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Undelivered));
        let recorded = rig.record(message.id, slow.token, taken()).await;
        assert_eq!(recorded, OutcomeRecorded::LeaseLost);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Undelivered);
        assert_eq!(rig.balance(&account).await, 9, "the slow worker may have sent it");
    }

    /// A lease that ran out counts as a hand-over without an answer, because the worker may have
    /// submitted the message: three in all are retried, the next without an answer ends it.
    async fn a_lease_that_ran_out_counts_as_a_hand_over_without_an_answer(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        rig.claim_all().await;
        for _ in 1..AGAIN_UNANSWERED {
            rig.advance(LEASE);
            rig.claim_all().await;
        }
        rig.advance(LEASE);
        let hand = rig.claim_all().await;
        let recorded = rig.record(message.id, hand.token, unanswered()).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Undelivered));
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// An outcome that comes after its lease expired counts while nobody else has taken the
    /// message: what left is not sent again.
    async fn a_late_outcome_counts_while_nobody_else_took_the_message(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        rig.advance(LEASE + seconds(60));
        let recorded = rig.record(message.id, hand.token, taken()).await;
        assert_eq!(recorded, OutcomeRecorded::Done(MessageStatus::Sent));
        assert_eq!(rig.claim_all().await.messages, []);
    }
}
