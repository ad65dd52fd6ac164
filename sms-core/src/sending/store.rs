//! What a store does with sends.

use async_trait::async_trait;

use super::idempotency::EarlierSend;
use super::plan::SendPlan;
use super::settle::{SendRefused, Sent};
use crate::idempotency::key::IdempotencyKey;
use crate::ids::AccountId;
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;

/// Accepts sends, and finds earlier ones by their idempotency key.
#[async_trait]
pub trait SendingStore: Send + Sync {
    /// Commits plans in the order given, each whole or not at all, by [`SendPlan::settle`] against
    /// the facts as the earlier plans left them. Plans may share a commit. A refused plan does not
    /// affect the others.
    ///
    /// No other commit of an account may run between reading its facts and writing. The links of an
    /// accepted plan are written with its messages. No two links of any accounts ever have the same
    /// code. A replay answers with the messages of the batch [as
    /// accepted](crate::message::Message::as_accepted). Answers in the order given.
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>>;

    /// The send remembered under a key of the account; `None` if there is none, if the key was used
    /// for something else, or if it is no longer [kept](EarlierSend::is_kept)
    /// at `at`.
    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError>;

    /// The answer to an earlier send, with the messages of its batch [as
    /// accepted](crate::message::Message::as_accepted).
    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError>;
}
