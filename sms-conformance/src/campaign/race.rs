//! Campaigns and others at once.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::Mode;
use sms_core::campaign::cancel::CancelRefused;
use sms_core::campaign::launch::LaunchRefused;
use sms_core::campaign::{Campaign, CampaignChange, CampaignStatus, EditRefused};
use sms_core::idempotency::{Once, Owner};
use sms_core::message::{Body, MessageStatus};
use sms_core::receipt::ReceiptStatus;
use sms_core::store::CommitError;
use sms_core::upkeep::Chore;
use sms_core::version::IfVersion::Any;

use crate::Rig;
use crate::rig::{refusal_of, request, taken};

scenarios! { Campaign;
    /// Many launch one campaign at once: one succeeds, and the others learn that.
    async fn racing_launches_launch_once(rig: &Rig) {
        let account = rig.account(100).await;
        let draft = rig.draft(&account, &rig.list_of(&account, 1..=9).await).await;
        let plans = (0..6).map(|_| rig.launch_plan(&account, &draft, Mode::Live, None));
        let answers = rig.race_each(plans.collect::<Vec<_>>(), |store, plan| async move {
            crate::rig::done(store.campaign_launch(plan, None).await)
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 5));
        for answer in lost {
            assert_eq!(refusal_of(answer), LaunchRefused::AlreadyLaunched);
        }
        assert_eq!((rig.balance(&account).await, rig.messages_of(&draft).await.len()), (91, 9));
    }

    /// Copies of one launch race with one idempotency key: one launches the campaign, and the
    /// others find it.
    async fn racing_copies_of_a_launch_launch_once(rig: &Rig) {
        let account = rig.account(100).await;
        let draft = rig.draft(&account, &rig.list_of(&account, 1..=9).await).await;
        let claim = rig.key_claim(Owner::Account(account.id), "k", "this");
        let plans = (0..6).map(|_| rig.launch_plan(&account, &draft, Mode::Live, None));
        let answers = rig.race_each(plans.collect::<Vec<_>>(), |store, plan| {
            let claim = claim.clone();
            async move { store.campaign_launch(plan, Some(&claim)).await }
        });
        let once = answers.into_iter().map(|answer| answer.expect("launched once"));
        let (won, again): (Vec<_>, Vec<_>) = once.partition(|one| matches!(one, Once::Done(_)));
        assert_eq!((won.len(), again.len()), (1, 5));
        assert_eq!((rig.balance(&account).await, rig.messages_of(&draft).await.len()), (91, 9));
    }

    /// Launches of several campaigns and sends race for the same credits: what was taken is what
    /// the winners cost.
    async fn racing_launches_and_sends_never_overdraw(rig: &Rig) {
        let account = rig.account(20).await;
        let list = rig.list_of(&account, 1..=6).await;
        let mut futures: Vec<BoxFuture<'static, u64>> = Vec::new();
        for n in 0..6 {
            let draft = rig.draft(&account, &list).await;
            let (store, plan) =
                (rig.store().clone(), rig.launch_plan(&account, &draft, Mode::Live, None));
            let launch = async move {
                let answer = crate::rig::done(store.campaign_launch(plan, None).await);
                answer.map_or(0, |campaign| campaign.launch.expect("launched").credits.get())
            };
            let (store, plan) =
                (rig.store().clone(), rig.plan(&account, &request([100 + n, 200 + n])));
            let send = async move {
                store.send_accept(vec![plan]).await.remove(0).map_or(0, |sent| sent.credits.get())
            };
            futures.extend([launch.boxed(), send.boxed()]);
        }
        let taken: u64 = rig.race(futures).into_iter().sum();
        assert_eq!(rig.balance(&account).await, 20 - taken);
        assert!(taken >= 16, "the credits were not used");
    }

    /// A launch races with edits and with the removal of the draft: it launches what was planned,
    /// or nothing.
    async fn a_launch_that_races_with_an_edit_launches_what_was_planned(rig: &Rig) {
        let account = rig.account(100).await;
        for round in 0..8u32 {
            let draft = rig.draft(&account, &rig.list_of(&account, 1..=4).await).await;
            let plan = rig.launch_plan(&account, &draft, Mode::Live, None);
            let (one, two) = (rig.store().clone(), rig.store().clone());
            let (account_id, id, at) = (account.id, draft.id, rig.now());
            let launch = async move {
                match crate::rig::done(one.campaign_launch(plan, None).await) {
                    Ok(_) => None,
                    Err(CommitError::Stale) => Some(LaunchRefused::AlreadyLaunched),
                    Err(CommitError::Refused(reason)) => Some(reason),
                    Err(error) => panic!("{error}"),
                }
            };
            let edit = async move {
                let result = if round % 2 == 0 {
                    let body = Some(Body::new("Other words"));
                    let change = CampaignChange { body, ..CampaignChange::default() };
                    two.campaign_update(account_id, id, change, at).await.map(drop)
                } else {
                    two.campaign_delete(account_id, id, Any).await
                };
                if let Err(error) = result {
                    let late = matches!(error, CommitError::Refused(EditRefused::NotDraft));
                    assert!(late, "{error}");
                }
                None
            };
            let refused = rig.race(vec![launch.boxed(), edit.boxed()]).remove(0);
            let messages = rig.messages_of(&draft).await;
            let expected = if refused.is_none() { 4 } else { 0 };
            assert_eq!(messages.len(), expected, "{refused:?}");
            assert!(messages.iter().all(|text| text.body == draft.body));
        }
    }

    /// A launch races with the removal of its list: it sends to the whole list, or to no one.
    async fn a_launch_that_races_with_the_end_of_its_list_is_whole(rig: &Rig) {
        let account = rig.account(100).await;
        for _ in 0..8 {
            let list = rig.list_of(&account, 1..=9).await;
            let draft = rig.draft(&account, &list).await;
            let plan = rig.launch_plan(&account, &draft, Mode::Live, None);
            let (one, two) = (rig.store().clone(), rig.store().clone());
            let launch = async move {
                match crate::rig::done(one.campaign_launch(plan, None).await) {
                    Ok(_) => true,
                    Err(CommitError::Refused(LaunchRefused::NoSuchList(_))) => false,
                    Err(error) => panic!("{error:?}"),
                }
            };
            let (account_id, list_id) = (list.account, list.id);
            let remove =
                async move { two.list_delete(account_id, list_id, Any).await.expect("removed") };
            let launched = rig.race(vec![launch.boxed(), remove.boxed()])[0];
            assert_eq!(rig.messages_of(&draft).await.len(), if launched { 9 } else { 0 });
        }
    }

    /// A cancel races with workers, which is decided message by message: each message was taken, or
    /// was cancelled and refunded.
    async fn a_cancel_that_races_with_workers_is_decided_message_by_message(rig: &Rig) {
        let account = rig.account(100).await;
        rig.provide_our_number().await;
        let campaign = rig.launched(&account, 1..=40).await;
        let mut futures: Vec<BoxFuture<'static, usize>> = Vec::new();
        for _ in 0..6 {
            let (store, plan) = (rig.store().clone(), rig.claim_plan(5));
            let claim = async move {
                store.dispatch_claim(plan).await.expect("claimed").messages.len()
            };
            futures.push(claim.boxed());
        }
        let (store, mark) = (rig.store().clone(), rig.campaign_cancel_plan(&campaign));
        let sweeps: Vec<_> = (0..14).map(|_| rig.sweep_plan(&campaign, 3)).collect();
        let cancel = async move {
            store.campaign_cancel(mark).await.expect("cancelled");
            for sweep in sweeps {
                store.campaign_sweep(sweep).await.expect("swept");
            }
            0
        };
        futures.push(cancel.boxed());
        let taken: usize = rig.race(futures).into_iter().sum();
        let counts = rig.counts(&campaign).await;
        let taken = u64::try_from(taken).expect("few");
        assert_eq!(counts.of(MessageStatus::Sending), taken);
        assert_eq!(counts.of(MessageStatus::Cancelled), 40 - taken);
        assert_eq!(rig.balance(&account).await, 100 - taken);
        let now = rig.campaign_now(&campaign).await.expect("there");
        assert_eq!(now.status(rig.now()), CampaignStatus::Cancelled);
    }

    /// Sweeps of one campaign, receipts and outcomes of its messages, and folds race: every message
    /// ends once, and counts are a recount.
    async fn sweeps_receipts_outcomes_and_folds_race(rig: &Rig) {
        let account = rig.account(100).await;
        let campaign = rig.launched(&account, 1..=30).await;
        let hand = rig.claim(12).await;
        rig.mark_cancelled(&campaign).await.expect("cancelled");
        let mut futures: Vec<BoxFuture<'static, ()>> = Vec::new();
        for n in 0..4 {
            let (store, plan) = (rig.store().clone(), rig.sweep_plan(&campaign, 5));
            let sweep = async move {
                store.campaign_sweep(plan).await.expect("swept");
            };
            futures.push(sweep.boxed());
            let part = &hand.messages[n * 3..n * 3 + 3];
            let outcomes =
                part.iter().map(|text| rig.outcome(text.message, hand.token, taken())).collect();
            let receipts = part
                .iter()
                .map(|text| rig.receipt(text.message, ReceiptStatus::Delivered))
                .collect();
            let store = rig.store().clone();
            let record = async move {
                store.dispatch_record(outcomes).await.expect("recorded");
            };
            futures.push(record.boxed());
            let store = rig.store().clone();
            futures.push(
                async move {
                    for recorded in store.receipts_record(receipts).await {
                        recorded.expect("recorded");
                    }
                }
                .boxed(),
            );
            let store = rig.store().clone();
            let fold = async move {
                store.tidy(Chore::CampaignCounts, 3).await.expect("folded");
            };
            futures.push(fold.boxed());
        }
        rig.race(futures);
        rig.sweep(&campaign).await;
        let counts = rig.counts(&campaign).await;
        assert_eq!(counts.of(MessageStatus::Cancelled), 18);
        assert_eq!(counts.of(MessageStatus::Sent) + counts.of(MessageStatus::Delivered), 12);
        assert_eq!(rig.balance(&account).await, 88);
    }

    /// Many cancel one campaign at once: one does.
    async fn racing_cancels_cancel_once(rig: &Rig) {
        let account = rig.account(10).await;
        let campaign: Campaign = rig.launched(&account, 1..=3).await;
        let plans = vec![rig.campaign_cancel_plan(&campaign); 6];
        let answers = rig
            .race_each(plans, |store, plan| async move { store.campaign_cancel(plan).await });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 5));
        for answer in lost {
            let reason = CancelRefused::NotCancellable(CampaignStatus::Cancelled);
            assert_eq!(refusal_of(answer), reason);
        }
        rig.sweep(&campaign).await;
        assert_eq!(rig.balance(&account).await, 10);
    }
}
