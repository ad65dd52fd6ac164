//! Sends at once.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::inbound::Origin;
use sms_core::message::{ErrorCode, MessageFilter, MessageStatus};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{Replay, SendRefused, Sent};
use sms_core::store::CommitError;

use crate::Rig;
use crate::rig::{done, key, person, refusal_of, request, request_with_key};

type Answer = Result<Sent, CommitError<SendRefused>>;

/// Commits each plan by a separate call, all at once.
fn race_sends(rig: &Rig, plans: Vec<SendPlan>) -> Vec<Answer> {
    rig.race_each(plans, |store, plan| async move { store.send_accept(vec![plan]).await.remove(0) })
}

scenarios! { Sending;
    /// Twenty sends of ten credits race for a hundred: exactly ten win, and each leaves another
    /// balance.
    async fn racing_sends_never_overdraw(rig: &Rig) {
        let account = rig.account(100).await;
        let plans = (0..20).map(|n| rig.plan(&account, &request(n * 10..n * 10 + 10))).collect();
        let (won, lost): (Vec<_>, Vec<_>) =
            race_sends(rig, plans).into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (10, 10));
        let balances: BTreeSet<u64> =
            won.into_iter().map(|answer| answer.expect("won").balance.get()).collect();
        assert_eq!(balances, (0..10).map(|n| n * 10).collect());
        for answer in lost {
            assert!(matches!(refusal_of(answer), SendRefused::InsufficientCredit { .. }));
        }
        assert_eq!(rig.balance(&account).await, 0);
        assert_eq!(rig.claim_all().await.messages.len(), 100);
    }

    /// Sixteen copies of one request under one key race: one sends, and all get its answer.
    async fn racing_copies_of_one_key_send_once(rig: &Rig) {
        let account = rig.account(100).await;
        let request = request([1, 2]).to("nonsense").idempotency_key(key("k"));
        let plans = (0..16).map(|_| rig.plan(&account, &request)).collect();
        let answers = race_sends(rig, plans).into_iter().map(|answer| answer.expect("an answer"));
        let (first, repeated): (Vec<_>, Vec<_>) =
            answers.partition(|sent| sent.replay == Replay::First);
        assert_eq!((first.len(), repeated.len()), (1, 15));
        let expected = first[0].clone().repeated();
        for sent in repeated {
            assert_eq!(sent, expected);
        }
        assert_eq!(rig.balance(&account).await, 98);
        assert_eq!(rig.messages(account.id, &MessageFilter::default()).await.len(), 2);
    }

    /// Different requests under one key race: one sends, and the others conflict.
    async fn racing_requests_under_one_key_conflict(rig: &Rig) {
        let account = rig.account(100).await;
        let plans = (1..=12).map(|n| rig.plan(&account, &request_with_key(n, "k"))).collect();
        let (won, lost): (Vec<_>, Vec<_>) =
            race_sends(rig, plans).into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 11));
        for answer in lost {
            assert_eq!(refusal_of(answer), SendRefused::IdempotencyConflict);
        }
        assert_eq!(rig.balance(&account).await, 99);
    }

    /// Sends race with top-ups and adjustments: the balance is what those that succeeded add up to.
    async fn racing_sends_and_adjustments_add_up(rig: &Rig) {
        let account = rig.account(10).await;
        let store = || rig.store().clone();
        let mut futures: Vec<BoxFuture<'static, i64>> = Vec::new();
        for n in 0..10 {
            let (send_store, plan) = (store(), rig.plan(&account, &request(n * 3..n * 3 + 3)));
            let send = async move {
                let answer = send_store.send_accept(vec![plan]).await.remove(0);
                answer.map_or(0, |sent| sent.credits.loss().get())
            };
            let amount = if n % 2 == 0 { 4 } else { -2 };
            let (adjust_store, plan) = (store(), rig.adjust_plan(account.id, amount));
            let adjust =
                async move { adjust_store.credits_adjust(plan, None).await.map_or(0, |_| amount) };
            futures.extend([send.boxed(), adjust.boxed()]);
        }
        let change: i64 = rig.race(futures).into_iter().sum();
        assert_eq!(i64::try_from(rig.balance(&account).await), Ok(10 + change));
    }

    /// Calls that hold plans of several accounts in opposite orders do not block each other.
    async fn racing_calls_over_the_same_accounts_all_end(rig: &Rig) {
        let (one, two) = (rig.account(100).await, rig.account(100).await);
        let calls: Vec<Vec<SendPlan>> = (0..16)
            .map(|n| {
                let mut plans = vec![
                    rig.plan(&one, &request([n])),
                    rig.plan(&two, &request([n])),
                    rig.plan(&one, &request([n + 100])),
                ];
                plans.rotate_left(usize::from(n % 3));
                plans
            })
            .collect();
        let answers =
            rig.race_each(calls, |store, plans| async move { store.send_accept(plans).await });
        assert_eq!(answers.iter().flatten().filter(|answer| answer.is_ok()).count(), 48);
        assert_eq!((rig.balance(&one).await, rig.balance(&two).await), (68, 84));
    }

    /// Sends race with a STOP of the person: what was accepted before it is never handed over, and
    /// what comes after it is out of date.
    async fn a_stop_that_races_with_sends_silences_them_all(rig: &Rig) {
        let account = rig.account(20).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let mut futures: Vec<BoxFuture<'static, Option<Answer>>> = Vec::new();
        for n in 0..12 {
            if n == 6 {
                let store = rig.store().clone();
                let stop = rig.inbound_plan(1, number.phone, "STOP", Origin::Network);
                let take = async move {
                    done(store.inbound_take(stop, None).await).expect("taken in");
                    None
                };
                futures.push(take.boxed());
            }
            let (store, plan) = (rig.store().clone(), rig.plan(&account, &request([1])));
            let send = async move { Some(store.send_accept(vec![plan]).await.remove(0)) };
            futures.push(send.boxed());
        }
        let mut accepted = 0;
        for answer in rig.race(futures).into_iter().flatten() {
            match answer {
                Ok(_) => accepted += 1,
                Err(CommitError::Stale) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let hand = rig.claim_all().await;
        assert_eq!((hand.messages, hand.failed), (Vec::new(), accepted));
        let failed = MessageFilter { status: Some(MessageStatus::Failed), ..Default::default() };
        let failed = rig.messages(account.id, &failed).await;
        assert!(failed.iter().all(|text| text.error == Some(ErrorCode::OptedOut)));
        assert_eq!(rig.balance(&account).await, 20);
    }
}
