//! What a store does with numbers.

use async_trait::async_trait;

use super::Number;
use super::rent::{RentPlan, RentsCharged};
use crate::ids::{AccountId, NumberId};
use crate::phone::E164;
use crate::route::RouteName;
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

    /// The operator's number that people know by `phone`.
    async fn number_by_phone(&self, phone: E164) -> Result<Option<Number>, StoreError>;

    /// The numbers an account's texts may come from: its own and the shared ones, for planning its
    /// sends. What another program wrote within the last 5 s may be missing; what was written
    /// through this value never is.
    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError>;

    /// The numbers that an account has to itself, newest first, as they are now.
    async fn numbers_held(&self, account: AccountId) -> Result<Vec<Number>, StoreError>;

    /// Removes a number; false when there is none of this id.
    async fn number_delete(&self, id: NumberId) -> Result<bool, StoreError>;

    /// Remembers that the gateway behind a number checked in; false when there is none of this id.
    async fn number_check_in(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError>;

    /// The same for every number whose route is one of these; `None` for those that name none.
    /// Returns how many there are.
    async fn numbers_check_in(
        &self,
        routes: Vec<Option<RouteName>>,
        at: Timestamp,
    ) -> Result<usize, StoreError>;

    /// Takes rent, each number by [`RentPlan::settle`](super::rent::RentPlan::settle) against its
    /// account's balance as the ones before left it: entries, balance and number in one commit. Two
    /// at once never take the same period, and a store keeps by its structure that a period of a
    /// number is in the ledger once.
    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError>;

    /// The earliest moment at which rent is to be taken, or tried for again.
    async fn rents_next(&self) -> Result<Option<Timestamp>, StoreError>;
}
