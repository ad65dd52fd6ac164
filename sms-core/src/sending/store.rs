//! What a store does with sends.

use async_trait::async_trait;

use super::idempotency::{EarlierSend, IdempotencyKey};
use super::plan::SendPlan;
use super::settle::{SendRefused, Sent};
use crate::ids::AccountId;
use crate::store::{CommitError, StoreError};
use crate::time::Timestamp;

/// Accepts sends.
#[async_trait]
pub trait SendingStore: Send + Sync {
    /// Commits plans, each whole or not at all, in the order given and each by
    /// [`SendPlan::settle`] against the facts as the ones before left them. They may share a
    /// commit; one that is refused takes nothing from the others.
    ///
    /// Between reading an account's facts and writing, no other commit of this account may run. The
    /// links of an accepted plan are written with its texts; no two links, of whatever accounts,
    /// ever have one code. A replay answers with the batch's texts
    /// [as accepted](crate::message::Message::as_accepted). Answers in the order given.
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>>;

    /// The send remembered under a key of the account, if it is [still kept](EarlierSend::is_kept)
    /// at `at`.
    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError>;

    /// The answer to an earlier send, repeated: with the batch's texts
    /// [as accepted](crate::message::Message::as_accepted).
    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError>;

    /// Removes up to `limit` idempotency keys accepted before `before`. Returns how many.
    async fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;

    /// Forgets up to `limit` sends with test keys made before `before`. Returns how many. An
    /// accepted one may forget those of its account that were made
    /// [so long](super::settle::TEST_TEXTS_KEPT) before it, and none later.
    async fn test_sends_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError>;
}
