//! The sender of a message, looked at again when it is claimed.

use sms_core::account::{Account, Mode};
use sms_core::message::{ErrorCode, Message, MessageStatus};
use sms_core::number::rent::{GRACE, PERIOD, RentPlan, RentScope};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::sender_name::review::Decision;
use sms_core::sender_name::store::NamesWanted;
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{credits, millis, person, refused, request, taken, try_later};

/// Sends one live message from a number.
async fn send_from(rig: &Rig, account: &Account, from: E164) -> Message {
    let plan = rig.plan_from(from, account, Mode::Live, &request([1]));
    rig.accept(plan).await.expect("accepted").messages.remove(0)
}

/// The error of a message that failed and was refunded.
async fn failed(rig: &Rig, account: &Account, message: &Message) -> Option<ErrorCode> {
    let hand = rig.claim_as_it_is(10).await;
    assert_eq!((hand.messages.len(), hand.failed), (0, 1));
    let failed = rig.message(account, message.id).await;
    assert_eq!(failed.status, MessageStatus::Failed);
    let timeline = rig.timeline(account, message.id).await;
    let told = timeline.last().and_then(|line| line.detail.clone());
    assert_eq!(told.as_deref(), failed.error.map(ErrorCode::message));
    failed.error
}

async fn rented(rig: &Rig, n: u16, account: &Account) -> Number {
    let number = rig.new_number(person(n), Holder::Dedicated(account.id));
    let mut number = Number { rental_credits: credits(5), ..number };
    number.next_rent_at = number.rent_due_at();
    rig.create_number(number).await
}

async fn charge(rig: &Rig, account: &Account) {
    let scope = RentScope::Account(account.id);
    let plan = RentPlan { at: rig.now(), scope, ids: rig.ids() };
    rig.store().rents_charge(plan).await.expect("charged");
}

scenarios! { Dispatch;
    /// A message whose number was released leaves from the account's present number, by that
    /// number's route; the message, its timeline and the queue say so.
    async fn a_message_does_not_leave_from_a_released_number(rig: &Rig) {
        let account = rig.account(10).await;
        let old = rig.dedicated_number(person(900), &account).await;
        let message = send_from(rig, &account, old.phone).await;
        rig.release(&old).await;
        let backup = RouteName::new("backup");
        let new = rig.new_number(person(901), Holder::Dedicated(account.id));
        rig.create_number(Number { route: Some(backup.clone()), ..new }).await;
        let hand = rig.claim_as_it_is(10).await;
        let given = &hand.messages[0];
        assert_eq!((given.from, &given.route), (person(901), &backup));
        let kept = rig.message(&account, message.id).await;
        assert_eq!((kept.from, &kept.route), (person(901), &backup));
        assert_eq!(kept.status, MessageStatus::Sending);
        let timeline = rig.timeline(&account, message.id).await;
        let told = timeline.last().and_then(|line| line.detail.as_deref());
        let expected = "+447700900900 can no longer be used; sent from +447700900901";
        assert_eq!((timeline.len(), told), (2, Some(expected)));
        rig.finish(&hand, &try_later()).await;
        rig.advance(millis(10_000));
        let both = sms_core::dispatch::RouteLane::both(&backup).to_vec();
        let left = sms_core::dispatch::Wanted::AllBut(both);
        let plan = sms_core::dispatch::ClaimPlan { wanted: left, ..rig.claim_plan(10) };
        let claimed = rig.store().dispatch_claim(plan).await.expect("claimed");
        assert_eq!(claimed.messages, [], "it waits for the other route");
        let again = rig.claim_as_it_is(10).await;
        assert_eq!((again.messages[0].from, &again.messages[0].route), (person(901), &backup));
        rig.finish(&again, &taken()).await;
        let answer = rig.inbound_routed(1, person(901), "Thanks").await;
        assert_eq!(answer.account, account.id);
    }

    /// A number that belongs to another account by then carries nothing of the first one.
    async fn a_message_does_not_leave_from_another_accounts_number(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let old = rig.dedicated_number(person(900), &account).await;
        let message = send_from(rig, &account, old.phone).await;
        rig.release(&old).await;
        rig.dedicated_number(person(900), &other).await;
        assert_eq!(failed(rig, &account, &message).await, Some(ErrorCode::NoNumber));
        assert_eq!(rig.balance(&account).await, 10);
        let theirs = send_from(rig, &other, old.phone).await;
        let shared = rig.shared_number(person(905)).await;
        let second = send_from(rig, &account, old.phone).await;
        let hand = rig.claim_as_it_is(10).await;
        let from = |id| hand.messages.iter().find(|text| text.message == id).map(|text| text.from);
        assert_eq!((from(theirs.id), from(second.id)), (Some(old.phone), Some(shared.phone)));
    }

    /// Test messages of an account without a number fail too, and have nothing to refund.
    async fn a_message_without_a_number_fails_and_is_refunded(rig: &Rig) {
        let account = rig.account(10).await;
        let message = rig.text(&account, 1).await;
        assert_eq!(failed(rig, &account, &message).await, Some(ErrorCode::NoNumber));
        let sent = rig.send_test(&account, &request([1])).await.messages.remove(0);
        rig.advance(millis(1_000));
        assert_eq!(failed(rig, &account, &sent).await, Some(ErrorCode::NoNumber));
        assert_eq!(rig.balance(&account).await, 10);
    }

    /// A message that waits for a retry changes its number too.
    async fn a_retried_message_changes_its_number(rig: &Rig) {
        let account = rig.account(10).await;
        let old = rig.dedicated_number(person(900), &account).await;
        let message = send_from(rig, &account, old.phone).await;
        let hand = rig.claim_as_it_is(10).await;
        rig.finish(&hand, &try_later()).await;
        rig.release(&old).await;
        rig.shared_number(person(905)).await;
        rig.advance(millis(10_000));
        assert_eq!(rig.claim_as_it_is(10).await.messages[0].from, person(905));
        let kept = rig.message(&account, message.id).await;
        assert_eq!((kept.from, kept.status), (person(905), MessageStatus::Sending));
        let timeline = rig.timeline(&account, message.id).await;
        let told = timeline.last().and_then(|line| line.detail.as_deref());
        assert_eq!(told, Some("+447700900900 can no longer be used; sent from +447700900905"));
    }

    /// A sender name that was rejected after acceptance carries nothing: its messages fail and are
    /// refunded. Those of other names and of other accounts leave.
    async fn a_rejected_sender_name_carries_nothing(rig: &Rig) {
        let (account, other) = (rig.account(10).await, rig.account(10).await);
        let mut names = Vec::new();
        for (account, value) in [(&account, "Bistro"), (&account, "Till"), (&other, "Bistro")] {
            names.push(rig.approved_name(account, value).await);
        }
        let send = async |account: &Account, name: &str| {
            let mut request = request([1]);
            request.sender = Some(name.to_owned());
            rig.send(account, &request).await.messages.remove(0)
        };
        let rejected = send(&account, "Bistro").await;
        let left = [send(&account, "Till").await.id, send(&other, "Bistro").await.id];
        let plain = rig.text(&account, 1).await;
        rig.review(&names[0], Decision::Reject).await;
        let hand = rig.claim(10).await;
        assert_eq!((hand.ids(), hand.failed), (vec![left[0], left[1], plain.id], 1));
        let failed = rig.message(&account, rejected.id).await;
        let error = Some(ErrorCode::SenderNotApproved);
        assert_eq!((failed.status, failed.error), (MessageStatus::Failed, error));
        assert_eq!(rig.balance(&account).await, 8);
        // Asked for again in another case, and approved again.
        let waiting = send(&account, "Bistro").await;
        rig.sender_name(&account, "BISTRO").await;
        let hand = rig.claim(10).await;
        assert_eq!((hand.ids().len(), hand.failed), (0, 1), "it only waits for a decision");
        assert_eq!(rig.message(&account, waiting.id).await.error, error);
        let waiting = send(&account, "Bistro").await;
        let names = rig.store().sender_name_list(account.id, NamesWanted::All).await.expect("read");
        rig.review(&names[0], Decision::Approve).await;
        assert_eq!(rig.claim(10).await.ids(), [waiting.id]);
    }

    /// A number whose rent is overdue by seven days sends nothing until it is paid; what arrives on
    /// it is still its account's.
    async fn a_number_whose_rent_is_overdue_by_seven_days_sends_nothing(rig: &Rig) {
        let account = rig.account(12).await;
        let number = rented(rig, 900, &account).await;
        charge(rig, &account).await;
        rig.advance(PERIOD + GRACE - millis(1));
        rig.adjust(&account, -4).await.expect("spent");
        charge(rig, &account).await;
        let early = send_from(rig, &account, number.phone).await;
        assert_eq!(rig.claim_as_it_is(10).await.ids(), [early.id]);
        rig.advance(millis(1));
        let message = send_from(rig, &account, number.phone).await;
        assert_eq!(rig.claim_as_it_is(10).await.failed, 1);
        let failed = rig.message(&account, message.id).await;
        assert_eq!(failed.error, Some(ErrorCode::NoNumber));
        let answer = rig.inbound_routed(2, number.phone, "Hello").await;
        assert_eq!(answer.account, account.id, "it still receives");
        rig.shared_number(person(905)).await;
        send_from(rig, &account, number.phone).await;
        let hand = rig.claim_as_it_is(10).await;
        assert_eq!(hand.messages[0].from, person(905));
        rig.finish(&hand, &refused()).await;
        rig.adjust(&account, 20).await.expect("topped up");
        charge(rig, &account).await;
        send_from(rig, &account, number.phone).await;
        assert_eq!(rig.claim_as_it_is(10).await.messages[0].from, number.phone);
    }

    /// A number whose overdue rent is paid between two sends that a worker would hold carries the
    /// second.
    async fn a_rent_that_is_paid_between_two_held_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rented(rig, 900, &account).await;
        charge(rig, &account).await;
        rig.adjust(&account, -3).await.expect("spent");
        rig.advance(PERIOD + GRACE);
        charge(rig, &account).await;
        let held = || {
            let mut plan = rig.plan_from(number.phone, &account, Mode::Live, &request([1]));
            plan.hold(rig.claim_plan(1).lease);
            plan
        };
        for _ in 0..2 {
            let answer = rig.accept(held()).await;
            assert!(matches!(answer, Err(CommitError::Stale)), "{answer:?}");
        }
        rig.adjust(&account, 20).await.expect("topped up");
        charge(rig, &account).await;
        rig.accept(held()).await.expect("accepted");
    }
}
