//! Balances and the ledger.

use sms_core::credits::Change;
use sms_core::credits::adjust::AdjustRefused;
use sms_core::credits::ledger::{Cause, DoesNotFit, Entry, Kind};
use sms_core::page::{Cursor, Limit, PageRequest};

use crate::Rig;
use crate::rig::{credits, done, millis, read_all, refusal_of, refused, request};

scenarios! { Credits;
    /// Credits that are added are a top-up, credits that are taken back an adjustment, each is an
    /// entry with the balance it left.
    async fn every_adjustment_is_an_entry_with_the_balance_it_left(rig: &Rig) {
        let account = rig.account(5).await;
        let now = rig.advance(millis(5));
        let plan = rig.adjust_plan(account.id, 20);
        let added = done(rig.store().credits_adjust(plan.clone(), None).await).expect("added");
        assert_eq!(added.balance.get(), 25);
        assert_eq!(rig.adjust(&account, -25).await.expect("taken").balance.get(), 0);
        assert_eq!(rig.balance(&account).await, 0);
        assert_eq!(
            rig.ledger_lines(&account).await,
            [(Kind::Adjustment, -25, 0), (Kind::TopUp, 20, 25), (Kind::TopUp, 5, 5)]
        );
        assert_eq!(
            rig.ledger(account.id).await[1],
            Entry {
                id: plan.draft.id,
                cause: Cause::TopUp,
                amount: plan.draft.amount,
                balance_after: credits(25),
                note: Some("by hand".to_owned()),
                created_at: now,
            }
        );
    }

    /// What would take a balance below zero, or past what an account can hold, is refused, and
    /// nothing is written.
    async fn what_does_not_fit_writes_nothing(rig: &Rig) {
        let account = rig.account(5).await;
        for amount in [-6, 9_007_199_254_740_991] {
            let refused = refusal_of(rig.adjust(&account, amount).await);
            let (balance, change) = (credits(5), Change::new(amount).expect("a change"));
            assert_eq!(refused, AdjustRefused::DoesNotFit(DoesNotFit { balance, change }));
        }
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (5, 1));
    }

    /// An account that does not exist has no balance to change.
    async fn an_unknown_account_has_no_balance_to_change(rig: &Rig) {
        let plan = rig.adjust_plan(rig.id(), 5);
        let refused = refusal_of(rig.store().credits_adjust(plan, None).await);
        assert_eq!(refused, AdjustRefused::NoSuchAccount);
    }

    /// The ledger is listed newest first, in the order booked, and pages neither repeat nor miss
    /// any.
    async fn the_ledger_is_listed_in_the_order_booked(rig: &Rig) {
        let account = rig.account(5).await;
        let late = rig.adjust_plan(account.id, 3);
        rig.send(&account, &request([1, 2])).await;
        done(rig.store().credits_adjust(late, None).await).expect("added");
        let hand = rig.claim_all().await;
        rig.advance(millis(5));
        rig.finish(&hand, &refused()).await;
        let expected = [
            (Kind::Refund, 1, 8),
            (Kind::Refund, 1, 7),
            (Kind::TopUp, 3, 6),
            (Kind::Send, -2, 3),
            (Kind::TopUp, 5, 5),
        ];
        assert_eq!(rig.ledger_lines(&account).await, expected);
        for limit in [1, 2, 4, 5, 6] {
            let read = async |page| rig.store().ledger_list(account.id, page).await.expect("read");
            let entries: Vec<Entry> = read_all(limit, read).await;
            let kinds: Vec<Kind> = entries.iter().map(|entry| entry.cause.kind()).collect();
            assert_eq!(kinds, expected.map(|(kind, ..)| kind), "by {limit}");
        }
    }

    /// Pages of the ledger neither repeat nor miss an entry while newer ones are booked.
    async fn pages_of_the_ledger_stay_whole_while_it_grows(rig: &Rig) {
        let account = rig.account(5).await;
        for amount in [10, -1, 20, -2] {
            rig.adjust(&account, amount).await.expect("fits");
        }
        let before = rig.ledger(account.id).await;
        let read = async |wanted| {
            let page = rig.store().ledger_list(account.id, wanted).await.expect("read");
            rig.adjust(&account, 1).await.expect("fits");
            page
        };
        assert_eq!(read_all(2, read).await, before);
    }

    /// A cursor of the ledger is the number of the last entry shown, counted from the first, 1.
    async fn a_cursor_of_the_ledger_names_the_last_entry_shown(rig: &Rig) {
        let account = rig.account(5).await;
        for amount in [10, -1, 20, -2] {
            rig.adjust(&account, amount).await.expect("fits");
        }
        let wanted = PageRequest { limit: Limit::new(2).expect("a limit"), after: None };
        let page = rig.store().ledger_list(account.id, wanted).await.expect("read");
        assert_eq!(page.next, Some(Cursor::after_position(4)), "5 entries: 5 and 4 are shown");
        let rest = PageRequest { after: page.next, ..wanted };
        assert_eq!(rig.store().ledger_list(account.id, rest).await.expect("read").items.len(), 2);
    }

    /// An account's ledger holds its own entries only.
    async fn a_ledger_holds_its_own_accounts_entries(rig: &Rig) {
        let (account, other) = (rig.account(5).await, rig.account(6).await);
        rig.adjust(&other, 1).await.expect("fits");
        assert_eq!(rig.ledger_lines(&account).await, [(Kind::TopUp, 5, 5)]);
    }

    /// Adjustments race for a balance: it never goes below zero, and no entry is lost.
    async fn racing_adjustments_never_go_below_zero(rig: &Rig) {
        let account = rig.account(10).await;
        let plans: Vec<_> = (0..20).map(|_| rig.adjust_plan(account.id, -1)).collect();
        let answers =
            rig.race_each(plans, |store, plan| async move {
                store.credits_adjust(plan, None).await
            });
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 10);
        assert_eq!((rig.balance(&account).await, rig.ledger(account.id).await.len()), (0, 11));
    }
}
