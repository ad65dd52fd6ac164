//! Tests of the whole service.
//!
//! [`simulation`] runs the whole service with its workers on a virtual clock, from one seed, and
//! checks the invariants after every step. [`rig`] runs real servers on a real PostgreSQL, kills,
//! stops and disconnects them, and checks the invariants in the database. `tests/suite` runs short
//! versions of both as tests.

#![deny(missing_docs)]

pub mod call_counter;
pub mod claim_counter;
pub mod failing_store;
pub mod layer;
pub mod rig;
pub mod simulation;
pub mod slow_store;
pub mod troubled_replays;
pub mod unfinished_store;
pub mod unlucky_store;
