//! One key, one send.

use sms_core::account::Mode;
use sms_core::change::cancel::CancelPlan;
use sms_core::ids::MessageId;
use sms_core::message::{MessageFilter, MessageStatus};
use sms_core::sending::idempotency::{EarlierSend, KEPT_FOR};
use sms_core::sending::settle::{Replay, SendRefused, Sent};
use sms_core::upkeep::Chore;

use crate::Rig;
use crate::rig::{
    days, key, millis, our_number, refusal_of, refused, request, request_with_key, seconds, taken,
};

async fn cancel(rig: &Rig, sent: &Sent, position: usize) {
    let message = &sent.messages[position];
    let (account, id) = (message.account, message.id);
    let plan = CancelPlan { account, message: id, at: rig.now(), ids: rig.ids() };
    rig.store().message_cancel(plan).await.expect("cancelled");
}

scenarios! { Sending;
    /// A retry gets the first answer, messages and amounts as they were when accepted, even after
    /// the messages moved on and the balance changed.
    async fn a_replay_shows_the_messages_as_they_were_accepted(rig: &Rig) {
        let account = rig.account(10).await;
        let request = request([1, 2, 3, 4, 5]).to("nonsense").idempotency_key(key("k"));
        let first = rig.send(&account, &request).await;
        cancel(rig, &first, 1).await;
        let hand = rig.claim(3).await;
        let outcomes = [taken(), refused(), taken()];
        let of: Vec<MessageId> = hand.ids();
        for (id, outcome) in of.iter().zip(outcomes) {
            rig.record(*id, hand.token, outcome).await;
        }
        rig.deliver(of[0]).await;
        rig.undeliver(of[2]).await;
        rig.adjust(&account, 50).await.expect("topped up");
        rig.advance(seconds(60));
        let again = rig.send(&account, &request).await;
        assert_eq!(again, first.repeated());
        assert!(again.messages.iter().all(|text| text.status == MessageStatus::Queued));
    }

    /// A retry of a scheduled send shows its messages as scheduled, even after they left or were
    /// cancelled.
    async fn a_replay_of_a_scheduled_send_shows_it_as_scheduled(rig: &Rig) {
        let account = rig.account(10).await;
        let request =
            request_with_key(1, "k").to("07700 900002").schedule_at(rig.now().plus(days(1)));
        let first = rig.send(&account, &request).await;
        cancel(rig, &first, 0).await;
        rig.advance(days(1));
        rig.leave_all().await;
        assert_eq!(rig.status(&account, first.messages[1].id).await, MessageStatus::Sent);
        let again = rig.send(&account, &request).await;
        assert_eq!(again, first.repeated());
    }

    /// An accepted send is found under its key for as long as it is kept, in its own account, and
    /// its answer can be given again without a plan, as it was, after the messages moved on.
    async fn an_earlier_send_is_found_under_its_key(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        let mut wanted = request_with_key(1, "k").to("nonsense, 07700 900002");
        "Hi {first_name}, {nosuch}".clone_into(&mut wanted.body);
        let plan = rig.plan(&account, &wanted);
        let fingerprint = plan.idempotency.as_ref().map(|claim| claim.fingerprint);
        let find = async |of, text: &str| {
            rig.store().send_earlier(of, &key(text), rig.now()).await.expect("read")
        };
        assert_eq!(find(account.id, "k").await, None);
        let first = rig.accept(plan).await.expect("accepted");
        assert_eq!(first.gaps.unknown, ["nosuch"], "a replay tells it, too");
        assert_eq!(first.gaps.blank.len(), 1, "and who has no first name");
        let earlier = find(account.id, "k").await.expect("it is kept");
        assert_eq!(
            earlier,
            EarlierSend {
                fingerprint: fingerprint.expect("it has a key"),
                batch: first.batch,
                rejected: first.rejected.clone(),
                gaps: first.gaps.clone(),
                credits: first.credits,
                balance: first.balance,
                accepted_at: rig.now(),
            }
        );
        for (of, text) in [(account.id, "K"), (other.id, "k"), (rig.id(), "k")] {
            assert_eq!(find(of, text).await, None);
        }
        rig.leave_all().await;
        rig.adjust(&account, 50).await.expect("topped up");
        rig.advance(KEPT_FOR - millis(1));
        let kept = find(account.id, "k").await.expect("it is still kept");
        let again = rig.store().send_replay(account.id, kept).await.expect("repeated");
        assert_eq!(again, first.repeated());
        rig.advance(millis(1));
        assert_eq!(find(account.id, "k").await, None, "also when nobody tidied");
    }

    /// A send that was refused is not found under its key.
    async fn a_refused_send_is_not_found_under_its_key(rig: &Rig) {
        let account = rig.account(0).await;
        refusal_of(rig.accept(rig.plan(&account, &request_with_key(1, "k"))).await);
        let found = rig.store().send_earlier(account.id, &key("k"), rig.now()).await;
        assert_eq!(found.expect("read"), None);
    }

    /// A retry sends, takes and books nothing.
    async fn a_replay_writes_nothing(rig: &Rig) {
        let account = rig.account(10).await;
        let request = request_with_key(1, "k");
        rig.send(&account, &request).await;
        for _ in 0..3 {
            rig.send(&account, &request).await;
        }
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 1);
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (9, 2));
        assert_eq!(rig.claim_all().await.messages.len(), 1);
    }

    /// A key that was used for another request is a conflict, and nothing is written.
    async fn a_key_used_for_another_request_conflicts(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request_with_key(1, "k")).await;
        let other = rig.plan(&account, &request_with_key(2, "k"));
        assert_eq!(refusal_of(rig.accept(other).await), SendRefused::IdempotencyConflict);
        assert_eq!(rig.balance(&account).await, 9);
        let again = rig.send(&account, &request_with_key(1, "k")).await;
        assert_eq!(again.replay, Replay::Repeated, "the first send keeps the key");
    }

    /// New sends, repetitions and conflicts that come together each get their own answer, and a
    /// repetition shows the balance that the first answer showed.
    async fn new_and_repeated_sends_share_a_commit(rig: &Rig) {
        let account = rig.account(10).await;
        rig.send(&account, &request_with_key(1, "old")).await;
        let plan = |person, key| rig.plan(&account, &request_with_key(person, key));
        let together = vec![
            plan(2, "a"),
            plan(1, "old"),
            plan(3, "b"),
            plan(9, "old"),
            plan(2, "a"),
            rig.plan(&account, &request([4])),
        ];
        let answers = rig.store().send_accept(together).await;
        let seen: Vec<_> = answers
            .into_iter()
            .map(|answer| answer.map(|sent| (sent.replay, sent.balance.get())).ok())
            .collect();
        let (first, repeated) = (Replay::First, Replay::Repeated);
        let a_is_repeated = Some((repeated, 8));
        let expected = [
            Some((first, 8)),
            Some((repeated, 9)),
            Some((first, 7)),
            None,
            a_is_repeated,
            Some((first, 6)),
        ];
        assert_eq!(seen, expected);
        for (person, key, balance) in [(2, "a", 8), (3, "b", 7), (1, "old", 9)] {
            let again = rig.send(&account, &request_with_key(person, key)).await;
            assert_eq!((again.replay, again.balance.get()), (repeated, balance), "{key}");
        }
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (6, 5));
    }

    /// A live and a test send under one key are a conflict, whichever came first.
    async fn live_and_test_sends_of_one_key_conflict(rig: &Rig) {
        let account = rig.account(10).await;
        let modes = [(Mode::Live, Mode::Test, "a"), (Mode::Test, Mode::Live, "b")];
        for (first, second, key) in modes {
            let request = request_with_key(1, key);
            let plan = |mode| rig.plan_from(our_number(), &account, mode, &request);
            rig.accept(plan(first)).await.expect("accepted");
            let refused = refusal_of(rig.accept(plan(second)).await);
            assert_eq!(refused, SendRefused::IdempotencyConflict);
        }
    }

    /// The keys of two accounts do not meet.
    async fn keys_of_two_accounts_do_not_meet(rig: &Rig) {
        let (one, two) = (rig.account(5).await, rig.account(5).await);
        let first = rig.send(&one, &request_with_key(1, "k")).await;
        let second = rig.send(&two, &request_with_key(2, "k")).await;
        assert_eq!(second.replay, Replay::First);
        let again = rig.send(&one, &request_with_key(1, "k")).await;
        assert_eq!((again.replay, again.batch), (Replay::Repeated, first.batch));
    }

    /// Keys are compared exactly: case and white space make another key.
    async fn keys_are_compared_exactly(rig: &Rig) {
        let account = rig.account(10).await;
        let longest = "ключ-".repeat(40);
        for key in ["key", "Key", "key ", " key", "k_y", "k%y", &longest] {
            let sent = rig.send(&account, &request_with_key(1, key)).await;
            assert_eq!(sent.replay, Replay::First, "{key:?}");
        }
        let again = rig.send(&account, &request_with_key(1, &longest)).await;
        assert_eq!(again.replay, Replay::Repeated);
    }

    /// A key is kept for seven days and then free, also when nobody has tidied it away; the send
    /// that takes it next is the one that is known from then on.
    async fn a_key_is_kept_for_seven_days_and_then_free(rig: &Rig) {
        let account = rig.account(10).await;
        let request = request_with_key(1, "k");
        let first = rig.send(&account, &request).await;
        rig.advance(KEPT_FOR - millis(1));
        assert_eq!(rig.send(&account, &request).await.batch, first.batch);
        rig.advance(millis(1));
        let second = rig.send(&account, &request_with_key(2, "k")).await;
        assert_eq!((second.replay, second.balance.get()), (Replay::First, 8));
        let again = rig.send(&account, &request_with_key(2, "k")).await;
        assert_eq!((again.replay, again.batch), (Replay::Repeated, second.batch));
    }

    /// Tidying removes the keys accepted before a moment, in portions no larger than asked for, and
    /// no younger ones.
    async fn tidying_removes_old_keys_in_portions(rig: &Rig) {
        let account = rig.account(20).await;
        let keys = ["a", "b", "c", "d", "e"];
        for key in keys {
            rig.send(&account, &request_with_key(1, key)).await;
        }
        let younger = rig.advance(millis(1));
        rig.send(&account, &request_with_key(1, "f")).await;
        let mut removed = Vec::new();
        for _ in 0..4 {
            let count = rig.store().tidy(Chore::IdempotencyKeys { before: younger }, 2);
            let count = count.await.expect("tidied");
            removed.push(count);
        }
        assert_eq!(removed, [2, 2, 1, 0]);
        let again = rig.send(&account, &request_with_key(1, "f")).await;
        assert_eq!(again.replay, Replay::Repeated);
        for key in keys {
            let sent = rig.send(&account, &request_with_key(1, key)).await;
            assert_eq!(sent.replay, Replay::First, "{key}");
        }
    }

    /// A key that was taken again after its keep is not tidied away with its first use.
    async fn a_key_taken_again_outlives_the_tidying_of_its_first_use(rig: &Rig) {
        let account = rig.account(10).await;
        let request = request_with_key(1, "k");
        rig.send(&account, &request).await;
        rig.advance(days(8));
        let second = rig.send(&account, &request).await;
        assert_eq!(second.replay, Replay::First);
        let before = rig.now().minus(KEPT_FOR);
        let removed = rig.store().tidy(Chore::IdempotencyKeys { before }, 100);
        let removed = removed.await.expect("tidied");
        assert_eq!(removed, 0, "the first use is gone already");
        let again = rig.send(&account, &request).await;
        assert_eq!((again.replay, again.batch), (Replay::Repeated, second.batch));
    }

    /// Sends without a key are never taken for retries of each other.
    async fn sends_without_a_key_are_all_sent(rig: &Rig) {
        let account = rig.account(10).await;
        for balance in [9, 8, 7] {
            let sent = rig.send(&account, &request([1])).await;
            assert_eq!((sent.replay, sent.balance.get()), (Replay::First, balance));
        }
    }
}
