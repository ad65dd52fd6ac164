//! Statistics: exact over any period, whatever happened, and while totals are folded.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sms_core::account::Account;
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, MessageFilter, MessageStatus};
use sms_core::random::SplitMix;
use sms_core::receipt::ReceiptStatus;
use sms_core::statistics::{Counted, Counts, Period};
use sms_core::time::Timestamp;
use sms_core::upkeep::Chore;

use super::rig::Hand;
use crate::Rig;
use crate::rig::{
    days, millis, minutes, our_number, person, refused, request, seconds, taken, try_later,
};

/// Counts in the order sent, delivered, failed, received, credits.
fn counts(amounts: [i64; 5]) -> Counts {
    let mut counts = Counts::default();
    for (counted, amount) in Counted::ALL.into_iter().zip(amounts) {
        counts.add(counted, amount);
    }
    counts
}

async fn within(rig: &Rig, account: &Account, from: Timestamp, to: Timestamp) -> Counts {
    let all = rig.statistics(account.id, &[Period { from, to }]).await;
    assert_eq!(all.len(), 1);
    all[0]
}

/// What was counted in one millisecond.
async fn at(rig: &Rig, account: &Account, moment: Timestamp) -> Counts {
    within(rig, account, moment, moment.plus(millis(1))).await
}

/// What was counted from the scenario's beginning until now.
async fn so_far(rig: &Rig, account: &Account) -> Counts {
    within(rig, account, account.created_at, rig.now().plus(millis(1))).await
}

/// What happens in a random history.
async fn happen(rig: &Rig, account: &Account, dice: &mut SplitMix, held: &mut Vec<Hand>) {
    let some = |dice: &mut SplitMix, ids: &[MessageId]| {
        let place = usize::try_from(dice.below(ids.len() as u64)).expect("few");
        ids.get(place).copied()
    };
    let messages = rig.messages(account.id, &MessageFilter::default()).await;
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let on_their_way = messages.iter().filter(|message| {
        let status = message.status;
        matches!(status, MessageStatus::Sending | MessageStatus::Sent | MessageStatus::Undelivered)
    });
    let on_their_way: Vec<MessageId> = on_their_way.map(|message| message.id).collect();
    match dice.below(14) {
        0..3 => {
            let people = 0..1 + u16::try_from(dice.below(4)).expect("few");
            drop(rig.accept(rig.plan(account, &request(people))).await);
        }
        3 => {
            let _ = rig.accept(rig.test_plan(account, &request([7]))).await;
        }
        4..7 => held.push(rig.claim(usize::try_from(dice.below(9)).expect("few")).await),
        7..10 => {
            let Some(hand) = held.pop() else { return };
            let result = [taken(), taken(), refused(), try_later()];
            let place = usize::try_from(dice.below(4)).expect("few");
            drop(rig.finish(&hand, &result[place]).await);
        }
        10..13 => {
            let Some(id) = some(dice, &on_their_way) else { return };
            let status = match dice.below(2) {
                0 => ReceiptStatus::Delivered,
                _ => ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber),
            };
            drop(rig.record_receipt(rig.receipt(id, status)).await);
        }
        _ => {
            let Some(id) = some(dice, &ids) else { return };
            drop(rig.store().message_cancel(rig.cancel_plan(account, id)).await);
            drop(rig.inbound(9, person(999), "Thank you").await);
        }
    }
}

scenarios! { Statistics;
    /// Each thing counts at its own moment, and from the first millisecond of a period to the last.
    async fn each_thing_counts_at_its_own_moment(rig: &Rig) {
        let account = rig.account(50).await;
        let number = rig.dedicated_number(person(900), &account).await;
        let accepted = rig.advance(minutes(61));
        rig.send(&account, &request([1, 2, 3])).await;
        let left = rig.advance(seconds(61));
        let hand = rig.claim_all().await;
        let outcomes = [taken(), taken(), refused()];
        let plans = hand.messages.iter().zip(outcomes);
        let plans = plans.map(|(text, result)| rig.outcome(text.message, hand.token, result));
        rig.record_all(plans.collect()).await;
        let arrived = rig.advance(minutes(59));
        rig.deliver(hand.messages[0].message).await;
        let given_up = rig.advance(days(3));
        rig.undeliver(hand.messages[1].message).await;
        let answered = rig.advance(millis(1));
        rig.inbound_routed(1, number.phone, "Thank you").await;
        for _ in 0..2 {
            assert_eq!(at(rig, &account, accepted).await, counts([0, 0, 0, 0, 3]));
            assert_eq!(at(rig, &account, left).await, counts([2, 0, 1, 0, -1]));
            assert_eq!(at(rig, &account, arrived).await, counts([0, 1, 0, 0, 0]));
            assert_eq!(at(rig, &account, given_up).await, counts([0, 0, 1, 0, 0]));
            assert_eq!(at(rig, &account, answered).await, counts([0, 0, 0, 1, 0]));
            let until = async |to| within(rig, &account, account.created_at, to).await;
            assert_eq!(until(accepted).await, Counts::default());
            assert_eq!(until(left).await, counts([0, 0, 0, 0, 3]));
            assert_eq!(until(arrived).await, counts([2, 0, 1, 0, 2]));
            assert_eq!(so_far(rig, &account).await, counts([2, 1, 2, 1, 2]));
            assert_eq!(within(rig, &account, left, left).await, Counts::default());
            rig.fold_statistics(2).await;
        }
    }

    /// A message that was delivered after all has not failed, however late, and whether or not its
    /// failure was added to the totals before.
    async fn a_message_that_was_delivered_after_all_has_not_failed(rig: &Rig) {
        let account = rig.account(50).await;
        for fold in [1, 0] {
            let text = rig.message_that_left(&account, 1).await;
            let failed = rig.advance(minutes(5));
            rig.undeliver(text.id).await;
            assert_eq!(at(rig, &account, failed).await, counts([0, 0, 1, 0, 0]));
            if fold == 1 {
                rig.fold_statistics(100).await;
            }
            let delivered = rig.advance(days(70));
            rig.deliver(text.id).await;
            rig.undeliver(text.id).await;
            assert_eq!(at(rig, &account, failed).await, Counts::default());
            assert_eq!(at(rig, &account, delivered).await, counts([0, 1, 0, 0, 0]));
            rig.fold_statistics(100).await;
            assert_eq!(at(rig, &account, failed).await, Counts::default());
        }
        assert_eq!(so_far(rig, &account).await, counts([2, 2, 0, 0, 2]));
    }

    /// Messages of test keys count for nothing; nor do credits that no message took.
    async fn test_messages_and_other_credits_are_left_out(rig: &Rig) {
        let account = rig.account(50).await;
        let sent = rig.send_test(&account, &request([1, 2])).await;
        rig.advance(seconds(1));
        rig.leave_all().await;
        rig.deliver(sent.messages[0].id).await;
        rig.undeliver(sent.messages[1].id).await;
        rig.adjust(&account, 30).await.expect("added");
        rig.adjust(&account, -5).await.expect("taken");
        assert_eq!(so_far(rig, &account).await, Counts::default());
        assert_eq!(rig.fold_statistics(100).await, 0);
    }

    /// Credits may be below zero where more was given back than taken.
    async fn credits_given_back_count_when_they_are_given_back(rig: &Rig) {
        let account = rig.account(50).await;
        let text = rig.text(&account, 1).await;
        let cancelled = rig.advance(days(1));
        let plan = rig.cancel_plan(&account, text.id);
        rig.store().message_cancel(plan).await.expect("cancelled");
        assert_eq!(at(rig, &account, cancelled).await, counts([0, 0, 0, 0, -1]));
        assert_eq!(so_far(rig, &account).await, Counts::default());
    }

    /// What is refused or answered from memory does not count.
    async fn what_is_refused_counts_for_nothing(rig: &Rig) {
        let account = rig.account(3).await;
        rig.send(&account, &request([1, 2])).await;
        let both = vec![rig.plan(&account, &request([3, 4])), rig.plan(&account, &request([5]))];
        let answers = rig.accept_all(both).await;
        assert!(answers[0].is_err() && answers[1].is_ok());
        assert_eq!(so_far(rig, &account).await, counts([0, 0, 0, 0, 3]));
    }

    /// Each account has separate statistics, and those of an unknown account are empty.
    async fn statistics_are_an_accounts_own(rig: &Rig) {
        let (account, other) = (rig.account(50).await, rig.account(50).await);
        rig.message_that_left(&account, 1).await;
        rig.text(&other, 2).await;
        for _ in 0..2 {
            assert_eq!(so_far(rig, &account).await, counts([1, 0, 0, 0, 1]));
            assert_eq!(so_far(rig, &other).await, counts([0, 0, 0, 0, 1]));
            rig.fold_statistics(100).await;
        }
        let always = Period { from: account.created_at, to: rig.now().plus(days(1)) };
        assert_eq!(rig.statistics(rig.id(), &[always]).await, [Counts::default()]);
    }

    /// Many periods are answered in the order given, overlapping and empty ones included.
    async fn periods_are_answered_in_the_order_given(rig: &Rig) {
        let account = rig.account(500).await;
        let mut moments = vec![rig.now()];
        for n in 1..=6 {
            rig.send(&account, &request(0..n)).await;
            moments.push(rig.advance(minutes(u64::from(n) * 7)));
        }
        let period = |from: usize, to: usize| Period { from: moments[from], to: moments[to] };
        for _ in 0..3 {
            let periods = [period(3, 5), period(0, 6), period(2, 2), period(5, 3), period(4, 5)];
            let credits = rig.statistics(account.id, &periods).await;
            let credits: Vec<i64> = credits.iter().map(|counts| counts.credits).collect();
            assert_eq!(credits, [9, 21, 0, 0, 5]);
            assert_eq!(rig.statistics(account.id, &[]).await, []);
            rig.fold_statistics(3).await;
        }
        let many: Vec<Period> = (0..400).map(|n| period(n % 6, n % 6 + 1)).collect();
        let credits = rig.statistics(account.id, &many).await;
        let expected = (0..400).map(|n| n % 6 + 1);
        assert!(credits.iter().map(|counts| counts.credits).eq(expected));
    }

    /// Adding up changes no answer, also while several do it and others read; in the end nothing is
    /// left to add.
    async fn adding_up_changes_no_answer(rig: &Rig) {
        let account = rig.account(900).await;
        for n in 0..40 {
            rig.send(&account, &request([n])).await;
            rig.advance(millis(u64::from(n) * 1_700));
            rig.leave_all().await;
        }
        let expected = so_far(rig, &account).await;
        assert_eq!(expected, counts([40, 0, 0, 0, 40]));
        let period = Period { from: account.created_at, to: rig.now().plus(millis(1)) };
        let id = account.id;
        let seen = rig.race_each(0..12, move |store, n| async move {
            if n % 2 == 0 {
                store.tidy(Chore::Statistics, 15).await.expect("added");
            }
            store.statistics_within(id, &[period]).await.expect("read")[0]
        });
        assert_eq!(seen, [expected; 12]);
        while rig.fold_statistics(7).await > 0 {
            assert_eq!(so_far(rig, &account).await, expected);
        }
        assert_eq!(so_far(rig, &account).await, expected);
    }

    /// Sends, outcomes, receipts and cancels at once, of two accounts, while others add up: what is
    /// counted is what a recount finds.
    async fn racing_commits_are_all_counted(rig: &Rig) {
        let accounts = [rig.account(900).await, rig.account(900).await];
        let mut hands = Vec::new();
        for n in 0..24 {
            let account = &accounts[usize::from(n % 2)];
            rig.send(account, &request([n, n + 100])).await;
            hands.push((n, rig.claim_all().await));
        }
        rig.advance(seconds(5));
        let mut all: Vec<BoxFuture<'static, ()>> = Vec::new();
        for (n, hand) in hands {
            let first = hand.messages[0].message;
            let result = if n % 3 == 0 { refused() } else { taken() };
            let plan = |text: &sms_core::route::OutboundMessage| {
                rig.outcome(text.message, hand.token, result.clone())
            };
            let outcomes: Vec<_> = hand.messages.iter().map(plan).collect();
            let receipt = rig.receipt(first, ReceiptStatus::Delivered);
            let send = rig.plan(&accounts[usize::from(n % 2)], &request([n]));
            let store = rig.store().clone();
            all.push(async move { drop(store.dispatch_record(outcomes).await) }.boxed());
            let store = rig.store().clone();
            all.push(async move { drop(store.receipts_record(vec![receipt]).await) }.boxed());
            let store = rig.store().clone();
            all.push(async move { drop(store.send_accept(vec![send]).await) }.boxed());
            let store = rig.store().clone();
            all.push(async move { drop(store.tidy(Chore::Statistics, 9).await) }.boxed());
        }
        rig.race(all);
        for account in &accounts {
            assert_eq!(so_far(rig, account).await.credits, 36 - refunded(rig, account).await);
        }
    }

    /// Whatever happens over months, at whatever moments: any period is what a recount finds.
    async fn any_history_over_any_period_is_what_a_recount_finds(rig: &Rig) {
        for seed in 1..=3 {
            let (account, mut dice) = (rig.account(40).await, SplitMix::new(seed));
            let number = rig.dedicated_number(person(999), &account).await;
            rig.shared_number(our_number_of(seed)).await;
            let mut held = Vec::new();
            for _ in 0..90 {
                happen(rig, &account, &mut dice, &mut held).await;
                let most = [1, 50, 4_000, 200_000, 9_000_000, 400_000_000];
                let place = usize::try_from(dice.below(60) / 11).expect("few");
                rig.advance(Duration::from_millis(dice.below(most[place])));
                if dice.below(4) == 0 {
                    rig.fold_statistics(usize::try_from(dice.below(20)).expect("few")).await;
                }
                if dice.below(6) == 0 {
                    rig.audit_statistics(account.id).await;
                }
            }
            rig.release(&number).await;
            let all = so_far(rig, &account).await;
            let happened = Counted::ALL.into_iter().filter(|counted| all.of(*counted) > 0);
            assert_eq!(happened.count(), Counted::ALL.len(), "something of everything: {all:?}");
        }
    }
}

/// A shared number of each history's own.
fn our_number_of(seed: u64) -> sms_core::phone::E164 {
    match seed {
        1 => our_number(),
        _ => person(u16::try_from(900 + seed).expect("few")),
    }
}

/// Credits given back for messages.
async fn refunded(rig: &Rig, account: &Account) -> i64 {
    use sms_core::credits::ledger::Kind;
    let ledger = rig.ledger(account.id).await;
    let refunds = ledger.iter().filter(|entry| entry.cause.kind() == Kind::Refund);
    refunds.map(|entry| entry.amount.get()).sum()
}
