//! Where replicas count together.

use std::fmt;

use async_trait::async_trait;

use super::membership::{CheckIn, Standing};
use super::reservation::{Granted, Reservation};
use crate::store::StoreError;

/// The counters and leases that the replicas over one store share. Not part of
/// [`Store`](crate::store::Store): a store that only one program can use has no need of it.
#[async_trait]
pub trait SharedLimits: Send + Sync + fmt::Debug {
    /// Settles a check-in with all others locked out, and keeps what it changes.
    async fn check_in(&self, check_in: CheckIn) -> Result<Standing, StoreError>;

    /// Settles reservations, of one key each, with their keys locked, and keeps the arrival times.
    /// The answers are in the order of the reservations.
    async fn reserve(&self, reservations: Vec<Reservation>) -> Result<Vec<Granted>, StoreError>;

    /// Removes up to `limit` keys that have been idle for an hour, which count for nothing. Returns
    /// how many.
    async fn tidy(&self, limit: usize) -> Result<usize, StoreError>;
}
