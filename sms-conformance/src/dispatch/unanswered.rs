//! Messages whose submission got no answer: they may have been sent, and are not refunded.

use sms_core::account::{Account, AccountStatus};
use sms_core::dispatch::{AGAIN_UNANSWERED, OutcomeRecorded};
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageStatus};
use sms_core::route::HandOver;

use crate::Rig;
use crate::rig::{millis, refused, request, seconds, taken, try_later, unanswered};

const UNDELIVERED: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Undelivered);

/// Hands over what is due with this outcome, after which it is to be tried again, and waits for
/// that.
async fn once_more(rig: &Rig, result: &HandOver) {
    let hand = rig.claim_all().await;
    for recorded in rig.finish(&hand, result).await {
        assert_eq!(recorded, OutcomeRecorded::Retry);
    }
    rig.advance_to(rig.next_dispatch().await.expect("it is tried again"));
}

/// The message is undelivered for this reason, keeps its price, and is out of the queue.
async fn assert_given_up(rig: &Rig, account: &Account, text: MessageId, error: ErrorCode) {
    let message = rig.message(account, text).await;
    assert_eq!((message.status, message.error), (MessageStatus::Undelivered, Some(error)));
    assert_eq!(message.times.sent_at, message.times.failed_at);
    assert_eq!((rig.balance(account).await, rig.ledger(account.id).await.len()), (9, 2));
    rig.advance(seconds(48 * 3_600));
    assert_eq!(rig.claim_all().await.messages, []);
}

scenarios! { Dispatch;
    /// A message that may have been sent, and cannot be handed over again, is undelivered and not
    /// refunded, whatever stands in the way; what else happened to it meanwhile does not matter.
    async fn a_message_that_left_perhaps_is_given_up_where_it_must_not_leave_again(rig: &Rig) {
        for obstacle in ["opted out", "suspended", "expired"] {
            let account = rig.account(10).await;
            let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
            let text = rig.text(&account, 1).await.id;
            once_more(rig, &unanswered()).await;
            once_more(rig, &try_later()).await;
            let error = match obstacle {
                "opted out" => {
                    rig.opt_out(&account, 1).await;
                    ErrorCode::NetworkError
                }
                "suspended" => {
                    rig.set_status(&account, AccountStatus::Suspended).await;
                    ErrorCode::NetworkError
                }
                _ => {
                    rig.advance(seconds(24 * 3_600));
                    ErrorCode::Expired
                }
            };
            let hand = rig.claim_all().await;
            let found = (hand.messages, hand.failed, hand.given_up);
            assert_eq!(found, (Vec::new(), 0, 1), "{obstacle}");
            let kinds = rig.kinds(&endpoint).await;
            assert!(kinds.ends_with(&[EventType::MessageSent, EventType::MessageFailed]));
            assert_given_up(rig, &account, text, error).await;
        }
    }

    /// Messages that may have been sent are distinguished from those that were not, in one claim.
    async fn one_claim_refunds_what_did_not_leave_and_nothing_else(rig: &Rig) {
        let account = rig.account(10).await;
        let sent = rig.send(&account, &request([1, 2])).await;
        let hand = rig.claim_all().await;
        let of = |place: usize, result| rig.outcome(sent.messages[place].id, hand.token, result);
        rig.record_all(vec![of(0, unanswered()), of(1, try_later())]).await;
        rig.set_status(&account, AccountStatus::Suspended).await;
        rig.advance(seconds(4));
        let hand = rig.claim_all().await;
        assert_eq!((hand.failed, hand.given_up, rig.balance(&account).await), (1, 1, 9));
        let status = async |place: usize| rig.status(&account, sent.messages[place].id).await;
        assert_eq!(status(0).await, MessageStatus::Undelivered);
        assert_eq!(status(1).await, MessageStatus::Failed);
    }

    /// A message that may have been sent, and that the network refuses the next time, is
    /// undelivered and not refunded; one that leaves the next time is sent.
    async fn a_message_that_left_perhaps_and_is_refused_later_is_not_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        once_more(rig, &unanswered()).await;
        let hand = rig.claim_all().await;
        assert_eq!(rig.finish(&hand, &refused()).await, [UNDELIVERED]);
        assert_given_up(rig, &account, text, ErrorCode::RejectedByNetwork).await;
        let other = rig.text(&account, 2).await.id;
        once_more(rig, &unanswered()).await;
        let hand = rig.claim_all().await;
        rig.finish(&hand, &taken()).await;
        assert_eq!(rig.status(&account, other).await, MessageStatus::Sent);
    }

    /// A message that is never answered is handed over again three times, and then given up.
    async fn a_message_that_is_never_answered_is_given_up_after_its_tries(rig: &Rig) {
        let account = rig.account(10).await;
        let text = rig.text(&account, 1).await.id;
        for _ in 0..AGAIN_UNANSWERED {
            once_more(rig, &unanswered()).await;
        }
        let hand = rig.claim_all().await;
        assert_eq!((hand.ids(), hand.messages[0].attempt), (vec![text], 3));
        rig.advance(millis(7));
        assert_eq!(rig.finish(&hand, &unanswered()).await, [UNDELIVERED]);
        assert_given_up(rig, &account, text, ErrorCode::NetworkError).await;
    }
}
