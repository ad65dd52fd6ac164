//! The tests of the whole service, in one binary.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documented;
mod event_race;
mod held;
mod journal;
mod pages;
mod reading;
mod readmes;
mod replay;
mod rig;
mod route;
mod send;
mod simulation;
mod simulation_beside;
mod store_failure;
mod store_guide;
mod stranger;
mod tidy;
mod webhook;
mod workers;
