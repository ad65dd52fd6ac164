//! What a refused send leaves: nothing.

use sms_core::account::status::MayNotSend;
use sms_core::account::{Account, AccountStatus};
use sms_core::credits::Credits;
use sms_core::message::{Direction, MessageFilter};
use sms_core::sending::settle::{Replay, SendRefused};
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{credits, key, minutes, refusal_of, request, request_with_key};

/// Whether the account has sent nothing, and nothing waits to leave.
async fn nothing_was_written(rig: &Rig, account: &Account, balance: u64, entries: usize) {
    let outbound =
        MessageFilter { direction: Some(Direction::Outbound), ..MessageFilter::default() };
    assert_eq!(rig.messages(account.id, &outbound).await, []);
    assert_eq!(rig.balance(account).await, balance);
    assert_eq!(rig.ledger(account.id).await.len(), entries);
    assert_eq!(rig.next_dispatch().await, None);
}

scenarios! { Sending;
    /// A send that costs exactly the balance is accepted and leaves nothing.
    async fn a_send_of_the_whole_balance_is_accepted(rig: &Rig) {
        let account = rig.account(3).await;
        assert_eq!(rig.send(&account, &request([1, 2, 3])).await.balance, Credits::ZERO);
        assert_eq!(rig.balance(&account).await, 0);
    }

    /// A send that costs one credit more than there is is refused, says what it needs and what
    /// there is, and writes nothing; its key is still free.
    async fn a_refused_send_writes_nothing(rig: &Rig) {
        let account = rig.account(3).await;
        let wanted = request([1, 2, 3, 4]).idempotency_key(key("k"));
        let refused = refusal_of(rig.accept(rig.plan(&account, &wanted)).await);
        let (needed, balance) = (credits(4), credits(3));
        assert_eq!(refused, SendRefused::InsufficientCredit { needed, balance });
        nothing_was_written(rig, &account, 3, 1).await;
        let other = rig.send(&account, &request_with_key(1, "k")).await;
        assert_eq!(other.replay, Replay::First, "only an accepted send keeps its key");
    }

    /// Refusals hold up nothing: once there are credits, every message of the account is sent.
    async fn an_account_that_was_refused_sends_all_once_it_has_credits(rig: &Rig) {
        let account = rig.account(0).await;
        for _ in 0..4 {
            refusal_of(rig.accept(rig.plan(&account, &request([1]))).await);
        }
        rig.adjust(&account, 5).await.expect("there is room");
        let mut sent = Vec::new();
        for n in 1..=4 {
            let plans = vec![rig.plan(&account, &request([n])), rig.plan(&account, &request([n]))];
            for answer in rig.accept_all(plans).await {
                sent.extend(answer.ok().map(|sent| sent.messages[0].id));
            }
        }
        assert_eq!(sent.len(), 5, "as many as there are credits for");
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 5);
        assert_eq!(rig.balance(&account).await, 0);
        let mut claimed = rig.claim_all().await.ids();
        claimed.sort_unstable();
        assert_eq!(claimed, sent);
    }

    /// A suspended account sends with neither kind of key.
    async fn a_suspended_account_sends_nothing(rig: &Rig) {
        let account = rig.account_of(AccountStatus::Suspended, 3).await;
        for plan in [rig.plan(&account, &request([1])), rig.test_plan(&account, &request([1]))] {
            let refused = refusal_of(rig.accept(plan).await);
            assert_eq!(refused, SendRefused::MayNotSend(MayNotSend::Suspended));
        }
        nothing_was_written(rig, &account, 3, 1).await;
    }

    /// A pending account sends tests and nothing else; once approved, it sends.
    async fn a_pending_account_sends_tests_only(rig: &Rig) {
        let account = rig.account_of(AccountStatus::Pending, 3).await;
        let refused = refusal_of(rig.accept(rig.plan(&account, &request([1]))).await);
        assert_eq!(refused, SendRefused::MayNotSend(MayNotSend::Pending));
        nothing_was_written(rig, &account, 3, 1).await;
        assert_eq!(rig.send_test(&account, &request([1])).await.messages.len(), 1);
        rig.set_status(&account, AccountStatus::Active).await;
        assert_eq!(rig.send(&account, &request([1])).await.balance.get(), 2);
    }

    /// The status that counts is the one at the commit, not the one at planning.
    async fn an_account_suspended_since_planning_is_refused(rig: &Rig) {
        let account = rig.account(3).await;
        let plan = rig.plan(&account, &request([1]));
        rig.set_status(&account, AccountStatus::Suspended).await;
        let refused = refusal_of(rig.accept(plan).await);
        assert_eq!(refused, SendRefused::MayNotSend(MayNotSend::Suspended));
        nothing_was_written(rig, &account, 3, 1).await;
    }

    /// An account that does not exist sends nothing.
    async fn an_unknown_account_is_refused(rig: &Rig) {
        let unknown = rig.new_account(AccountStatus::Active, 3).account;
        for plan in [rig.plan(&unknown, &request([1])), rig.test_plan(&unknown, &request([1]))] {
            assert_eq!(refusal_of(rig.accept(plan).await), SendRefused::NoSuchAccount);
        }
        assert_eq!(rig.next_dispatch().await, None);
    }

    /// A plan to send a message to someone who has opted out since is out of date, and nothing of
    /// it is written, its key included.
    async fn an_opt_out_since_planning_makes_the_plan_stale(rig: &Rig) {
        let account = rig.account(5).await;
        let request = request([1, 2, 3]).idempotency_key(key("k"));
        let plan = rig.plan(&account, &request);
        rig.opt_out(&account, 2).await;
        let answer = rig.accept(plan).await;
        assert!(matches!(answer, Err(CommitError::Stale)), "{answer:?}");
        nothing_was_written(rig, &account, 5, 1).await;
        assert_eq!(rig.send(&account, &request_with_key(1, "k")).await.replay, Replay::First);
    }

    /// A test send respects opt-outs too.
    async fn an_opt_out_since_planning_makes_a_test_plan_stale(rig: &Rig) {
        let account = rig.account(5).await;
        let plan = rig.test_plan(&account, &request([1]));
        rig.opt_out(&account, 1).await;
        assert!(matches!(rig.accept(plan).await, Err(CommitError::Stale)));
        nothing_was_written(rig, &account, 5, 1).await;
    }

    /// Who opted out of one account's messages can still be sent messages by another.
    async fn an_opt_out_of_another_account_does_not_matter(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(5).await);
        rig.opt_out(&other, 1).await;
        assert_eq!(rig.send(&account, &request([1])).await.messages.len(), 1);
    }

    /// A retry is answered as the first time, whatever has become of the account meanwhile.
    async fn a_replay_is_answered_whatever_became_of_the_account(rig: &Rig) {
        let account = rig.account(1).await;
        let request = request_with_key(1, "k");
        let first = rig.send(&account, &request).await;
        rig.leave_all().await;
        rig.opt_out(&account, 1).await;
        rig.set_status(&account, AccountStatus::Suspended).await;
        rig.advance(minutes(1));
        let again = rig.send(&account, &request).await;
        assert_eq!((again.replay, again.batch), (Replay::Repeated, first.batch));
        assert_eq!((again.messages, again.balance), (first.messages, first.balance));
    }
}
