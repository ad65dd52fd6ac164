//! Deeds of the operator.

use sms_core::account::{AccountChange, AccountStatus, Mode};
use sms_core::credits::{Change, Credits};
use sms_core::ids::{AccountId, MessageId, NumberId};
use sms_core::message::ErrorCode;
use sms_core::number::release::Quarantine;
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::route::RouteName;
use sms_core::service::operator::{NewAccountInput, NumberInput};

use super::caller::Caller;

impl Caller {
    pub(super) async fn account_create(&self, status: AccountStatus, credits: u32) {
        let input = NewAccountInput::active("Another", credits).status(status);
        let answer = self.sms.operator().account_create(input).await;
        self.expect("making an account", answer, &[]);
    }

    pub(super) async fn account_status(&self, id: AccountId, status: AccountStatus) {
        let change = AccountChange { status: Some(status), ..AccountChange::default() };
        let answer = self.sms.operator().account_update(id, change).await;
        self.expect("changing an account", answer, &[]);
    }

    pub(super) async fn credits(&self, id: AccountId, amount: i64) {
        let Some(change) = Change::new(amount) else { return };
        let answer = self.sms.operator().credits_adjust(id, change, None).await;
        self.expect("changing credits", answer, &["balance_out_of_range"]);
    }

    /// Checks that a key works until it is revoked, and not after.
    pub(super) async fn key(&self, account: AccountId, mode: Mode) {
        let operator = self.sms.operator();
        let made = operator.api_key_create(account, mode, None).await;
        let Some(made) = self.expect("making a key", made, &[]) else { return };
        let (key, record) = (made.key, made.record);
        for _ in 0..2 {
            let caller = self.sms.authenticate(key.reveal()).await;
            let caller = self.expect("authenticating", caller, &[]).flatten();
            let who = caller.map(|caller| (caller.account, caller.mode, caller.key));
            self.must(who == Some((account, mode, record.id)), || {
                format!("the key {} authenticates {who:?}", record.id)
            });
        }
        let others = operator.api_key_list(account).await;
        let others = self.expect("listing keys", others, &[]).unwrap_or_default();
        self.must(others.iter().all(|other| other.account == account), || {
            format!("{account} sees the keys of another")
        });
        let revoked = operator.api_key_revoke(account, record.id).await;
        self.expect("revoking a key", revoked, &[]);
        let caller = self.sms.authenticate(key.reveal()).await;
        let caller = self.expect("authenticating", caller, &[]).flatten();
        self.must(caller.is_none(), || format!("the revoked key {} still works", record.id));
    }

    pub(super) async fn number_create(&self, phone: E164, account: Option<AccountId>, rent: u64) {
        let Ok(rental_credits) = Credits::new(rent) else { return };
        // Every other number is behind the simulator, so that a claim has several routes.
        let route = phone.digits().is_multiple_of(2).then(|| RouteName::new("simulator"));
        let phone = phone.to_string();
        let input = match account {
            Some(account) => NumberInput::dedicated(phone, account),
            None => NumberInput::shared(phone),
        };
        let insists = self.world.with(|state| state.dice.percent(30));
        let quarantine = if insists { Quarantine::Override } else { Quarantine::Respect };
        let input = input.route(route).rental_credits(rental_credits).quarantine(quarantine);
        let answer = self.sms.operator().number_create(input).await;
        self.expect("adding a number", answer, &["number_exists", "number_quarantined"]);
    }

    pub(super) async fn number_delete(&self, id: NumberId) {
        let answer = self.sms.operator().number_delete(id).await;
        self.expect("removing a number", answer, &["not_found"]);
    }

    pub(super) async fn number_check_in(&self, id: NumberId) {
        let answer = self.sms.operator().number_check_in(id).await;
        self.expect("checking a number in", answer, &["not_found"]);
    }

    pub(super) async fn inbound(&self, from: E164, to: E164, body: &'static str) {
        let answer = self.sms.operator().inbound(from, to, body).await;
        self.expect("taking a text in", answer, &[]);
    }

    pub(super) async fn receipt(&self, id: MessageId) {
        let status = self.world.with(|state| match state.dice.below(3) {
            0 => ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber),
            _ => ReceiptStatus::Delivered,
        });
        let answer = self.sms.operator().receipt(id, status).await;
        self.expect("recording a receipt", answer, &[]);
    }
}
