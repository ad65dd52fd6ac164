//! The programs beside this file are what users of the SMS platform copy. Run one with
//! `cargo run -p sms-examples --example send_one`.
//!
//! This crate has no code of its own; it compiles the README's examples.

/// The README, whose Rust examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The architecture's walk-through, whose Rust examples are tests.
#[cfg(doctest)]
#[doc = include_str!("../../ARCHITECTURE.md")]
pub struct Architecture;
