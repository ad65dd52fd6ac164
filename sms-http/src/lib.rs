#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! The crate has two rooms. [`web`] is the framework that handlers are built on; it knows nothing
//! of messages, accounts or credits. The rest knows the domain:
//!
//! 1. [`api`] has the handlers of the API, [`admin`] those of the operator's API, and
//!    [`short_link`] redirects short URLs.
//! 2. [`mount`] makes one endpoint of them, with their documents and the doors before them.
//! 3. [`rate_limit`] counts the requests of a key, and [`secret_door`] wrong keys and tokens.

pub mod admin;
pub mod api;
mod domain_error;
mod failure;
pub mod mount;
pub mod rate_limit;
pub mod secret_door;
pub mod short_link;
pub mod web;
