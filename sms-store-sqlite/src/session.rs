//! Sessions of the console.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::account::api_key::KeyHash;
use sms_core::session::store::SessionStore;
use sms_core::session::{Holder, OperatorSeal, Session, SessionHash};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::error::SqlResult;
use crate::row::{Cols, size, time};

#[async_trait]
impl SessionStore for SqliteStore {
    async fn session_create(&self, session: Session, most: usize) -> Result<(), StoreError> {
        self.write("opening a session", move |db| {
            let Session { hash, holder, created_at, expires_at } = &session;
            let (key, seal) = match holder {
                Holder::Key(key) => (Some(key.as_bytes()), None),
                Holder::Operator(seal) => (None, Some(seal.as_bytes())),
            };
            db.run(
                "INSERT INTO session (hash, key_hash, operator_seal, created_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![hash.as_bytes(), key, seal, time(*created_at), time(*expires_at)],
            )?;
            db.run(
                "DELETE FROM session WHERE hash IN (
                     SELECT hash FROM session WHERE key_hash IS ?1
                     ORDER BY created_at DESC, hash DESC LIMIT -1 OFFSET ?2)",
                params![key, size(most)],
            )?;
            Ok(())
        })
        .await
    }

    async fn session_find(&self, hash: SessionHash) -> Result<Option<Session>, StoreError> {
        self.look("finding a session", move |db| {
            db.one(
                "SELECT hash, key_hash, operator_seal, created_at, expires_at
                 FROM session WHERE hash = ?1",
                [hash.as_bytes()],
                session,
            )
        })
        .await
    }

    async fn session_delete(&self, hash: SessionHash) -> Result<(), StoreError> {
        self.write("ending a session", move |db| {
            db.run("DELETE FROM session WHERE hash = ?1", [hash.as_bytes()]).map(drop)
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn sessions_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("removing sessions that are over", move |db| {
            db.run(
                "DELETE FROM session WHERE hash IN (
                     SELECT hash FROM session WHERE expires_at < ?1
                     ORDER BY expires_at LIMIT ?2)",
                params![time(before), size(limit)],
            )
        })
        .await
    }
}

fn session(c: &mut Cols<'_>) -> SqlResult<Session> {
    let hash = SessionHash::from_bytes(c.get()?);
    let (key, seal) = (c.get()?, c.get()?);
    let holder = match (key, seal) {
        (Some(key), None) => Holder::Key(KeyHash::from_bytes(key)),
        (None, Some(seal)) => Holder::Operator(OperatorSeal::from_bytes(seal)),
        (None, None) | (Some(_), Some(_)) => return Err(c.invalid()),
    };
    Ok(Session { hash, holder, created_at: c.at()?, expires_at: c.at()? })
}
