//! Messages that a worker holds from the moment they are accepted.

use sms_core::account::{Account, AccountStatus, Mode};
use sms_core::change::cancel::CancelRefused;
use sms_core::dispatch::{LEASE, OutcomeRecorded};
use sms_core::ids::MessageId;
use sms_core::message::{Direction, ErrorCode, MessageFilter, MessageStatus};
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, NetworkReport, ReportPlan, Reported};
use sms_core::route::{HandOver, RouteName};
use sms_core::sender_name::review::Decision;
use sms_core::sending::SendPlan;
use sms_core::sending::settle::SendRefused;
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{
    Hand, all_recorded, millis, person, refusal_of, refused, request, request_with_key, seconds,
    taken,
};

const SENT: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Sent);
const UNDELIVERED: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Undelivered);

/// One message that a worker holds.
async fn held(rig: &Rig, account: &Account) -> (MessageId, Hand) {
    let (sent, hand) = rig.send_held(account, &request([1])).await;
    (sent.messages[0].id, hand)
}

async fn give_back(rig: &Rig, hand: &Hand) {
    for recorded in rig.finish(hand, &HandOver::GivenBack).await {
        assert_eq!(recorded, OutcomeRecorded::Retry);
    }
}

/// A plan that a worker would hold, from this number and under this name.
fn plan(rig: &Rig, account: &Account, from: E164, name: Option<&str>) -> SendPlan {
    let mut wanted = request([1]);
    wanted.sender = name.map(str::to_owned);
    let mut plan = rig.plan_from(from, account, Mode::Live, &wanted);
    plan.hold(rig.claim_plan(1).lease);
    plan
}

/// The plan has to be made again, and nothing was written.
async fn assert_stale(rig: &Rig, account: &Account, plan: SendPlan) {
    let answer = rig.accept(plan).await;
    assert!(matches!(answer, Err(CommitError::Stale)), "{answer:?}");
    assert_nothing_written(rig, account).await;
}

async fn assert_nothing_written(rig: &Rig, account: &Account) {
    let sent = MessageFilter { direction: Some(Direction::Outbound), ..MessageFilter::default() };
    assert_eq!(rig.messages(account.id, &sent).await, []);
    assert_eq!((rig.balance(account).await, rig.ledger(account.id).await.len()), (10, 1));
    assert_eq!(rig.next_dispatch().await, None);
}

scenarios! { Dispatch;
    /// A held message is `sending` with the worker's lease, as if it had been claimed: no other
    /// worker gets it, and its outcome counts. The answer says `queued`, and so does a replay.
    async fn a_held_message_is_sending_and_the_answer_says_queued(rig: &Rig) {
        let account = rig.account(10).await;
        let wanted = request_with_key(1, "once");
        let (sent, hand) = rig.send_held(&account, &wanted).await;
        let message = &sent.messages[0];
        assert_eq!(message.status, MessageStatus::Queued);
        let statuses = [MessageStatus::Queued, MessageStatus::Sending];
        assert_eq!(rig.statuses(&account, message.id).await, statuses);
        assert_eq!(rig.next_dispatch().await, Some(rig.now().plus(LEASE)));
        rig.advance(LEASE - millis(1));
        assert_eq!(rig.claim_all().await.messages, []);
        let again = rig.accept(rig.held_plan(&account, &wanted)).await.expect("repeated");
        assert_eq!(again, sent.clone().repeated());
        assert_eq!(rig.finish(&hand, &taken()).await, [SENT]);
        assert_eq!(rig.status(&account, message.id).await, MessageStatus::Sent);
        assert_eq!(rig.next_dispatch().await, None, "the repeated plan wrote nothing");
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (9, 2));
    }

    /// A lease from the start is renewed as one from a claim.
    async fn a_worker_renews_what_it_holds_from_the_start(rig: &Rig) {
        let account = rig.account(10).await;
        let (_, hand) = rig.send_held(&account, &request([1, 2])).await;
        let until = rig.now().plus(seconds(45));
        let renewed = rig.store().dispatch_renew(hand.token, until).await.expect("renewed");
        assert_eq!((renewed, rig.next_dispatch().await), (2, Some(until)));
    }

    /// When the worker dies, its lease runs out and another worker claims the message. The timeline
    /// says that it may be sent twice, and it counts as once handed over without an answer: refused
    /// the next time, it is not refunded. What the first worker reports later changes nothing.
    async fn a_held_message_whose_worker_died_is_claimed_and_may_be_sent_twice(rig: &Rig) {
        let account = rig.account(10).await;
        let (id, first) = held(rig, &account).await;
        rig.advance(LEASE);
        let second = rig.claim_all().await;
        assert_eq!(second.messages, first.looked_at(rig.now()));
        let timeline = rig.timeline(&account, id).await;
        let told = timeline.last().and_then(|line| line.detail.as_deref());
        assert!(told.is_some_and(|told| told.contains("may be sent twice")), "{timeline:?}");
        assert_eq!(rig.finish(&first, &taken()).await, [OutcomeRecorded::LeaseLost]);
        assert_eq!(rig.finish(&second, &refused()).await, [UNDELIVERED]);
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// An outcome under a lease that ran out counts while nobody else took the message.
    async fn a_late_outcome_of_a_held_message_counts_while_nobody_took_it(rig: &Rig) {
        let account = rig.account(10).await;
        let (_, hand) = held(rig, &account).await;
        rig.advance(LEASE + seconds(60));
        assert_eq!(rig.finish(&hand, &taken()).await, [SENT]);
        assert_eq!(rig.claim_all().await.messages, []);
    }

    /// A held message cannot be cancelled, as one that was claimed.
    async fn a_held_message_cannot_be_cancelled(rig: &Rig) {
        let account = rig.account(10).await;
        let (id, hand) = held(rig, &account).await;
        let plan = rig.cancel_plan(&account, id);
        let refused = refusal_of(rig.store().message_cancel(plan).await);
        assert_eq!(refused, CancelRefused::NotCancellable(MessageStatus::Sending));
        assert_eq!(rig.finish(&hand, &taken()).await, [SENT]);
        assert_eq!(rig.balance(&account).await, 9);
    }

    /// A message that is given back was not handed over: it can be claimed at once, as the same
    /// attempt, and the timeline does not show it.
    async fn a_held_message_that_is_given_back_can_be_claimed_at_once(rig: &Rig) {
        let account = rig.account(10).await;
        let (id, hand) = held(rig, &account).await;
        let due_at = rig.now();
        rig.advance(millis(300));
        give_back(rig, &hand).await;
        assert_eq!(rig.next_dispatch().await, Some(due_at));
        let again = rig.claim_all().await;
        assert_eq!(again.messages, hand.looked_at(rig.now()));
        let statuses = [MessageStatus::Queued, MessageStatus::Sending];
        assert_eq!(rig.statuses(&account, id).await, statuses);
        assert_eq!(rig.finish(&hand, &taken()).await, [OutcomeRecorded::LeaseLost]);
        let failed = OutcomeRecorded::Done(MessageStatus::Failed);
        assert_eq!(rig.finish(&again, &refused()).await, [failed]);
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// What stands in the way of a held message is found when it is given back: it fails and is
    /// refunded. Once its lease ran out, it may have been sent: it is given up and not refunded.
    async fn a_held_message_is_looked_at_again_when_it_is_claimed(rig: &Rig) {
        for obstacle in ["opted out", "suspended"] {
            for is_back in [true, false] {
                let account = rig.account(10).await;
                let (id, hand) = held(rig, &account).await;
                let error = if obstacle == "opted out" {
                    rig.opt_out(&account, 1).await;
                    ErrorCode::OptedOut
                } else {
                    rig.set_status(&account, AccountStatus::Suspended).await;
                    ErrorCode::AccountSuspended
                };
                if is_back {
                    give_back(rig, &hand).await;
                } else {
                    rig.advance(LEASE);
                }
                let found = rig.claim_all().await;
                let message = rig.message(&account, id).await;
                let ended = (found.messages.len(), found.failed, found.given_up, message.error);
                let balance = rig.balance(&account).await;
                if is_back {
                    assert_eq!((ended, balance), ((0, 1, 0, Some(error)), 10), "{obstacle}");
                } else {
                    let error = Some(ErrorCode::NetworkError);
                    assert_eq!((ended, balance), ((0, 0, 1, error), 9), "{obstacle}");
                }
            }
        }
    }

    /// A receipt may come before the outcome is recorded: it proves that the message left, and the
    /// outcome changes nothing more.
    async fn a_receipt_before_the_outcome_of_a_held_message_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let (id, hand) = held(rig, &account).await;
        let plans = vec![rig.receipt(id, ReceiptStatus::Delivered)];
        all_recorded(rig.store().receipts_record(plans).await);
        assert_eq!(rig.finish(&hand, &taken()).await, [OutcomeRecorded::LeaseLost]);
        let path = [
            MessageStatus::Queued,
            MessageStatus::Sending,
            MessageStatus::Sent,
            MessageStatus::Delivered,
        ];
        assert_eq!(rig.statuses(&account, id).await, path);
        assert_eq!(rig.next_dispatch().await, None);
    }

    /// A network's report that comes before the outcome that names its segment is kept for it.
    async fn a_report_before_the_outcome_of_a_held_message_is_kept(rig: &Rig) {
        let account = rig.account(10).await;
        let (id, hand) = held(rig, &account).await;
        let network_id = NetworkId::new(RouteName::new("main"), "7");
        let report = NetworkReport::new(network_id.clone(), ReceiptStatus::Delivered);
        let plan = ReportPlan { report, at: rig.now(), ids: rig.ids() };
        let reported = all_recorded(rig.store().reports_record(vec![plan]).await).remove(0);
        assert_eq!(reported, Reported::Early);
        let submitted = HandOver::Submitted { parts: vec![network_id] };
        let delivered = OutcomeRecorded::Done(MessageStatus::Delivered);
        assert_eq!(rig.finish(&hand, &submitted).await, [delivered]);
        assert_eq!(rig.status(&account, id).await, MessageStatus::Delivered);
    }

    /// A held message is not checked again before it is handed over, so it is not accepted when its
    /// recipient has opted out since it was planned, when its number is no longer its account's, or
    /// when its sender name was rejected. It is planned again.
    async fn what_a_claim_would_find_is_found_when_a_held_message_is_accepted(rig: &Rig) {
        rig.provide_our_number().await;
        let our = crate::rig::our_number();
        let opted_out = rig.account(10).await;
        let planned = plan(rig, &opted_out, our, None);
        rig.opt_out(&opted_out, 1).await;
        assert_stale(rig, &opted_out, planned).await;

        let numberless = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &numberless).await;
        let planned = plan(rig, &numberless, number.phone, None);
        rig.release(&number).await;
        assert_stale(rig, &numberless, planned).await;

        let nameless = rig.account(10).await;
        let name = rig.approved_name(&nameless, "Bistro").await;
        let planned = plan(rig, &nameless, our, Some("Bistro"));
        rig.review(&name, Decision::Reject).await;
        assert_stale(rig, &nameless, planned).await;

        let unheld = rig.plan_from(number.phone, &numberless, Mode::Live, &request([1]));
        rig.accept(unheld).await.expect("a claim looks at what is not held");
        let other = rig.account(10).await;
        rig.approved_name(&other, "Till").await;
        rig.accept(plan(rig, &other, our, Some("Till"))).await.expect("the name is approved");
    }

    /// A refused plan holds nothing, wherever it stands among accepted ones.
    async fn a_refused_plan_holds_nothing(rig: &Rig) {
        rig.provide_our_number().await;
        let (poor, rich) = (rig.account(10).await, rig.account(10).await);
        let plans = vec![
            rig.held_plan(&poor, &request(1..=11)),
            rig.held_plan(&rich, &request([1])),
        ];
        let mut answers = rig.accept_all(plans).await;
        answers.pop().expect("an answer").expect("the second is accepted");
        let refused = refusal_of(answers.remove(0));
        assert!(matches!(refused, SendRefused::InsufficientCredit { .. }));
        assert_eq!(rig.messages(poor.id, &MessageFilter::default()).await, []);
        rig.advance(LEASE);
        assert_eq!(rig.claim_all().await.messages.len(), 1);
        rig.set_status(&rich, AccountStatus::Suspended).await;
        let suspended = rig.accept(rig.held_plan(&rich, &request([1]))).await;
        assert!(matches!(refusal_of(suspended), SendRefused::MayNotSend(_)));
        assert_eq!(rig.messages(rich.id, &MessageFilter::default()).await.len(), 1);
    }

    /// Held sends and others of one account that are accepted at once cost what they cost, and
    /// claims get the others alone.
    async fn held_sends_that_race_with_others_and_claims_are_nobody_elses(rig: &Rig) {
        let account = rig.account(30).await;
        rig.provide_our_number().await;
        let plans = (1..=40).map(|n| match n % 2 {
            0 => rig.held_plan(&account, &request([n])),
            _ => rig.plan(&account, &request([n])),
        });
        let calls: Vec<_> = plans.map(|plan| (plan, rig.claim_plan(10))).collect();
        let done = rig.race_each(calls, |store, (plan, claim)| async move {
            let is_held = plan.held.is_some();
            let accepted = store.send_accept(vec![plan]).await.remove(0).is_ok();
            let claimed = store.dispatch_claim(claim).await.expect("claimed").messages.len();
            (accepted, is_held, claimed)
        });
        let accepted = done.iter().filter(|(accepted, ..)| *accepted).count();
        let held = done.iter().filter(|(accepted, held, _)| *accepted && *held).count();
        let claimed: usize = done.iter().map(|(.., claimed)| claimed).sum();
        let rest = rig.claim_all().await.messages.len();
        assert_eq!((accepted, rig.balance(&account).await), (30, 0));
        assert_eq!(claimed + rest, 30 - held, "held messages were claimed");
        rig.advance(LEASE);
        assert_eq!(rig.claim_all().await.messages.len(), 30);
    }
}
