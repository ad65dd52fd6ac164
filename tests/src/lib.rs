//! What holds every store and the whole service to account.
//!
//! [`simulation`] runs the whole service with its workers on a virtual clock, from one seed, and
//! checks the invariants after every step. [`rig`] runs real servers on a real PostgreSQL, kills,
//! stops and cuts off what it can, and checks the invariants in the database. The tests themselves
//! are in `tests/suite`.

#![deny(missing_docs)]

pub mod claim_counter;
pub mod failing_store;
pub mod layer;
pub mod rig;
pub mod simulation;
