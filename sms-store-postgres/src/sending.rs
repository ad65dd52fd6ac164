//! Accepts sends. Sends that arrive during a commit share the next one: they are settled
//! one after the other, and written together.

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::message::Message;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey, KeyUse};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::Sent;
use sms_core::sending::store::SendingStore;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::PgConnection;

use crate::PgStore;
use crate::error::{Context, PgResult};
use crate::retention::{self, delete_older};
use crate::row::uuid;

mod accepted;
mod account;
mod commit;
mod departure;
mod facts;
mod guarded;
mod lanes;
mod waiting;
mod write;

use commit::Answer;
use facts::key_columns;
pub(crate) use facts::write_tests;
pub(crate) use lanes::Sends;

/// Writes a send of one message within the caller's transaction. Returns the message, or `None` if
/// the send is not accepted.
pub(crate) async fn send_within(
    connection: &mut PgConnection,
    mut plan: SendPlan,
) -> PgResult<Option<Message>> {
    let mut state = facts::Locked::read(connection, &[&plan]).await?;
    let facts::Settled::Accepted { .. } = state.settle(&plan) else { return Ok(None) };
    accepted::insert(connection, &[&plan]).await?;
    state.write(connection).await?;
    Ok(plan.messages.pop())
}

#[async_trait]
impl SendingStore for PgStore {
    async fn send_accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        self.sends.accept(plans).await
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        let doing = "looking up an idempotency key";
        let row = sqlx::query(concat!(
            "SELECT ",
            key_columns!(),
            " FROM idempotency_key k WHERE k.account_id = $1 AND k.key = $2",
        ))
        .bind(uuid(account))
        .bind(key.as_str())
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        let found = row.as_ref().map(facts::key_use).transpose().context(doing)?;
        Ok(match found {
            Some(KeyUse::Send(earlier)) if earlier.is_kept(at) => Some(earlier),
            _ => None,
        })
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        let doing = "replaying an idempotent send";
        let mut connection = self.pool.acquire().await.context(doing)?;
        commit::replay(&mut connection, account, earlier).await.context(doing)
    }
}

impl PgStore {
    pub(crate) async fn test_sends_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let old = delete_older!("test_send", key: "account_id, batch_id", age: "made_at");
        let deleted = retention::delete(&self.pool, old, before, limit).await;
        deleted.context("tidying test sends")
    }
}
