//! The core of an SMS platform: the rules and values of sending and receiving texts with UK
//! mobile numbers for many accounts, and the traits they need from outside.
//!
//! No I/O happens here, and no time or randomness is found here: stores, routes, webhook senders,
//! clocks and randomness come in through traits. So a whole service runs on a clock that a test
//! moves by hand. `sms-store-memory` is the store to begin with.
//!
//! # Sending a text
//!
//! ```
//! use std::sync::Arc;
//! use sms_core::prelude::*;
//! use sms_store_memory::MemoryStore;
//!
//! # futures_executor::block_on(async {
//! let sms = Sms::builder(Arc::new(MemoryStore::new())).build();
//! let account = sms.operator().account_create(NewAccountInput::active("Bistro", 10)).await?;
//! sms.operator().number_create(NumberInput::shared("07700 900001")).await?;
//!
//! let request = SendRequest::new("Your table is ready").to("07700 900123");
//! let sent = sms.account(account.id, Mode::Live).send(request).await?;
//! assert_eq!((sent.messages.len(), sent.balance.get()), (1, 9));
//!
//! sms.dispatch_due(100).await?;
//! # Ok::<(), sms_core::Error>(())
//! # })?;
//! # Ok::<(), sms_core::Error>(())
//! ```
//!
//! # Where things are
//!
//! Files are named after the domain, in the specification's own words: the rules of a noun are in
//! `noun.rs` and `noun/`, what a store does with it in `noun/store.rs`. [`service`] puts them
//! together; [`store`] explains the boundary to stores.

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
pub mod statistics;
pub mod store;
pub mod template;
pub mod text;
pub mod time;
pub mod webhook;

#[cfg(test)]
mod samples;

pub use error::{Error, FieldError};
pub use service::{Sms, SmsBuilder};

/// The names that most programs need.
pub mod prelude {
    pub use crate::account::{AccountStatus, Mode};
    pub use crate::error::Error;
    pub use crate::message::{Message, MessageFilter, MessageStatus};
    pub use crate::page::PageRequest;
    pub use crate::sending::{IdempotencyKey, SendRequest, Sent};
    pub use crate::service::operator::{NewAccountInput, NumberInput};
    pub use crate::service::{Sms, SmsBuilder};
}
