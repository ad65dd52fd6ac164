//! Many workers at once.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::dispatch::{LEASE, OutcomeRecorded};
use sms_core::event::EventType;
use sms_core::ids::MessageId;
use sms_core::message::MessageStatus;

use crate::Rig;
use crate::rig::{refused, request, taken};

const SENT: OutcomeRecorded = OutcomeRecorded::Done(MessageStatus::Sent);

scenarios! { Dispatch;
    /// Eight workers claim a thousand messages: each message is claimed by exactly one.
    async fn many_workers_claim_each_message_exactly_once(rig: &Rig) {
        let (one, two) = (rig.account(500).await, rig.account(500).await);
        for part in 0..5 {
            rig.send(&one, &request(part * 100..part * 100 + 100)).await;
            rig.send(&two, &request(part * 100..part * 100 + 100)).await;
        }
        rig.provide_our_number().await;
        let worker = |_| {
            let store = rig.store().clone();
            let plans: Vec<_> = (0..28).map(|_| rig.claim_plan(37)).collect();
            let act = async move {
                let mut hands: Vec<MessageId> = Vec::new();
                for plan in plans {
                    let claimed = store.dispatch_claim(plan).await.expect("claimed");
                    if claimed.messages.is_empty() {
                        break;
                    }
                    hands.extend(claimed.messages.iter().map(|text| text.message));
                }
                hands
            };
            act.boxed()
        };
        let mut times: BTreeMap<MessageId, u32> = BTreeMap::new();
        let mut claimed: Vec<_> = rig.race((0..8).map(worker).collect()).concat();
        // A worker may find everything held by claims that have not finished, and stop.
        claimed.extend(rig.claim_all().await.ids());
        for id in claimed {
            *times.entry(id).or_default() += 1;
        }
        assert_eq!(times.len(), 1_000);
        assert!(times.values().all(|count| *count == 1), "a text was claimed twice");
    }

    /// One outcome is recorded by many at once: it counts once.
    async fn of_racing_records_of_one_outcome_one_counts(rig: &Rig) {
        let account = rig.account(10).await;
        let endpoint = rig.endpoint(&account, &EventType::SUBSCRIBABLE).await;
        let message = rig.text(&account, 1).await;
        let hand = rig.claim_all().await;
        let plans: Vec<_> =
            (0..8).map(|_| rig.outcome(message.id, hand.token, refused())).collect();
        let recorded = rig.race_each(plans, |store, plan| async move {
            store.dispatch_record(vec![plan]).await.expect("recorded").remove(0)
        });
        let done = |recorded: &&OutcomeRecorded| matches!(recorded, OutcomeRecorded::Done(_));
        assert_eq!(recorded.iter().filter(done).count(), 1);
        assert_eq!((rig.balance(&account).await, rig.deliveries(&endpoint).await.len()), (10, 1));
    }

    /// A slow worker's outcomes race with another's claims: each message is either settled by the
    /// one or taken over by the other.
    async fn a_late_outcome_and_a_new_claim_never_both_win(rig: &Rig) {
        let account = rig.account(40).await;
        rig.send(&account, &request(1..=40)).await;
        let slow = rig.claim_all().await;
        rig.advance(LEASE);
        let mut futures: Vec<BoxFuture<'static, (Vec<MessageId>, Vec<MessageId>)>> = Vec::new();
        for chunk in slow.messages.chunks(5) {
            let ids: Vec<MessageId> = chunk.iter().map(|text| text.message).collect();
            let plans = ids.iter().map(|id| rig.outcome(*id, slow.token, taken())).collect();
            let (store, claim) = (rig.store().clone(), rig.claim_plan(5));
            let record = async move {
                let recorded = store.dispatch_record(plans).await.expect("recorded");
                let sent = ids.into_iter().zip(recorded).filter(|(_, result)| *result == SENT);
                (sent.map(|(id, _)| id).collect(), Vec::new())
            };
            let store = rig.store().clone();
            let claim = async move {
                let claimed = store.dispatch_claim(claim).await.expect("claimed");
                (Vec::new(), claimed.messages.iter().map(|text| text.message).collect())
            };
            futures.extend([record.boxed(), claim.boxed()]);
        }
        let (sent, mut taken): (Vec<_>, Vec<_>) = rig.race(futures).into_iter().unzip();
        taken.push(rig.claim_all().await.ids());
        let (sent, taken) = (sent.concat(), taken.concat());
        assert_eq!(sent.len() + taken.len(), 40);
        for id in sent {
            assert_eq!(rig.status(&account, id).await, MessageStatus::Sent);
        }
        for id in taken {
            assert_eq!(rig.status(&account, id).await, MessageStatus::Sending);
        }
    }

    /// Refunds race with sends of the same credits: nothing is lost, nothing is made.
    async fn refunds_that_race_with_sends_keep_the_balance(rig: &Rig) {
        let account = rig.account(30).await;
        rig.send(&account, &request(1..=30)).await;
        let hand = rig.claim_all().await;
        let mut futures: Vec<BoxFuture<'static, u64>> = Vec::new();
        for chunk in hand.messages.chunks(3) {
            let plans = chunk.iter().map(|text| rig.outcome(text.message, hand.token, refused()));
            let (store, plans) = (rig.store().clone(), plans.collect());
            let record = async move {
                store.dispatch_record(plans).await.expect("recorded");
                0
            };
            let (store, plan) = (rig.store().clone(), rig.plan(&account, &request([1, 2])));
            let send = async move {
                let answer = store.send_accept(vec![plan]).await.remove(0);
                answer.map_or(0, |sent| sent.credits.get())
            };
            futures.extend([record.boxed(), send.boxed()]);
        }
        let spent: u64 = rig.race(futures).into_iter().sum();
        assert_eq!(rig.balance(&account).await, 30 - spent);
    }

    /// Calls that refund several accounts in opposite orders do not block each other.
    async fn racing_records_over_the_same_accounts_all_end(rig: &Rig) {
        let (one, two) = (rig.account(50).await, rig.account(50).await);
        rig.send(&one, &request(1..=50)).await;
        rig.send(&two, &request(1..=50)).await;
        let hand = rig.claim_all().await;
        let (of_one, of_two) = hand.messages.split_at(50);
        let calls: Vec<Vec<_>> = of_one
            .chunks(5)
            .zip(of_two.chunks(5))
            .enumerate()
            .map(|(n, (first, second))| {
                let order = if n % 2 == 0 { [first, second] } else { [second, first] };
                let messages = order.into_iter().flatten();
                messages.map(|text| rig.outcome(text.message, hand.token, refused())).collect()
            })
            .collect();
        rig.race_each(calls, |store, plans| async move {
            store.dispatch_record(plans).await.expect("recorded")
        });
        assert_eq!((rig.balance(&one).await, rig.balance(&two).await), (50, 50));
    }
}
