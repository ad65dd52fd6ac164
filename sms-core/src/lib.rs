#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! Files are named after the domain, in the specification's words. `noun.rs` and `noun/` hold the
//! rules of a noun, `noun/store.rs` its store trait. [`service`] puts the nouns together; [`store`]
//! explains the boundary to stores, and [`for_stores`] lists what only authors of stores need.
//!
//! No two files import each other, directly or through others. Files form three layers and import
//! only files of their own layer and of the layers below. A test checks both rules.
//!
//! 1. **Foundations** import no noun: [`ids`], [`time`], [`clock`], [`random`], [`phone`],
//!    [`text`], [`page`], the amounts in [`credits`], and the errors of fields and of stores.
//! 2. **Nouns**: [`account`], [`message`], [`sending`], [`dispatch`], [`campaign`] and the others
//!    hold the rules, the plans and the store trait of each noun. [`error`] and [`store`]
//!    combine those of all nouns.
//! 3. **[`service`]** imports everything, and only `lib.rs` imports it.
//!
//! # Which types may grow
//!
//! Inputs that only callers build, and answers that only this crate builds, are `non_exhaustive`
//! and may gain fields; each input has a constructor and setters. Everything else that crosses a
//! trait (nouns, changes, filters, plans, facts and writes) stays exhaustive, so that a new field
//! stops every store and route from compiling until it handles the field.

#![deny(missing_docs)]

pub mod account;
pub mod campaign;
pub mod clock;
pub mod commit;
pub mod contact;
pub mod conversation;
pub mod credits;
pub mod dispatch;
pub mod error;
pub mod event;
mod field_error;
pub mod for_stores;
pub mod idempotency;
pub mod ids;
pub mod inbound;
pub mod keyword;
pub mod link;
pub mod list;
pub mod message;
pub mod number;
pub mod opt_out;
pub mod page;
pub mod phone;
pub mod random;
pub mod receipt;
pub mod route;
pub mod sender_name;
pub mod sending;
pub mod service;
pub mod session;
mod setters;
pub mod statistics;
pub mod store;
pub mod template;
pub mod text;
pub mod time;
mod unknown_name;
pub mod webhook;

#[cfg(test)]
mod samples;

pub use error::{Error, FieldError};
pub use service::{Sms, SmsBuilder};
pub use unknown_name::UnknownName;

/// The types that most programs need.
pub mod prelude {
    pub use crate::account::{AccountStatus, Mode};
    pub use crate::error::Error;
    pub use crate::message::{Message, MessageFilter, MessageStatus};
    pub use crate::page::PageRequest;
    pub use crate::sending::{IdempotencyKey, SendRequest, Sent};
    pub use crate::service::operator::{NewAccountInput, NumberInput};
    pub use crate::service::{Sms, SmsBuilder};
}
