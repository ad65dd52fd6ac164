//! A store may remember facts of an account from its last send. Whatever changes between two sends
//! counts for the second.

use sms_core::account::status::MayNotSend;
use sms_core::account::{Account, AccountStatus, Mode};
use sms_core::conversation::ConversationFilter;
use sms_core::opt_out::{OptOut, OptOutSource};
use sms_core::sending::settle::SendRefused;
use sms_core::sending::{SendPlan, Sent};
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{credits, millis, page, person, refusal_of, request, request_with_key};

/// Sends twice, so that a store remembers what it can.
async fn warm_up(rig: &Rig, account: &Account) {
    rig.provide_our_number().await;
    for to in [31, 32] {
        rig.accept(rig.held_plan(account, &request([to]))).await.expect("accepted");
    }
}

async fn assert_stale(rig: &Rig, plan: SendPlan) {
    let answer = rig.accept(plan).await;
    assert!(matches!(answer, Err(CommitError::Stale)), "{answer:?}");
}

scenarios! { Sending;
    /// An account that is suspended between two sends sends nothing, and sends again once it is
    /// active.
    async fn a_status_that_changed_between_two_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        warm_up(rig, &account).await;
        rig.set_status(&account, AccountStatus::Suspended).await;
        let refused = refusal_of(rig.accept(rig.plan(&account, &request([1]))).await);
        assert_eq!(refused, SendRefused::MayNotSend(MayNotSend::Suspended));
        rig.set_status(&account, AccountStatus::Active).await;
        rig.accept(rig.plan(&account, &request([1]))).await.expect("accepted");
        assert_eq!(rig.balance(&account).await, 7);
    }

    /// A number that opts out between two sends gets nothing of the second, whether it is the first
    /// opt-out of the account or a further one. Others do.
    async fn an_opt_out_between_two_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        warm_up(rig, &account).await;
        for to in [1, 2] {
            rig.opt_out(&account, to).await;
            assert_stale(rig, rig.plan(&account, &request([to]))).await;
            rig.accept(rig.plan(&account, &request([to + 10]))).await.expect("accepted");
        }
        assert_eq!(rig.balance(&account).await, 6);
    }

    /// Credits that were taken between two sends are gone, and those that came are there.
    async fn a_balance_that_changed_between_two_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        warm_up(rig, &account).await;
        rig.adjust(&account, -7).await.expect("adjusted");
        let refused = refusal_of(rig.accept(rig.plan(&account, &request([1, 2]))).await);
        let (needed, balance) = (credits(2), credits(1));
        assert_eq!(refused, SendRefused::InsufficientCredit { needed, balance });
        rig.adjust(&account, 5).await.expect("adjusted");
        let sent = rig.accept(rig.plan(&account, &request([1, 2]))).await.expect("accepted");
        assert_eq!(sent.balance, credits(4));
    }

    /// Of sends that are committed together, those that no longer fit are refused, and each of the
    /// others answers with the balance that it left. The ledger has them in order.
    async fn sends_committed_together_answer_with_the_balance_that_each_left(rig: &Rig) {
        let account = rig.account(10).await;
        warm_up(rig, &account).await;
        let plans = (1..=4).map(|n| rig.plan(&account, &request([n, n + 10]))).collect();
        let answers = rig.accept_all(plans).await;
        let left = answers.into_iter().map(|sent| sent.expect("accepted").balance.get());
        assert_eq!(left.collect::<Vec<_>>(), [6, 4, 2, 0]);
        let ledger = rig.ledger(account.id).await;
        let after = ledger.iter().take(4).map(|entry| entry.balance_after.get());
        assert_eq!(after.collect::<Vec<_>>(), [0, 2, 4, 6]);
        let tight = (1..=2).map(|n| rig.plan(&account, &request([n]))).collect();
        for refused in rig.accept_all(tight).await {
            assert!(matches!(refusal_of(refused), SendRefused::InsufficientCredit { .. }));
        }
    }

    /// A number that is released between two held sends carries nothing of the second.
    async fn a_number_released_between_two_held_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let held = || {
            let mut plan = rig.plan_from(number.phone, &account, Mode::Live, &request([1]));
            plan.hold(rig.claim_plan(1).lease);
            plan
        };
        for _ in 0..2 {
            rig.accept(held()).await.expect("accepted");
        }
        rig.release(&number).await;
        assert_stale(rig, held()).await;
        assert_eq!(rig.balance(&account).await, 8);
    }

    /// Sends of many accounts share commits, and each account pays for its own.
    async fn sends_of_several_accounts_that_share_a_commit_take_each_its_own(rig: &Rig) {
        let (one, two, poor) = (rig.account(10).await, rig.account(20).await, rig.account(1).await);
        for account in [&one, &two] {
            warm_up(rig, account).await;
        }
        let plans = vec![
            rig.plan(&two, &request([1, 2, 3])),
            rig.plan(&one, &request([1])),
            rig.plan(&two, &request([4])),
        ];
        let balances = |answers: Vec<Result<Sent, CommitError<SendRefused>>>| {
            let left = answers.into_iter().map(|sent| sent.ok().map(|sent| sent.balance.get()));
            left.collect::<Vec<_>>()
        };
        assert_eq!(balances(rig.accept_all(plans).await), [Some(15), Some(7), Some(14)]);
        let plans = vec![
            rig.plan(&one, &request([5])),
            rig.plan(&poor, &request([6, 7])),
            rig.plan(&two, &request([8])),
        ];
        assert_eq!(balances(rig.accept_all(plans).await), [Some(6), None, Some(13)]);
        assert_eq!(rig.balance(&poor).await, 1);
    }

    /// A person whose STOP comes between two sends gets nothing of the second.
    async fn a_stop_between_two_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        warm_up(rig, &account).await;
        rig.inbound_routed(1, number.phone, "STOP").await;
        assert_stale(rig, rig.plan(&account, &request([1, 2]))).await;
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (8, 3));
        rig.accept(rig.plan(&account, &request([2]))).await.expect("accepted");
    }

    /// A person who opts in again between two sends gets the second.
    async fn an_opt_out_that_ends_between_two_sends_no_longer_counts(rig: &Rig) {
        let account = rig.account(10).await;
        rig.opt_out(&account, 1).await;
        warm_up(rig, &account).await;
        assert_stale(rig, rig.plan(&account, &request([1]))).await;
        assert!(rig.store().opt_out_delete(account.id, person(1)).await.expect("deleted"));
        rig.accept(rig.plan(&account, &request([1]))).await.expect("accepted");
    }

    /// A conversation that begins between two sends is carried on by the second.
    async fn a_conversation_that_begins_between_two_sends_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let number = rig.dedicated_number(person(900), &account).await;
        warm_up(rig, &account).await;
        rig.inbound_routed(1, number.phone, "Hello").await;
        rig.advance(millis(5));
        let sent = rig.accept(rig.plan(&account, &request([1]))).await.expect("accepted");
        let all = ConversationFilter::default();
        let listed = rig.store().conversation_list(account.id, &all, page(10, None)).await;
        let listed = listed.expect("listed").items;
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].last_message.id, sent.messages[0].id);
    }

    /// A repeated send answers as the first one, wherever it stands among others, and test sends
    /// and refused ones share commits with them.
    async fn sends_of_all_kinds_share_commits(rig: &Rig) {
        let account = rig.account(10).await;
        warm_up(rig, &account).await;
        let keyed = request_with_key(1, "once");
        let first = rig.accept(rig.plan(&account, &keyed)).await.expect("accepted");
        let plans = vec![
            rig.plan(&account, &request([2])),
            rig.plan(&account, &keyed),
            rig.test_plan(&account, &request([3])),
            rig.plan(&account, &request(1..=7)),
            rig.plan(&account, &request([4])),
        ];
        let mut answers = rig.accept_all(plans).await.into_iter();
        let mut next = || answers.next().expect("an answer");
        assert_eq!(next().expect("accepted").balance, credits(6));
        assert_eq!(next().expect("repeated"), first.repeated());
        assert_eq!(next().expect("accepted").balance, credits(6));
        assert!(matches!(refusal_of(next()), SendRefused::InsufficientCredit { .. }));
        assert_eq!(next().expect("accepted").balance, credits(5));
        assert_eq!(rig.balance(&account).await, 5);
    }

    /// Sends that race with credits being taken never spend what is not there, and what they spent
    /// and what was taken adds up.
    async fn sends_that_race_with_the_balance_never_spend_what_is_not_there(rig: &Rig) {
        let account = rig.account(40).await;
        warm_up(rig, &account).await;
        let plans = (1..=40).map(|n| rig.plan(&account, &request([n])));
        let calls: Vec<_> = plans.map(|plan| (plan, rig.adjust_plan(account.id, -1))).collect();
        let done = rig.race_each(calls, |store, (plan, adjust)| async move {
            let sent = store.send_accept(vec![plan]).await.remove(0).is_ok();
            let taken = store.credits_adjust(adjust, None).await.is_ok();
            u64::from(sent) + u64::from(taken)
        });
        let spent: u64 = done.iter().sum();
        assert_eq!((spent, rig.balance(&account).await), (38, 0));
        let ledger = rig.ledger(account.id).await;
        let pairs = ledger.iter().zip(ledger.iter().skip(1));
        for (later, earlier) in pairs {
            let before = i64::try_from(earlier.balance_after.get()).expect("small");
            let after = i64::try_from(later.balance_after.get()).expect("small");
            assert_eq!(before + later.amount.get(), after, "{later:?}");
        }
    }

    /// Opt-outs that race with sends: whoever was not opted out before is charged once, and
    /// nobody's send is both refused and charged.
    async fn sends_that_race_with_opt_outs_cost_what_was_accepted(rig: &Rig) {
        let account = rig.account(100).await;
        warm_up(rig, &account).await;
        let call = |n| {
            let plan = || rig.plan(&account, &request([n]));
            let (phone, source, created_at) = (person(n), OptOutSource::Api, rig.now());
            (plan(), OptOut { phone, source, note: None, created_at }, plan())
        };
        let calls: Vec<_> = (1..=30).map(call).collect();
        let id = account.id;
        let done = rig.race_each(calls, move |store, (plan, opt_out, again)| async move {
            let first = store.send_accept(vec![plan]).await.remove(0).is_ok();
            let created = store.opt_out_create(id, opt_out, None).await;
            drop(created.expect("opted out"));
            let second = store.send_accept(vec![again]).await.remove(0);
            (first, matches!(second, Err(CommitError::Stale)))
        });
        let accepted = done.iter().filter(|(first, _)| *first).count();
        let stale = done.iter().filter(|(_, second)| *second).count();
        assert_eq!((accepted, rig.balance(&account).await), (30, 98 - 30));
        assert_eq!(stale, 30, "a send after an opt-out was accepted");
    }
}
