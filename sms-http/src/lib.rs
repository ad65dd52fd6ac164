#![doc = include_str!("../README.md")]
//!
//! # How it is built
//!
//! Only this crate knows HTTP. It has two rooms. [`web`] is the framework that handlers are built
//! on; it knows nothing of messages, accounts or credits. The rest knows the domain:
//!
//! 1. [`api`] has the handlers of the API, [`admin`] those of the operator's API, and
//!    [`short_link`] redirects short URLs.
//! 2. [`console`] serves people in a browser: it signs them in and passes on to both APIs.
//! 3. [`rate_limit`] counts the requests of a key.
//! 4. [`sandbox`] is a service whose clock the operator moves.
//! 5. [`server`] puts a whole server together.

pub mod admin;
pub mod api;
pub mod console;
mod domain_error;
mod failure;
pub mod rate_limit;
pub mod sandbox;
mod secret_door;
pub mod server;
pub mod short_link;
pub mod web;
