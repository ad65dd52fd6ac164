//! Idempotency keys: looked up, remembered in the commit of a command, and tidied away.
//!
//! A key's row is the last thing that a transaction locks. A transaction that inserts a key that
//! another one has just inserted waits for its commit.

use async_trait::async_trait;
use sms_core::idempotency::store::IdempotencyStore;
use sms_core::idempotency::{Answer, Claim, Earlier, IdempotencyKey, Kept, Once, Owner};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, Row, Transaction};
use uuid::Uuid;

use crate::PgStore;
use crate::error::{Context, PgError, PgResult};
use crate::fingerprint::fingerprint;
use crate::retention::{self, delete_older};
use crate::row::{Read, time, uuid};

mod row;

pub(crate) use row::take_over;

/// What the column `account_id` holds.
fn owner_id(owner: Owner) -> Uuid {
    match owner {
        Owner::Account(account) => uuid(account),
        Owner::Operator => Uuid::nil(),
    }
}

fn earlier(row: &PgRow) -> PgResult<Earlier> {
    row.in_table("idempotency_key", || {
        let answer: Option<Vec<u8>> = row.try_get("answer")?;
        Ok(Earlier {
            fingerprint: fingerprint(row)?,
            accepted_at: row.at("accepted_at")?,
            kept: answer.map_or(Kept::Send, Kept::Answer),
        })
    })
}

/// Whether a command may remember its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It has remembered it.
    Now,
    /// An earlier request has the key.
    Before,
}

/// Remembers the answer to a command, as the last statement of its transaction. Without a claim
/// there is nothing to remember.
pub(crate) async fn remember(
    connection: &mut PgConnection,
    claim: Option<&Claim>,
    answer: &impl Answer,
) -> PgResult<Taken> {
    let Some(claim) = claim else { return Ok(Taken::Now) };
    let Earlier { fingerprint, accepted_at, kept } = claim.remembered(answer);
    let answer = match kept {
        Kept::Answer(bytes) => Some(bytes),
        Kept::Send => None,
    };
    // An expired key is taken over.
    let inserted = sqlx::query(concat!(
        "INSERT INTO idempotency_key AS known (account_id, key, fingerprint, accepted_at, answer)
         VALUES ($1, $2, $3, $4, $5)",
        take_over!(),
        " WHERE known.accepted_at <= $6",
    ))
    .bind(owner_id(claim.owner))
    .bind(claim.key.as_str())
    .bind(fingerprint.0.as_slice())
    .bind(time(accepted_at))
    .bind(answer)
    .bind(time(claim.expired()))
    .execute(connection)
    .await?;
    Ok(if inserted.rows_affected() == 1 { Taken::Now } else { Taken::Before })
}

impl PgStore {
    /// Commits what a command wrote in `tx`, together with what its claim remembers. If an earlier
    /// request has the key, rolls back instead.
    pub(crate) async fn conclude<T: Answer>(
        &self,
        mut tx: Transaction<'static, Postgres>,
        claim: Option<&Claim>,
        done: T,
    ) -> PgResult<Once<T>> {
        match remember(&mut tx, claim, &done).await? {
            Taken::Now => {
                tx.commit().await?;
                Ok(Once::Done(done))
            }
            Taken::Before => {
                tx.rollback().await?;
                // It can only be missing if it was tidied away this moment.
                self.earlier(claim).await?.map(Once::Earlier).ok_or(PgError::Overtaken)
            }
        }
    }

    /// The answer to a command that was refused, once its transaction is over: the refusal, unless
    /// an earlier request has the key. That request may be why the command was refused.
    pub(crate) async fn refused<T, R>(
        &self,
        claim: Option<&Claim>,
        refused: CommitError<R>,
    ) -> Result<Once<T>, CommitError<R>> {
        let (Some(claim), CommitError::Refused(_)) = (claim, &refused) else {
            return Err(refused);
        };
        let earlier = self.find(claim.owner, &claim.key, claim.at).await;
        earlier.context("looking up an idempotency key")?.map(Once::Earlier).ok_or(refused)
    }

    /// What is remembered under the key of a claim.
    pub(crate) async fn earlier(&self, claim: Option<&Claim>) -> PgResult<Option<Earlier>> {
        match claim {
            Some(claim) => self.find(claim.owner, &claim.key, claim.at).await,
            None => Ok(None),
        }
    }

    async fn find(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> PgResult<Option<Earlier>> {
        let row = sqlx::query(
            "SELECT fingerprint, accepted_at, answer FROM idempotency_key
             WHERE account_id = $1 AND key = $2",
        )
        .bind(owner_id(owner))
        .bind(key.as_str())
        .fetch_optional(&self.pool)
        .await?;
        let earlier = row.as_ref().map(earlier).transpose()?;
        Ok(earlier.filter(|earlier| earlier.is_kept(at)))
    }
}

#[async_trait]
impl IdempotencyStore for PgStore {
    async fn idempotency_find(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<Earlier>, StoreError> {
        self.find(owner, key, at).await.context("looking up an idempotency key")
    }
}

impl PgStore {
    pub(crate) async fn idempotency_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let old = delete_older!("idempotency_key", key: "account_id, key", age: "accepted_at");
        let deleted = retention::delete(&self.pool, old, before, limit).await;
        deleted.context("tidying idempotency keys")
    }
}
