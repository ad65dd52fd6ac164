//! What a store does with numbers.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Number;
use super::release::AddPlan;
use super::rent::{RentPlan, RentsCharged};
use crate::idempotency::{Answer, Claim, Once};
use crate::ids::{AccountId, NumberId};
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::store_error::StoreError;
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
    /// The id, which a repetition returns again.
    pub id: NumberId,
    /// When it was added.
    pub at: Timestamp,
    /// When its gateway had checked in by then.
    pub checked_in_at: Option<Timestamp>,
}

/// Which of the operator's numbers are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumbersWanted {
    /// All, newest first.
    All,
    /// The dedicated numbers of an account, newest first and always current.
    HeldBy(AccountId),
    /// The one with this phone number, if there is one.
    Phone(E164),
    /// Those from which an account's messages may be sent: its own and the shared ones, for
    /// planning its sends. Changes that another program made within the last 5 s may be missing;
    /// changes made through this store value never are.
    UsableBy(AccountId),
}

/// Whose gateways have checked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckedIn {
    /// That of the number with this id, if there is one.
    Number(NumberId),
    /// Those of all numbers whose route is one of these, where `None` stands for the numbers that
    /// name no route.
    Routes(Vec<Option<RouteName>>),
}

/// Reads the operator's numbers.
#[async_trait]
pub trait ReadsNumbers: Send + Sync {
    /// The numbers that are wanted.
    async fn number_list(&self, wanted: NumbersWanted) -> Result<Vec<Number>, StoreError>;

    /// Those of these phone numbers that are numbers of the operator.
    async fn numbers_among(&self, phones: &[E164]) -> Result<BTreeSet<E164>, StoreError>;
}

/// Keeps the operator's numbers.
#[async_trait]
pub trait NumberStore: ReadsNumbers {
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

    /// Removes a number, and keeps its [`Release`](super::release::Release) in place of an earlier
    /// one of the same phone number; false if there is no number with this id.
    async fn number_delete(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError>;

    /// Records a check-in, and returns how many numbers it was for.
    async fn number_check_in(&self, who: CheckedIn, at: Timestamp) -> Result<usize, StoreError>;

    /// Charges rent. Each number is settled by [`RentPlan::settle`](super::rent::RentPlan::settle)
    /// against its account's balance after the numbers before it; entries, balance and number are
    /// written in one commit. Concurrent calls never charge the same period, and the structure of a
    /// store ensures that the ledger holds a period of a number at most once.
    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError>;
}
