//! The operator's new accounts and keys, once for an idempotency key.

use super::keyed::{Keyed, made};
use super::operator::{ApiKeyCreated, NewAccountInput, Operator, check_name, valid};
use crate::account::Account;
use crate::account::api_key::{ApiKey, KeyRecord};
use crate::account::share::Share;
use crate::account::store::{KeyCreated, NewAccount};
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, post};
use crate::error::Error;
use crate::idempotency::{Born, Claim, Made, Once, Replay, Settled};
use crate::ids::{AccountId, ApiKeyId};
use crate::mode::Mode;

/// A new key, or the record of one that was created before.
#[derive(Debug, Clone)]
pub enum ApiKeyMade {
    /// The key was created now.
    Now(ApiKeyCreated),
    /// The key was created by an earlier request, whose answer showed it. It is not stored, so it
    /// cannot be shown again. This is its record as it was created.
    Earlier(KeyRecord),
}

impl Keyed<Operator> {
    /// [`Operator::account_create`], once for the key.
    pub async fn account_create(&self, input: NewAccountInput) -> Result<Made<Account>, Error> {
        let bad_name = check_name(&input.name);
        valid(bad_name.into_iter().chain(input.settings.check()).collect())?;
        let claim = self.claim("account_create", |fields| {
            let NewAccountInput { name, status, credits, settings, id: _ } = &input;
            fields.add("name", [name]);
            fields.add("status", [status.as_str()]);
            fields.add("credits", [credits.get().to_string()]);
            settings.meaning(fields);
        });
        let claim = claim.as_ref();
        let sms = &self.handle.sms;
        let again = |Born { id, at }: Born<AccountId>| {
            let NewAccountInput { name, status, credits, settings, id: _ } = input.clone();
            let (share, balance) = (Share::default(), credits);
            let (created_at, updated_at) = (at, at);
            Account { id, name, status, balance, settings, share, created_at, updated_at }
        };
        if let Some(born) = self.earlier::<Account>(claim).await? {
            return Ok(Made::again(again(born)));
        }
        let at = sms.now();
        let mut ids = sms.ids(at);
        let account = again(Born { id: input.id.unwrap_or_else(|| ids.next()), at });
        let draft = Draft {
            id: ids.next(),
            cause: Cause::TopUp,
            amount: input.credits.gain(),
            note: Some("opening balance".to_owned()),
            at,
        };
        let opening = if input.credits == Credits::ZERO { Vec::new() } else { vec![draft] };
        let (entries, _) = post(Credits::ZERO, opening)
            .map_err(|reason| Error::BalanceOutOfRange(reason.to_string()))?;
        let new = NewAccount { account, opening: entries.into_iter().next() };
        made(sms.store().account_create(new, claim).await?, claim, again)
    }

    /// [`Operator::api_key_create`], once for the idempotency key. A repetition cannot show the
    /// API key again.
    pub async fn api_key_create(
        &self,
        account: AccountId,
        mode: Mode,
        name: Option<String>,
    ) -> Result<Made<ApiKeyMade>, Error> {
        valid(name.as_deref().and_then(check_name).into_iter().collect())?;
        let claim = self.claim("api_key_create", |fields| {
            fields.add("account", [account.to_string()]);
            fields.add("kind", [mode.as_str()]);
            fields.add("name", name.as_deref());
        });
        let claim = claim.as_ref();
        if let Some(born) = self.earlier::<KeyRecord>(claim).await? {
            return self.handle.api_key_again(account, born.id).await;
        }
        let (key, once) = self.handle.api_key_once(account, mode, name, claim).await?;
        match once.settle(claim)? {
            Settled::First(record) => {
                let value = ApiKeyMade::Now(ApiKeyCreated { key, record });
                Ok(Made { value, replay: Replay::First })
            }
            Settled::Again(born) => self.handle.api_key_again(account, born.id).await,
        }
    }
}

impl Operator {
    pub(super) async fn api_key_once(
        &self,
        account: AccountId,
        mode: Mode,
        name: Option<String>,
        claim: Option<&Claim>,
    ) -> Result<(ApiKey, Once<KeyRecord>), Error> {
        let at = self.sms.now();
        let key = ApiKey::generate(mode, &*self.sms.inner.random);
        let record = KeyRecord {
            id: self.sms.ids(at).next(),
            account,
            mode,
            name,
            hash: key.hash(),
            last_four: key.last_four().to_owned(),
            created_at: at,
            last_used_at: None,
            revoked_at: None,
        };
        match self.sms.store().api_key_create(record.clone(), claim).await? {
            Once::Done(KeyCreated::Created) => Ok((key, Once::Done(record))),
            Once::Done(KeyCreated::NoSuchAccount) => Err(Error::NotFound("account")),
            Once::Earlier(earlier) => Ok((key, Once::Earlier(earlier))),
        }
    }

    async fn api_key_again(
        &self,
        account: AccountId,
        id: ApiKeyId,
    ) -> Result<Made<ApiKeyMade>, Error> {
        let records = self.sms.store().api_key_list(account).await?;
        let record = records.into_iter().find(|record| record.id == id);
        let record = record.ok_or(Error::NotFound("api_key"))?;
        let record = KeyRecord { last_used_at: None, revoked_at: None, ..record };
        Ok(Made::again(ApiKeyMade::Earlier(record)))
    }
}
