//! What a store does with numbers.

use async_trait::async_trait;

use super::Number;
use crate::ids::{AccountId, NumberId};
use crate::store::StoreError;
use crate::time::Timestamp;

/// What became of a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberCreated {
    /// It is kept.
    Created,
    /// The operator has this number already; nothing was kept.
    NumberExists,
    /// The account that shall rent it does not exist; nothing was kept.
    NoSuchAccount,
}

/// Keeps the operator's numbers.
#[async_trait]
pub trait NumberStore: Send + Sync {
    /// Writes a new number.
    async fn number_create(&self, number: Number) -> Result<NumberCreated, StoreError>;

    /// All numbers, newest first.
    async fn number_list(&self) -> Result<Vec<Number>, StoreError>;

    /// The numbers an account's texts may come from: its own and the shared ones, for planning its
    /// sends. What another program wrote within the last 5 s may be missing; what was written
    /// through this value never is.
    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError>;

    /// Removes a number; false when there is none of this id.
    async fn number_delete(&self, id: NumberId) -> Result<bool, StoreError>;

    /// Remembers that the gateway behind a number checked in; false when there is none of this id.
    async fn number_check_in(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError>;
}
