//! Authentication: from a bearer token to the caller.

use std::time::Duration;

use super::Sms;
use crate::account::Mode;
use crate::account::api_key::{ApiKey, KeyHash, KeyRecord};
use crate::error::{Error, causes};
use crate::ids::{AccountId, ApiKeyId};
use crate::time::Timestamp;

/// `last_used_at` is written at most this often.
const USED_EVERY: Duration = Duration::from_mins(1);

/// The caller of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// The account of the key.
    pub account: AccountId,
    /// Live or test.
    pub mode: Mode,
    /// The key.
    pub key: ApiKeyId,
}

impl Sms {
    /// The caller with this key; `None` if the key is malformed, unknown or revoked, which a caller
    /// cannot tell apart. A malformed key does not reach the store.
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

impl Sms {
    /// Notes that a key was used. A request does not fail because its key's use cannot be noted.
    async fn note_use(&self, record: &KeyRecord, now: Timestamp) {
        let KeyRecord { account, id, .. } = *record;
        if let Err(error) = self.store().api_key_used(account, id, now).await {
            tracing::warn!(error = %causes(&error), "the use of an API key could not be noted");
        }
    }
}

fn is_stale(record: &KeyRecord, now: Timestamp) -> bool {
    record.last_used_at.is_none_or(|at| now.since(at) >= USED_EVERY)
}
