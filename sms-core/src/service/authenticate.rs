//! Authentication: from a bearer token to the caller.

use std::time::Duration;

use super::sms::Sms;
use crate::account::api_key::{ApiKey, KeyHash, KeyRecord};
use crate::account::status::AccountStatus;
use crate::error::{Error, causes};
use crate::ids::{AccountId, ApiKeyId};
use crate::mode::Mode;
use crate::time::Timestamp;

/// `last_used_at` is written at most this often.
const USED_EVERY: Duration = Duration::from_mins(1);

/// The caller of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// The account of the key.
    pub account: AccountId,
    /// Live or test, as the key's prefix says.
    pub mode: Mode,
    /// The id of the key, not the key itself.
    pub key: ApiKeyId,
}

impl Sms {
    /// The caller with this key; `None` if the key is malformed, unknown or revoked, which a caller
    /// cannot distinguish. A malformed key does not reach the store.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Caller>, Error> {
        let Ok(key) = ApiKey::parse(token) else { return Ok(None) };
        self.caller_with(key.hash()).await
    }

    /// The caller whose key has this hash; `None` if the key is unknown or revoked.
    pub async fn caller_with(&self, hash: KeyHash) -> Result<Option<Caller>, Error> {
        let found = self.store().api_key_find(hash).await?;
        let Some(record) = found.filter(|record| record.revoked_at.is_none()) else {
            return Ok(None);
        };
        let now = self.now();
        if is_stale(&record, now) {
            self.note_use(&record, now).await;
        }
        Ok(Some(Caller { account: record.account, mode: record.mode, key: record.id }))
    }
}

/// Whether a caller who was admitted earlier may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The key and its account may still make requests.
    Admitted,
    /// The key was revoked, or its account does not exist.
    KeyRevoked,
    /// The account is suspended.
    AccountSuspended,
    /// The session in the console is over.
    SessionOver,
}

impl Sms {
    /// Whether a caller with a long answer, such as a stream of events, may still get it.
    pub async fn standing(&self, caller: &Caller) -> Result<Standing, Error> {
        let keys = self.store().api_key_list(caller.account).await?;
        let own = keys.iter().find(|key| key.id == caller.key);
        if own.is_none_or(|key| key.revoked_at.is_some()) {
            return Ok(Standing::KeyRevoked);
        }
        let account = self.store().account_get(caller.account).await?;
        let is_suspended =
            account.is_some_and(|account| account.status == AccountStatus::Suspended);
        Ok(if is_suspended { Standing::AccountSuspended } else { Standing::Admitted })
    }

    /// Notes that a key was used. A request does not fail because its key's use cannot be noted.
    async fn note_use(&self, record: &KeyRecord, now: Timestamp) {
        let KeyRecord { account, id, .. } = *record;
        if let Err(error) = self.store().api_key_used(account, id, now).await {
            tracing::warn!(error = %causes(&error), "the use of an API key could not be recorded");
        }
    }
}

fn is_stale(record: &KeyRecord, now: Timestamp) -> bool {
    record.last_used_at.is_none_or(|at| now.since(at) >= USED_EVERY)
}
