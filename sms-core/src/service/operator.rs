//! The operator's calls: accounts and their approval, keys, credits, numbers, and messages and
//! receipts brought in by hand.

use super::sms::Sms;
use super::wake::Work;
use crate::account::api_key::{ApiKey, KeyRecord};
use crate::account::settings::Settings;
use crate::account::status::AccountStatus;
use crate::account::{Account, AccountChange};
use crate::credits::Credits;
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::Once;
use crate::ids::{AccountId, ApiKeyId, MessageId, NumberId};
use crate::inbound::Unrouted;
use crate::message::record::Message;
use crate::mode::Mode;
use crate::number::Number;
use crate::number::release::Quarantine;
use crate::number::store::{CheckedIn, NumbersWanted};
use crate::originator::Originator;
use crate::page::{Page, PageRequest};
use crate::phone::{E164, parse_any};
use crate::receipt::{Receipt, ReceiptPlan, ReceiptStatus, Recorded};
use crate::route_name::RouteName;
use crate::setters::setters;

/// The most characters of the name of an account or a key.
pub const MAX_NAME: usize = 200;

/// The fields of a new account.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewAccountInput {
    /// Its name, for the operator; at most 200 characters.
    pub name: String,
    /// Its status, which decides whether it may send.
    pub status: AccountStatus,
    /// Its opening balance; unless it is zero, the first entry of its ledger.
    pub credits: Credits,
    /// Its settings: quiet hours, opt-out lines, and whether campaigns track links.
    pub settings: Settings,
    /// Its id, of which no account may have been made yet; `None` for a new one.
    pub id: Option<AccountId>,
}

impl NewAccountInput {
    /// An active account with this many credits and default settings.
    pub fn active(name: impl Into<String>, credits: u32) -> Self {
        Self {
            name: name.into(),
            status: AccountStatus::Active,
            credits: Credits::new(u64::from(credits)).unwrap_or(Credits::MAX),
            settings: Settings::default(),
            id: None,
        }
    }
}

setters! { NewAccountInput {
    /// Gives the account this id, by which a program knows again what it made.
    id(id: AccountId) = Some(id);
    /// Starts the account with this status.
    status(status: AccountStatus) = status;
    /// Starts the account with this balance.
    credits(credits: Credits) = credits;
    /// Starts the account with these settings.
    settings(settings: Settings) = settings;
} }

/// The fields of a new number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NumberInput {
    /// The number, in any common format.
    pub phone_number: String,
    /// The account that rents it; `None` makes it shared.
    pub account: Option<AccountId>,
    /// The route that carries its messages; `None` for the first configured one.
    pub route: Option<RouteName>,
    /// The rent, in credits for every 30 days.
    pub rental_credits: Credits,
    /// The standard monthly rent, in credits.
    pub monthly_credits: Credits,
    /// Whether it may be a number that another holder released less than 30 days ago.
    pub quarantine: Quarantine,
}

impl NumberInput {
    /// A number that all accounts share.
    pub fn shared(phone_number: impl Into<String>) -> Self {
        Self {
            phone_number: phone_number.into(),
            account: None,
            route: None,
            rental_credits: Credits::ZERO,
            monthly_credits: Credits::ZERO,
            quarantine: Quarantine::Respect,
        }
    }

    /// A number for one account only, without rent.
    pub fn dedicated(phone_number: impl Into<String>, account: AccountId) -> Self {
        Self { account: Some(account), ..Self::shared(phone_number) }
    }
}

setters! { NumberInput {
    /// Puts this route behind the number; `None` means the first configured route.
    route(route: impl Into<Option<RouteName>>) = route.into();
    /// Charges this many credits every 30 days.
    rental_credits(credits: Credits) = credits;
    /// Sets the standard monthly rent.
    monthly_credits(credits: Credits) = credits;
    /// Says what to do if another holder released the number less than 30 days ago.
    quarantine(quarantine: Quarantine) = quarantine;
} }

/// A new API key, shown in full this once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApiKeyCreated {
    /// The key itself, which cannot be read again.
    pub key: ApiKey,
    /// What is stored of it.
    pub record: KeyRecord,
}

/// The operator's handle, which acts on every account. It checks no token.
#[derive(Debug, Clone)]
pub struct Operator {
    pub(super) sms: Sms,
}

impl Sms {
    /// The operator's handle: accounts, keys, credits, numbers and inbound messages.
    pub fn operator(&self) -> Operator {
        Operator { sms: self.clone() }
    }
}

impl Operator {
    /// Creates an account. An opening balance is its first ledger entry.
    pub async fn account_create(&self, input: NewAccountInput) -> Result<Account, Error> {
        Ok(self.keyed(None).account_create(input).await?.value)
    }

    /// One account with its balance; [`Error::NotFound`] if there is none.
    pub async fn account_get(&self, id: AccountId) -> Result<Account, Error> {
        self.sms.store().account_get(id).await?.ok_or(Error::NotFound("account"))
    }

    /// Those of these accounts that exist.
    pub async fn accounts_among(&self, ids: &[AccountId]) -> Result<Vec<Account>, Error> {
        Ok(self.sms.store().accounts_among(ids).await?)
    }

    /// A page of all accounts, newest first.
    pub async fn account_list(&self, page: PageRequest) -> Result<Page<Account>, Error> {
        Ok(self.sms.store().account_list(page).await?)
    }

    /// Changes an account's name, status or settings.
    pub async fn account_update(
        &self,
        id: AccountId,
        change: AccountChange,
    ) -> Result<Account, Error> {
        let bad_name = change.name.as_deref().and_then(check_name);
        valid(bad_name.into_iter().chain(change.settings.check()).collect())?;
        let updated = self.sms.change_account(id, change).await?;
        updated.ok_or(Error::NotFound("account"))
    }

    /// Creates a key. The key itself is returned only this once; only its hash is stored.
    pub async fn api_key_create(
        &self,
        account: AccountId,
        mode: Mode,
        name: Option<String>,
    ) -> Result<ApiKeyCreated, Error> {
        valid(name.as_deref().and_then(check_name).into_iter().collect())?;
        match self.api_key_once(account, mode, name, None).await? {
            (key, Once::Done(record)) => Ok(ApiKeyCreated { key, record }),
            (_, Once::Earlier(_)) => Err(Error::IdempotencyConflict),
        }
    }

    /// All of an account's keys, newest first, including revoked ones.
    pub async fn api_key_list(&self, account: AccountId) -> Result<Vec<KeyRecord>, Error> {
        self.account_get(account).await?;
        Ok(self.sms.store().api_key_list(account).await?)
    }

    /// Revokes a key, which is refused from then on. Revoking a revoked key changes nothing.
    pub async fn api_key_revoke(&self, account: AccountId, id: ApiKeyId) -> Result<(), Error> {
        let revoked = self.sms.store().api_key_revoke(account, id, self.sms.now()).await?;
        revoked.map(|_| ()).ok_or(Error::NotFound("api_key"))
    }

    /// Adds a number, shared or for one account. The first rent of an account's number is taken at
    /// once if the balance covers it.
    pub async fn number_create(&self, input: NumberInput) -> Result<Number, Error> {
        Ok(self.keyed(None).number_create(input).await?.value)
    }

    /// The routes that a number may have: all except the one for test keys.
    fn live_routes(&self) -> impl Iterator<Item = &RouteName> {
        let names = self.sms.routes().iter().map(|route| route.name());
        names.filter(|name| **name != RouteName::test())
    }

    /// Whether the route of a number is connected now.
    pub(super) fn is_connected(&self, route: Option<&RouteName>) -> bool {
        let name = route.unwrap_or(self.sms.default_route());
        let route = self.sms.routes().iter().find(|route| route.name() == name);
        let connections = route.and_then(|route| route.connections());
        connections.is_some_and(|connections| connections.up > 0)
    }

    /// Every rule for single fields that a new number breaks.
    pub fn number_check(&self, input: &NumberInput) -> Vec<FieldError> {
        let bad_phone = parse_any(&input.phone_number).is_err().then(no_number);
        let route = input.route.as_ref();
        let bad_route = route.filter(|route| !self.live_routes().any(|name| name == *route));
        bad_phone.into_iter().chain(bad_route.map(|_| self.no_such_route())).collect()
    }

    fn no_such_route(&self) -> FieldError {
        let names: Vec<&str> = self.live_routes().map(RouteName::as_str).collect();
        let names = names.join(", ");
        let message = format!("no route of this name is configured; choose one of: {names}");
        FieldError::new("route", "unknown_value", message)
    }

    /// All numbers, newest first.
    pub async fn number_list(&self) -> Result<Vec<Number>, Error> {
        Ok(self.sms.store().number_list(NumbersWanted::All).await?)
    }

    /// Deletes a number. Rent that was taken is not refunded; rent that is owed is not taken any
    /// more. Another holder does not get the number for 30 days, and what arrives on it meanwhile
    /// belongs to the account that last sent the person a message from it.
    pub async fn number_delete(&self, id: NumberId) -> Result<(), Error> {
        let deleted = self.sms.delete_number(id).await?;
        if deleted { Ok(()) } else { Err(Error::NotFound("number")) }
    }

    /// Records a check-in of the gateway behind a number. The number is online for five minutes.
    pub async fn number_check_in(&self, id: NumberId) -> Result<(), Error> {
        let at = self.sms.now();
        let known = self.sms.store().number_check_in(CheckedIn::Number(id), at).await? > 0;
        if known { Ok(()) } else { Err(Error::NotFound("number")) }
    }

    /// Records an inbound message as if the network of the number had delivered it; `None` if it
    /// belongs to no account.
    pub async fn inbound(
        &self,
        from: impl Into<Originator>,
        to: E164,
        body: impl Into<String>,
    ) -> Result<Option<Message>, Error> {
        Ok(self.keyed(None).inbound(from, to, body.into()).await?.value)
    }

    /// A page of the messages that belong to no account, newest first.
    pub async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, Error> {
        Ok(self.sms.store().unrouted_list(page).await?)
    }

    /// Records a receipt as if a network had reported it. Returns the message afterwards. Late and
    /// repeated receipts change nothing.
    pub async fn receipt(
        &self,
        message: MessageId,
        status: ReceiptStatus,
    ) -> Result<Message, Error> {
        match self.sms.record_receipt(Receipt { message, status }).await? {
            Recorded::Changed(message) | Recorded::Unchanged(message) => Ok(message),
            Recorded::NoSuchMessage | Recorded::AlreadyDone => Err(Error::NotFound("message")),
        }
    }
}

impl Sms {
    pub(super) async fn record_receipt(&self, receipt: Receipt) -> Result<Recorded, Error> {
        let at = self.now();
        let plan = ReceiptPlan { receipt, at, ids: self.ids(at), follow_up: None };
        let recorded = self.store().receipts_record(vec![plan]).await.pop().transpose()?;
        self.wake(Work::Webhooks);
        Ok(recorded.unwrap_or(Recorded::NoSuchMessage))
    }
}

/// Checks the name of an account or a key: 1 to 200 characters, not all blank. `None` if it is
/// valid.
pub fn check_name(name: &str) -> Option<FieldError> {
    let length = name.trim().chars().count();
    if length == 0 {
        return Some(FieldError::new("name", "empty", "name must not be empty"));
    }
    if name.contains('\0') {
        let message = "name must not contain the character U+0000";
        return Some(FieldError::new("name", "invalid_character", message));
    }
    (length > MAX_NAME).then(|| {
        let message = format!("name must have at most {MAX_NAME} characters");
        FieldError::new("name", "too_long", message)
    })
}

pub(super) fn no_number() -> FieldError {
    FieldError::new("phone_number", "invalid_format", "not a phone number")
}

pub(super) fn valid(errors: Vec<FieldError>) -> Result<(), Error> {
    if errors.is_empty() { Ok(()) } else { Err(Error::Invalid(errors)) }
}
