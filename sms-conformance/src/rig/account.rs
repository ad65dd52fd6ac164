//! Accounts, their credits, and their numbers.

use sms_core::account::store::NewAccount;
use sms_core::account::{Account, AccountChange, AccountStatus, Settings, Share};
use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use sms_core::credits::ledger::{Cause, Draft, Entry, Kind, post};
use sms_core::credits::{Change, Credits};
use sms_core::ids::AccountId;
use sms_core::number::release::{AddPlan, Quarantine};
use sms_core::number::store::{NumberCreated, NumbersWanted};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::store::CommitError;

use super::{Rig, done, read_all};

impl Rig {
    /// Makes an approved account with this many credits.
    pub async fn account(&self, credits: u64) -> Account {
        self.account_of(AccountStatus::Active, credits).await
    }

    /// Makes an account of this status with this many credits.
    pub async fn account_of(&self, status: AccountStatus, credits: u64) -> Account {
        let new = self.new_account(status, credits);
        let account = new.account.clone();
        crate::rig::done(self.store().account_create(new, None).await)
            .expect("the account is written");
        self.remember(account.id);
        account
    }

    /// An account that no store knows yet.
    pub fn new_account(&self, status: AccountStatus, credits: u64) -> NewAccount {
        let at = self.now();
        let mut ids = self.ids();
        let balance = super::credits(credits);
        let account = Account {
            id: ids.next(),
            name: "Bistro".to_owned(),
            status,
            balance,
            settings: Settings::default(),
            share: Share::default(),
            created_at: at,
            updated_at: at,
        };
        let note = Some("opening balance".to_owned());
        let opening =
            Draft { id: ids.next(), cause: Cause::TopUp, amount: balance.gain(), note, at };
        let drafts = if credits == 0 { Vec::new() } else { vec![opening] };
        let (entries, _) = post(Credits::ZERO, drafts).expect("it fits");
        NewAccount { account, opening: entries.into_iter().next() }
    }

    /// What the account can spend now.
    pub async fn balance(&self, account: &Account) -> u64 {
        self.account_now(account.id).await.balance.get()
    }

    /// The account as it is now.
    pub async fn account_now(&self, id: AccountId) -> Account {
        let found = self.store().account_get(id).await.expect("the account is read");
        found.expect("the account is there")
    }

    /// Approves or suspends an account.
    pub async fn set_status(&self, account: &Account, status: AccountStatus) {
        let change = AccountChange { status: Some(status), ..AccountChange::default() };
        let updated = self.store().account_update(account.id, change, self.now()).await;
        let updated = updated.expect("the account is updated").expect("the account is there");
        assert_eq!(updated.status, status);
    }

    /// A plan to add credits, or to take some.
    pub fn adjust_plan(&self, account: AccountId, amount: i64) -> AdjustPlan {
        let amount = Change::new(amount).expect("an account can hold this much");
        AdjustPlan::new(account, amount, Some("by hand".to_owned()), self.now(), &mut self.ids())
    }

    /// Adds credits, or takes some.
    pub async fn adjust(
        &self,
        account: &Account,
        amount: i64,
    ) -> Result<Adjusted, CommitError<AdjustRefused>> {
        done(self.store().credits_adjust(self.adjust_plan(account.id, amount), None).await)
    }

    /// The account's whole ledger, newest first.
    pub async fn ledger(&self, account: AccountId) -> Vec<Entry> {
        read_all(100, async |page| {
            self.store().ledger_list(account, page).await.expect("the ledger is read")
        })
        .await
    }

    /// What the account's ledger says in short, newest first: the kind of each entry, its amount,
    /// and the balance it left.
    pub async fn ledger_lines(&self, account: &Account) -> Vec<(Kind, i64, u64)> {
        let line =
            |entry: &Entry| (entry.cause.kind(), entry.amount.get(), entry.balance_after.get());
        self.ledger(account.id).await.iter().map(line).collect()
    }

    /// A number that no store knows yet.
    pub fn new_number(&self, phone: E164, holder: Holder) -> Number {
        Number {
            id: self.id(),
            phone,
            holder,
            route: None,
            rental_credits: Credits::ZERO,
            monthly_credits: Credits::ZERO,
            rental_charged_at: None,
            next_rent_at: None,
            assigned_at: self.now(),
            checked_in_at: None,
        }
    }

    /// Makes a number that all accounts share.
    pub async fn shared_number(&self, phone: E164) -> Number {
        self.create_number(self.new_number(phone, Holder::Shared)).await
    }

    /// Makes a number that one account has to itself.
    pub async fn dedicated_number(&self, phone: E164, account: &Account) -> Number {
        self.create_number(self.new_number(phone, Holder::Dedicated(account.id))).await
    }

    /// Makes [`our_number`](super::our_number) a shared number unless it is there: messages come
    /// from it, and a claim fails those whose number has no holder.
    pub async fn provide_our_number(&self) {
        let found = self.store().number_list(NumbersWanted::Phone(super::our_number())).await;
        if found.expect("the number is read").is_empty() {
            self.shared_number(super::our_number()).await;
        }
    }

    /// Releases a number, which must exist.
    pub async fn release(&self, number: &Number) {
        let deleted = self.store().number_delete(number.id, self.now()).await;
        assert!(deleted.expect("the number is removed"));
    }

    /// Makes a number, also one that another account has just released.
    pub async fn create_number(&self, number: Number) -> Number {
        let plan = AddPlan { number: number.clone(), quarantine: Quarantine::Override };
        let created = crate::rig::done(self.store().number_create(plan, None).await);
        assert_eq!(created.expect("the number is written"), NumberCreated::Created);
        number
    }
}
