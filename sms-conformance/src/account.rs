//! Accounts.

use sms_core::account::settings::SettingsChange;
use sms_core::account::store::NewAccount;
use sms_core::account::{
    Account, AccountChange, AccountStatus, LocalTime, QuietHours, Settings, Share,
};
use sms_core::credits::Credits;
use sms_core::credits::ledger::Kind;
use sms_core::idempotency::{Once, Owner};
use sms_core::ids::AccountId;
use sms_core::store::StoreError;

use crate::Rig;
use crate::rig::{done, millis, page, read_all, request};

scenarios! { Account;
    /// A healthy store reports that it is healthy.
    async fn a_store_that_serves_says_so(rig: &Rig) {
        rig.store().health_check().await.expect("the store serves");
    }

    /// An account is kept as it was made, with the credits it begins with as its first entry.
    async fn an_account_is_kept_as_it_was_made(rig: &Rig) {
        let NewAccount { account, opening } = rig.new_account(AccountStatus::Pending, 7);
        let account = Account {
            name: "Café “Жар-птица” 🐦".to_owned(),
            settings: Settings {
                quiet_hours: QuietHours {
                    start: LocalTime::new(23, 59).expect("a time of day"),
                    end: LocalTime::new(0, 0).expect("a time of day"),
                },
                track_links_default: true,
                opt_out_line: String::new(),
                opt_out_line_sender: "Text {number}\nto stop".to_owned(),
            },
            share: Share::new(100).expect("a share"),
            ..account
        };
        let new = NewAccount { account: account.clone(), opening: opening.clone() };
        done(rig.store().account_create(new, None).await).expect("written");
        let kept = rig.store().account_get(account.id).await.expect("read");
        assert_eq!(kept, Some(account.clone()));
        assert_eq!(rig.ledger(account.id).await, [opening.expect("it begins with credits")]);
    }

    /// An account without credits begins with an empty ledger.
    async fn an_account_without_credits_has_an_empty_ledger(rig: &Rig) {
        let account = rig.account(0).await;
        assert_eq!(rig.ledger(account.id).await, []);
        assert_eq!(rig.balance(&account).await, 0);
    }

    /// The settings that sends are planned from are those written last.
    async fn sends_are_planned_from_the_settings_written_last(rig: &Rig) {
        let account = rig.account(5).await;
        let read = || async { rig.store().account_settings(account.id).await.expect("read") };
        assert_eq!(read().await, Some(account.settings.clone()));
        for line in ["Stop: STOP", "STOP ends"] {
            let settings =
                SettingsChange { opt_out_line: Some(line.to_owned()), ..SettingsChange::default() };
            let change = AccountChange { settings, ..AccountChange::default() };
            rig.store().account_update(account.id, change, rig.now()).await.expect("changed");
            let settings = read().await.expect("the account has settings");
            assert_eq!(settings.opt_out_line, line);
        }
        let unknown = rig.store().account_settings(rig.id()).await.expect("read");
        assert_eq!(unknown, None);
    }

    /// An account that was never created does not exist.
    async fn an_unknown_account_is_not_there(rig: &Rig) {
        rig.account(5).await;
        let unknown = rig.id();
        assert_eq!(rig.store().account_get(unknown).await.expect("read"), None);
        let change = AccountChange { name: Some("Nobody".to_owned()), ..AccountChange::default() };
        let updated = rig.store().account_update(unknown, change, rig.now()).await;
        assert_eq!(updated.expect("answered"), None);
        assert_eq!(rig.ledger(unknown).await, []);
    }

    /// Several accounts are read at once, each once, whichever of them exist.
    async fn accounts_are_read_together(rig: &Rig) {
        let accounts = [rig.account(1).await, rig.account(2).await, rig.account(3).await];
        let [first, second, third] = accounts.clone().map(|account| account.id);
        let among = async |ids: &[AccountId]| rig.store().accounts_among(ids).await.expect("read");
        assert_eq!(among(&[third, rig.id(), first, third, second]).await, accounts);
        assert_eq!(among(&[second]).await, accounts[1..2]);
        assert_eq!(among(&[rig.id()]).await, []);
        assert_eq!(among(&[]).await, []);
    }

    /// An id that is taken makes no other account, and leaves the first one as it is.
    async fn an_id_that_is_taken_makes_no_account(rig: &Rig) {
        let account = rig.account(5).await;
        let mut new = rig.new_account(AccountStatus::Pending, 7);
        new.account.id = account.id;
        let taken = rig.store().account_create(new, None).await;
        assert!(matches!(taken, Err(StoreError::Internal { .. })), "{taken:?}");
        assert_eq!(rig.store().account_get(account.id).await.expect("read"), Some(account.clone()));
        assert_eq!(rig.ledger(account.id).await.len(), 1);
    }

    /// Servers that start together make one account of a known id for one key, and all hear of it.
    async fn racing_makers_of_one_account_make_it_once_for_their_key(rig: &Rig) {
        for round in 0..8 {
            let claim = rig.key_claim(Owner::Operator, &format!("k{round}"), "this");
            let new = rig.new_account(AccountStatus::Active, 5);
            let makers = rig.race_each(vec![new.clone(); 8], |store, new| {
                let claim = claim.clone();
                async move { store.account_create(new, Some(&claim)).await.expect("answered") }
            });
            let made = makers.into_iter().filter(|made| matches!(made, Once::Done(_)));
            assert_eq!(made.count(), 1);
            assert_eq!(rig.ledger(new.account.id).await.len(), 1);
        }
    }

    /// An account holds as many credits as it can be topped up to, to the last one.
    async fn an_account_holds_the_most_credits_there_can_be(rig: &Rig) {
        let account = rig.account(Credits::MOST_TOPPED_UP.get()).await;
        assert_eq!(rig.balance(&account).await, 4_503_599_627_370_495);
        let lines = rig.ledger_lines(&account).await;
        assert_eq!(lines, [(Kind::TopUp, 4_503_599_627_370_495, 4_503_599_627_370_495)]);
        assert_eq!(rig.send(&account, &request([1])).await.balance.get(), 4_503_599_627_370_494);
    }

    /// Accounts are listed newest first, and pages neither repeat nor miss any.
    async fn accounts_are_listed_newest_first(rig: &Rig) {
        let mut expected = Vec::new();
        for n in 0..5 {
            expected.insert(0, rig.account(n).await);
            rig.advance(millis(n % 2));
        }
        for limit in [1, 2, 4, 5, 6] {
            let read = async |page| rig.store().account_list(page).await.expect("read");
            assert_eq!(read_all(limit, read).await, expected, "by {limit}");
        }
        let first = rig.store().account_list(page(5, None)).await.expect("read");
        assert_eq!((first.items.len(), first.next), (5, None));
    }

    /// A change writes what it names and its time, and leaves the rest unchanged.
    async fn a_change_leaves_the_rest_alone(rig: &Rig) {
        let account = rig.account(5).await;
        let now = rig.advance(millis(5));
        let change = AccountChange {
            name: Some("Trattoria".to_owned()),
            status: None,
            settings: SettingsChange {
                quiet_hours_end: LocalTime::new(8, 30),
                opt_out_line: Some("STOP to stop".to_owned()),
                ..SettingsChange::default()
            },
            share: Share::new(7).ok(),
            ..AccountChange::default()
        };
        let updated = rig.store().account_update(account.id, change.clone(), now).await;
        let expected = change.apply(account.clone(), now).expect("any version");
        assert_eq!(updated.expect("updated"), Some(expected.clone()));
        assert_eq!(rig.account_now(account.id).await, expected);
        assert_eq!((expected.status, expected.updated_at), (AccountStatus::Active, now));
        let nothing = rig.store().account_update(account.id, AccountChange::default(), now).await;
        assert_eq!(nothing.expect("updated"), Some(expected));
    }

    /// A change of an account never touches its balance, also when it races with sends.
    async fn a_change_never_touches_the_balance(rig: &Rig) {
        let account = rig.account(20).await;
        let plans: Vec<_> = (0..10).map(|_| rig.plan(&account, &request([1, 2]))).collect();
        let (id, at) = (account.id, rig.now());
        rig.race_each(plans.into_iter().enumerate(), move |store, (n, plan)| async move {
            let change = AccountChange { name: Some(format!("Bistro {n}")), ..Default::default() };
            store.account_update(id, change, at).await.expect("updated");
            store.send_accept(vec![plan]).await.remove(0).expect("sent");
        });
        assert_eq!(rig.balance(&account).await, 0);
    }

    /// Changes of different settings race: none is lost.
    async fn racing_changes_of_different_settings_are_all_kept(rig: &Rig) {
        let account = rig.account(0).await;
        let settings = |change| AccountChange { settings: change, ..AccountChange::default() };
        let changes = [
            AccountChange { name: Some("Trattoria".to_owned()), ..AccountChange::default() },
            AccountChange { status: Some(AccountStatus::Suspended), ..AccountChange::default() },
            settings(SettingsChange {
                quiet_hours_start: LocalTime::new(20, 0),
                ..SettingsChange::default()
            }),
            settings(SettingsChange {
                quiet_hours_end: LocalTime::new(10, 0),
                ..SettingsChange::default()
            }),
            settings(SettingsChange {
                track_links_default: Some(true),
                ..SettingsChange::default()
            }),
            settings(SettingsChange {
                opt_out_line: Some("STOP to stop".to_owned()),
                ..SettingsChange::default()
            }),
        ];
        let (id, at) = (account.id, rig.now());
        let expected =
            changes.clone().into_iter().fold(account, |so_far, change| {
                change.apply(so_far, at).expect("any version")
            });
        rig.race_each(changes, move |store, change| async move {
            store.account_update(id, change, at).await.expect("updated")
        });
        assert_eq!(rig.account_now(id).await, expected);
    }
}
