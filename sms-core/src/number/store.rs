//! What a store does with numbers.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Number;
use super::release::AddPlan;
use super::rent::{RentPlan, RentsCharged};
use crate::idempotency::{Answer, Claim, Once};
use crate::ids::{AccountId, NumberId};
use crate::phone::E164;
use crate::route::RouteName;
use crate::store::StoreError;
use crate::time::Timestamp;

/// The result of creating a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberCreated {
    /// The number was written.
    Created,
    /// The operator already has this number; nothing was written.
    NumberExists,
    /// The account that would rent the number does not exist; nothing was written.
    NoSuchAccount,
    /// Another holder has released the number, and it is kept from others until then; nothing was
    /// written.
    Quarantined(Timestamp),
}

/// A repetition returns the number as it was added.
impl Answer for Number {
    type Kept = KeptNumber;

    fn kept(&self) -> KeptNumber {
        KeptNumber { id: self.id, at: self.assigned_at, checked_in_at: self.checked_in_at }
    }
}

/// What is kept of a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptNumber {
    /// Its id.
    pub id: NumberId,
    /// When it was added.
    pub at: Timestamp,
    /// When its gateway had checked in by then.
    pub checked_in_at: Option<Timestamp>,
}

/// Keeps the operator's numbers.
#[async_trait]
pub trait NumberStore: Send + Sync {
    /// Writes a new number if [`AddPlan::settle`] allows it, given the last release of its phone
    /// number. A release that runs at the same time is either not yet committed, so that the number
    /// still exists, or taken into account.
    ///
    /// A creation with a claim takes effect [once](crate::idempotency::store::IdempotencyStore).
    async fn number_create(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<NumberCreated>, StoreError>;

    /// All numbers, newest first.
    async fn number_list(&self) -> Result<Vec<Number>, StoreError>;

    /// The operator's number with this phone number; `None` if there is none.
    async fn number_by_phone(&self, phone: E164) -> Result<Option<Number>, StoreError>;

    /// The numbers from which an account's messages may be sent: its own and the shared ones, for
    /// planning its sends. Changes that another program made within the last 5 s may be missing;
    /// changes made through this store value never are.
    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError>;

    /// The dedicated numbers of an account, newest first and always current.
    async fn numbers_held(&self, account: AccountId) -> Result<Vec<Number>, StoreError>;

    /// Removes a number, and keeps its [`Release`](super::release::Release) in place of an earlier
    /// one of the same phone number; false if there is no number with this id.
    async fn number_delete(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError>;

    /// Records that the gateway of a number has checked in; false if there is no number with this
    /// id.
    async fn number_check_in(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError>;

    /// Records a check-in for every number whose route is one of `routes`, where `None` stands for
    /// the numbers that name no route. Returns how many numbers there are.
    async fn numbers_check_in(
        &self,
        routes: Vec<Option<RouteName>>,
        at: Timestamp,
    ) -> Result<usize, StoreError>;

    /// Charges rent. Each number is settled by [`RentPlan::settle`](super::rent::RentPlan::settle)
    /// against its account's balance after the numbers before it; entries, balance and number are
    /// written in one commit. Concurrent calls never charge the same period, and the structure of a
    /// store ensures that the ledger holds a period of a number at most once.
    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError>;

    /// The earliest time at which rent is to be charged or tried again; `None` if no number owes
    /// rent.
    async fn rents_next(&self) -> Result<Option<Timestamp>, StoreError>;
}
