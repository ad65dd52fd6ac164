//! Idempotency keys: what is remembered under them, and until when.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::store::IdempotencyStore;
use sms_core::idempotency::{
    Answer, Claim, Earlier, Fingerprint, IdempotencyKey, Kept, Once, Owner,
};
use sms_core::sending::idempotency::{EarlierSend, KeyUse};
use sms_core::sending::{FieldGaps, Rejection, RejectionReason};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, amount, id, size, time};

const FIND: &str =
    "SELECT fingerprint, accepted_at, answer, batch_id, rejected, gaps, credits, balance
     FROM idempotency_key WHERE account = ?1 AND key = ?2";

/// How many keys may stand before older ones. Keys stand in the order of their commits, which is
/// not quite that of their acceptance, and not at all when a clock was put back.
const NOT_IN_ORDER: usize = 1_000;

/// What is remembered under a key.
pub(crate) enum Remembered {
    /// A send.
    Send(EarlierSend),
    /// Any other command.
    Command(Earlier),
}

impl Remembered {
    /// As a send finds it.
    pub(crate) fn key_use(self) -> KeyUse {
        match self {
            Self::Send(earlier) => KeyUse::Send(earlier),
            Self::Command(earlier) => KeyUse::Other { accepted_at: earlier.accepted_at },
        }
    }

    /// As every other command finds it.
    fn earlier(self) -> Earlier {
        match self {
            Self::Command(earlier) => earlier,
            Self::Send(EarlierSend { fingerprint, accepted_at, .. }) => {
                Earlier { fingerprint, accepted_at, kept: Kept::Send }
            }
        }
    }
}

impl SqliteStore {
    /// Runs a command that takes effect once under its claim. A refusal writes nothing.
    pub(crate) async fn once<T, R, E>(
        &self,
        doing: &'static str,
        claim: Option<&Claim>,
        mut command: impl FnMut(&Db) -> SqlResult<Result<T, R>> + Send + 'static,
    ) -> Result<Once<T>, E>
    where
        T: Answer + Send + 'static,
        R: Send + 'static,
        E: From<StoreError> + OfRefusal<R>,
    {
        let claim = claim.cloned();
        let settled = self.write(doing, move |db| {
            if let Some(earlier) = db.earlier(claim.as_ref())? {
                return Ok(Ok(Once::Earlier(earlier)));
            }
            match command(db)? {
                Ok(answer) => {
                    db.remember(claim.as_ref(), &answer)?;
                    Ok(Ok(Once::Done(answer)))
                }
                Err(refused) => Ok(Err(refused)),
            }
        });
        settled.await?.map_err(E::of_refusal)
    }
}

/// How a refusal reaches the caller.
pub(crate) trait OfRefusal<R> {
    fn of_refusal(refused: R) -> Self;
}

impl<R> OfRefusal<R> for CommitError<R> {
    fn of_refusal(refused: R) -> Self {
        Self::Refused(refused)
    }
}

/// A command that is never refused.
impl OfRefusal<StoreError> for StoreError {
    fn of_refusal(refused: StoreError) -> Self {
        refused
    }
}

impl Db {
    /// The number under which an owner's keys are kept.
    fn owner(&self, owner: Owner) -> SqlResult<Option<i64>> {
        match owner {
            Owner::Account(account) => self.account_no(account),
            Owner::Operator => Ok(Some(0)),
        }
    }

    /// What is remembered under a key.
    pub(crate) fn remembered(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
    ) -> SqlResult<Option<Remembered>> {
        let Some(owner) = self.owner(owner)? else { return Ok(None) };
        self.one(FIND, params![owner, key.as_str()], remembered)
    }

    /// What is remembered under the key of a claim. A command that finds something writes nothing.
    pub(crate) fn earlier(&self, claim: Option<&Claim>) -> SqlResult<Option<Earlier>> {
        let Some(claim) = claim else { return Ok(None) };
        let found = self.remembered(claim.owner, &claim.key)?.map(Remembered::earlier);
        Ok(found.filter(|earlier| earlier.is_kept(claim.at)))
    }

    /// Remembers the answer of a command that came with a claim.
    pub(crate) fn remember(&self, claim: Option<&Claim>, answer: &impl Answer) -> SqlResult<()> {
        let Some(claim) = claim else { return Ok(()) };
        let Earlier { fingerprint, accepted_at, kept } = claim.remembered(answer);
        let answer = match kept {
            Kept::Answer(bytes) => bytes,
            Kept::Send => Vec::new(),
        };
        // An owner that does not exist has nothing to repeat.
        let Some(owner) = self.owner(claim.owner)? else { return Ok(()) };
        self.run(
            "INSERT OR REPLACE INTO idempotency_key (account, key, fingerprint, accepted_at, answer)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![owner, claim.key.as_str(), fingerprint.0, time(accepted_at), answer],
        )?;
        Ok(())
    }

    /// Remembers a send of the account with this row.
    pub(crate) fn remember_send(
        &self,
        account: i64,
        key: &IdempotencyKey,
        earlier: &EarlierSend,
    ) -> SqlResult<()> {
        let EarlierSend { fingerprint, batch, rejected, gaps, credits, balance, accepted_at } =
            earlier;
        let rejected = rejected.iter().map(|one| (one.to.as_str(), one.reason.as_str()));
        let rejected = serde_json::to_string(&rejected.collect::<Vec<_>>()).unwrap_or_default();
        self.run(
            "INSERT OR REPLACE INTO idempotency_key (account, key, fingerprint, accepted_at,
                 batch_id, rejected, gaps, credits, balance)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                account,
                key.as_str(),
                fingerprint.0,
                time(*accepted_at),
                id(*batch),
                rejected,
                gaps.to_stored().map(|gaps| gaps.to_string()),
                amount(*credits),
                amount(*balance)
            ],
        )?;
        Ok(())
    }
}

fn remembered(c: &mut Cols<'_>) -> SqlResult<Remembered> {
    let fingerprint = Fingerprint(c.get()?);
    let accepted_at = c.at()?;
    let answer: Option<Vec<u8>> = c.get()?;
    Ok(match answer {
        Some(bytes) => {
            Remembered::Command(Earlier { fingerprint, accepted_at, kept: Kept::Answer(bytes) })
        }
        None => Remembered::Send(EarlierSend {
            fingerprint,
            batch: c.id()?,
            rejected: c.map(|text: String| rejected(&text))?,
            gaps: c.map(|text: Option<String>| gaps(text.as_deref()))?,
            credits: c.credits()?,
            balance: c.credits()?,
            accepted_at,
        }),
    })
}

fn gaps(text: Option<&str>) -> Option<FieldGaps> {
    FieldGaps::from_stored(text.map(serde_json::from_str).transpose().ok()?)
}

fn rejected(text: &str) -> Option<Vec<Rejection>> {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).ok()?;
    let rejection = |(to, reason): (String, String)| {
        Some(Rejection::as_given(&to, reason.parse::<RejectionReason>().ok()?))
    };
    pairs.into_iter().map(rejection).collect()
}

#[async_trait]
impl IdempotencyStore for SqliteStore {
    async fn idempotency_find(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<Earlier>, StoreError> {
        let key = key.clone();
        let doing = "looking up an idempotency key";
        let found = self.look(doing, move |db| db.remembered(owner, &key)).await?;
        Ok(found.map(Remembered::earlier).filter(|earlier| earlier.is_kept(at)))
    }
}

impl SqliteStore {
    pub(crate) async fn idempotency_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("tidying idempotency keys", move |db| {
            let removed = db.run(
                "DELETE FROM idempotency_key WHERE rowid IN (
                     SELECT rowid FROM
                         (SELECT rowid, accepted_at FROM idempotency_key ORDER BY rowid LIMIT ?3)
                     WHERE accepted_at < ?1 LIMIT ?2)",
                params![time(before), size(limit), size(limit.saturating_add(NOT_IN_ORDER))],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }
}
