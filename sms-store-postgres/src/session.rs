//! Sessions of the console.

use async_trait::async_trait;
use sms_core::account::api_key::KeyHash;
use sms_core::session::store::SessionStore;
use sms_core::session::{Holder, OperatorSeal, Session, SessionHash};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::PgStore;
use crate::begin::begin;
use crate::error::{Context, PgError, PgResult};
use crate::retention::{delete, delete_older};
use crate::row::{Read, bigint, time};

#[async_trait]
impl SessionStore for PgStore {
    async fn session_create(&self, session: Session, most: usize) -> Result<(), StoreError> {
        let doing = "opening a session";
        let Session { hash, holder, created_at, expires_at } = session;
        let (key, seal) = match &holder {
            Holder::Key(key) => (Some(key.as_bytes().as_slice()), None),
            Holder::Operator(seal) => (None, Some(seal.as_bytes().as_slice())),
        };
        let mut tx = begin(&self.pool).await.context(doing)?;
        sqlx::query(
            "INSERT INTO session (hash, key_hash, operator_seal, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(hash.as_bytes().as_slice())
        .bind(key)
        .bind(seal)
        .bind(time(created_at))
        .bind(time(expires_at))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        // `IS NOT DISTINCT FROM` would use no index.
        let oldest = match key {
            Some(key) => sqlx::query(OLDEST_OF_KEY).bind(bigint(most as u64)).bind(key),
            None => sqlx::query(OLDEST_OF_OPERATOR).bind(bigint(most as u64)),
        };
        oldest.execute(&mut *tx).await.context(doing)?;
        tx.commit().await.context(doing)
    }

    async fn session_find(&self, hash: SessionHash) -> Result<Option<Session>, StoreError> {
        let doing = "finding a session";
        let row = sqlx::query(
            "SELECT hash, key_hash, operator_seal, created_at, expires_at FROM session
             WHERE hash = $1",
        )
        .bind(hash.as_bytes().as_slice())
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        row.as_ref().map(session).transpose().context(doing)
    }

    async fn session_delete(&self, hash: SessionHash) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM session WHERE hash = $1")
            .bind(hash.as_bytes().as_slice())
            .execute(&self.pool)
            .await
            .context("ending a session")?;
        Ok(())
    }
}

impl PgStore {
    pub(crate) async fn sessions_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        const OVER: &str = delete_older!("session", key: "hash", age: "expires_at");
        let doing = "removing sessions that are over";
        delete(&self.pool, OVER, before, limit).await.context(doing)
    }
}

/// Removes all but the `$1` newest sessions of a key. Another sign-in may remove them too.
const OLDEST_OF_KEY: &str = "DELETE FROM session WHERE hash IN (
     SELECT hash FROM session WHERE key_hash = $2
     ORDER BY created_at DESC, hash DESC OFFSET $1 FOR UPDATE SKIP LOCKED)";

/// The same, of the operator.
const OLDEST_OF_OPERATOR: &str = "DELETE FROM session WHERE hash IN (
     SELECT hash FROM session WHERE key_hash IS NULL
     ORDER BY created_at DESC, hash DESC OFFSET $1 FOR UPDATE SKIP LOCKED)";

fn session(row: &PgRow) -> PgResult<Session> {
    row.in_table("session", || {
        let key = bytes(row, "key_hash")?.map(|key| Holder::Key(KeyHash::from_bytes(key)));
        let seal = bytes(row, "operator_seal")?.map(OperatorSeal::from_bytes);
        let hash = bytes(row, "hash")?.ok_or_else(|| PgError::invalid("hash"))?;
        Ok(Session {
            hash: SessionHash::from_bytes(hash),
            holder: key
                .or(seal.map(Holder::Operator))
                .ok_or_else(|| PgError::invalid("operator_seal"))?,
            created_at: row.at("created_at")?,
            expires_at: row.at("expires_at")?,
        })
    })
}

fn bytes(row: &PgRow, column: &str) -> PgResult<Option<[u8; 32]>> {
    let bytes: Option<Vec<u8>> = row.try_get(column)?;
    bytes.map(|bytes| bytes.try_into().map_err(|_| PgError::invalid(column))).transpose()
}
