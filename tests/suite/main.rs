//! The tests of the whole service, in one binary.

mod simulation;
mod store_failure;
mod tidy;
