//! Cancelling: a message is refunded once, or is already being submitted.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::Account;
use sms_core::change::cancel::{CancelPlan, CancelRefused};
use sms_core::credits::ledger::{Cause, Kind};
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::{Message, MessageStatus};
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{
    days, millis, person, refusal_of, refused, request, request_with_body, seconds, taken,
};

fn plan(rig: &Rig, account: &Account, message: MessageId) -> CancelPlan {
    CancelPlan { account: account.id, message, at: rig.now(), ids: rig.ids() }
}

async fn cancel(
    rig: &Rig,
    account: &Account,
    message: MessageId,
) -> Result<Message, CommitError<CancelRefused>> {
    rig.store().message_cancel(plan(rig, account, message)).await
}

scenarios! { Message;
    /// A queued message is cancelled: it is never submitted, and its whole cost is refunded with
    /// one entry.
    async fn a_queued_message_is_cancelled_and_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let sent =
            rig.send(&account, &request_with_body([1, 2], "a".repeat(307))).await;
        assert_eq!(sent.balance.get(), 4);
        let now = rig.advance(millis(5));
        let cancelled = cancel(rig, &account, sent.messages[0].id).await.expect("cancelled");
        assert_eq!(cancelled.status, MessageStatus::Cancelled);
        assert_eq!(cancelled.times.cancelled_at, Some(now));
        assert_eq!(rig.message(&account, cancelled.id).await, cancelled);
        assert_eq!(
            rig.statuses(&account, cancelled.id).await,
            [MessageStatus::Queued, MessageStatus::Cancelled]
        );
        assert_eq!(rig.ledger_lines(&account).await[0], (Kind::Refund, 3, 7));
        let entry = rig.ledger(account.id).await.remove(0);
        let (message, batch) = (cancelled.id, Some(sent.batch));
        assert_eq!(entry.cause, Cause::Refund { message, batch, campaign: None });
        assert_eq!((entry.created_at, rig.balance(&account).await), (now, 7));
        assert_eq!(rig.claim_all().await.ids(), [sent.messages[1].id]);
    }

    /// A scheduled message is cancelled, and does not leave at its time either.
    async fn a_scheduled_message_is_cancelled_and_never_leaves(rig: &Rig) {
        let account = rig.account(10).await;
        let request = request([1]).schedule_at(rig.now().plus(days(1)));
        let message = rig.send(&account, &request).await.messages.remove(0);
        let cancelled = cancel(rig, &account, message.id).await.expect("cancelled");
        assert_eq!(cancelled.status, MessageStatus::Cancelled);
        assert_eq!(rig.balance(&account).await, 10);
        assert_eq!(rig.next_dispatch().await, None);
        rig.advance(days(1));
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages.len(), hand.failed), (0, 0));
    }

    /// Cancelling again is refused with the status, and refunds nothing again.
    async fn cancelling_twice_refunds_once(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        cancel(rig, &account, message.id).await.expect("cancelled");
        rig.advance(seconds(1));
        let again = refusal_of(cancel(rig, &account, message.id).await);
        assert_eq!(again, CancelRefused::NotCancellable(MessageStatus::Cancelled));
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (10, 3));
    }

    /// A message on its way or past it is not cancelled; the refusal says where it stands.
    async fn a_message_on_its_way_is_not_cancelled(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let refused_at = async |message: MessageId, status: MessageStatus| {
            let before = rig.message_and_timeline(account.id, message).await;
            let refused = refusal_of(cancel(rig, &account, message).await);
            assert_eq!(refused, CancelRefused::NotCancellable(status));
            assert_eq!(rig.message_and_timeline(account.id, message).await, before);
        };
        let message = rig.text(&account, 1).await.id;
        let failing = rig.text(&account, 2).await.id;
        let hand = rig.claim_all().await;
        refused_at(message, MessageStatus::Sending).await;
        rig.record(message, hand.token, taken()).await;
        refused_at(message, MessageStatus::Sent).await;
        rig.undeliver(message).await;
        refused_at(message, MessageStatus::Undelivered).await;
        rig.deliver(message).await;
        refused_at(message, MessageStatus::Delivered).await;
        rig.record(failing, hand.token, refused()).await;
        refused_at(failing, MessageStatus::Failed).await;
        let received = rig.inbound_routed(1, number.phone, "Hello").await;
        refused_at(received.id, MessageStatus::Received).await;
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// A message of another account does not exist for this one, and does not change.
    async fn another_accounts_message_cannot_be_cancelled(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let message = rig.text(&account, 1).await;
        let refused = refusal_of(cancel(rig, &other, message.id).await);
        assert_eq!(refused, CancelRefused::NoSuchMessage);
        let unknown = refusal_of(cancel(rig, &account, rig.id()).await);
        assert_eq!(unknown, CancelRefused::NoSuchMessage);
        assert_eq!(rig.message(&account, message.id).await, message);
        assert_eq!((rig.balance(&account).await, rig.balance(&other).await), (9, 10));
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A cancelled test message is not refunded, because it cost nothing.
    async fn a_cancelled_test_message_refunds_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let sent = rig.send_test(&account, &request([1])).await;
        let cancelled = cancel(rig, &account, sent.messages[0].id).await.expect("cancelled");
        assert_eq!(cancelled.status, MessageStatus::Cancelled);
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (10, 1));
    }

    /// Cancelling raises no event.
    async fn cancelling_raises_no_event(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        cancel(rig, &account, message.id).await.expect("cancelled");
        assert_eq!(rig.deliveries(&endpoint).await, []);
    }

    /// Many cancel one message at once: one succeeds, and the message is refunded once.
    async fn of_racing_cancellations_one_wins(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        let plans: Vec<_> = (0..12).map(|_| plan(rig, &account, message.id)).collect();
        let answers =
            rig.race_each(plans, |store, plan| async move { store.message_cancel(plan).await });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 11));
        for answer in lost {
            let refused = refusal_of(answer);
            assert_eq!(refused, CancelRefused::NotCancellable(MessageStatus::Cancelled));
        }
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// Cancellations race with workers: each message is either cancelled and refunded or taken,
    /// never both, never neither.
    async fn a_message_is_either_cancelled_or_taken(rig: &Rig) {
        let account = rig.account(40).await;
        rig.provide_our_number().await;
        let sent = rig.send(&account, &request(1..=40)).await;
        let mut futures: Vec<BoxFuture<'static, (Option<MessageId>, Vec<MessageId>)>> = Vec::new();
        for (n, message) in sent.messages.iter().enumerate() {
            let (store, cancel) = (rig.store().clone(), plan(rig, &account, message.id));
            let id = message.id;
            let act = async move { (store.message_cancel(cancel).await.ok().map(|_| id), vec![]) };
            futures.push(act.boxed());
            if n % 5 == 0 {
                let (store, claim) = (rig.store().clone(), rig.claim_plan(5));
                let act = async move {
                    let claimed = store.dispatch_claim(claim).await.expect("claimed");
                    (None, claimed.messages.iter().map(|text| text.message).collect())
                };
                futures.push(act.boxed());
            }
        }
        let answers = rig.race(futures);
        let cancelled: Vec<_> = answers.iter().filter_map(|(cancelled, _)| *cancelled).collect();
        let mut taken: Vec<_> = answers.iter().flat_map(|(_, taken)| taken).copied().collect();
        taken.extend(rig.claim_all().await.ids());
        assert_eq!(cancelled.len() + taken.len(), 40);
        let different: BTreeSet<_> = cancelled.iter().chain(&taken).copied().collect();
        assert_eq!(different.len(), 40);
        for id in &cancelled {
            assert_eq!(rig.status(&account, *id).await, MessageStatus::Cancelled);
        }
        for id in &taken {
            assert_eq!(rig.status(&account, *id).await, MessageStatus::Sending);
        }
        assert_eq!(rig.balance(&account).await, cancelled.len() as u64);
    }
}
