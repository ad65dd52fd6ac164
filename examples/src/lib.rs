//! Example programs for users of the SMS platform to copy. Run one with
//! `cargo run -p sms-examples --example send_one`.
//!
//! This crate has no code. It compiles the README's examples.

/// The README. Its Rust examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The architecture page. Its Rust examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../ARCHITECTURE.md")]
pub struct Architecture;
