//! What a store does with idempotency keys alone. The commands that make something remember them.

use async_trait::async_trait;

use super::key::IdempotencyKey;
use super::{Earlier, Owner};
use crate::store_error::StoreError;
use crate::time::Timestamp;

/// Keeps what is remembered under idempotency keys.
///
/// A command that takes a [`Claim`](super::Claim) writes its effect and [what is
/// remembered](super::Claim::remembered) in one commit. If the key [is kept](Earlier::is_kept) at
/// the time of the claim, the command writes nothing and answers
/// [`Once::Earlier`](super::Once::Earlier), also where it would be refused. A refused command
/// remembers nothing. Of commands with equal keys that run at once, exactly one takes effect, and
/// the others answer with what it remembered. An expired key is taken over.
#[async_trait]
pub trait IdempotencyStore: Send + Sync {
    /// What is remembered under a key; `None` if there is nothing or if it is no longer
    /// [kept](Earlier::is_kept) at `at`.
    async fn idempotency_find(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<Earlier>, StoreError>;
}
