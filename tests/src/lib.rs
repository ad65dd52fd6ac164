//! What holds every store and the whole service to account.
//!
//! [`simulation`] runs the whole service with its workers on a virtual clock, from one seed, and
//! checks the invariants after every step. The tests themselves are in `tests/suite`.

#![deny(missing_docs)]

pub mod failing_store;
pub mod simulation;
