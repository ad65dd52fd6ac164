#![doc = include_str!("../README.md")]
//!
//! # What a program uses
//!
//! | To | Read |
//! |---|---|
//! | import what most programs need | [`prelude`] |
//! | build the service, do its background work | [`service`] |
//! | act for one account: send, read, change | [`service::AccountHandle`] |
//! | act for the operator: accounts, numbers, credits | [`service::Operator`] |
//! | say what to send | [`sending::SendRequest`] |
//! | keep people and lists | [`contact::ContactInput`], [`list::ListInput`] |
//! | find messages, know their states | [`message`] |
//! | read events | [`event`] |
//! | branch on what went wrong | [`Error`] |
//! | connect a network | [`route`] |
//! | test on a clock of your own | [`clock::ManualClock`], [`route::simulator`] |
//!
//! Plans, verdicts, writes and the store traits are for authors of stores alone: [`for_stores`]
//! lists them.
//!
//! # Where things are
//!
//! Files are named after the domain, in the specification's words. `noun.rs` and `noun/` hold the
//! rules of a noun, `noun/store.rs` its store trait. [`service`] puts the nouns together; [`store`]
//! explains the boundary to stores, and [`for_stores`] lists what only authors of stores need.
//!
//! No two files import each other, directly or through others, and the modules form a line: each
//! imports only modules below itself. `ARCHITECTURE.md` draws the line, and a test checks both
//! rules. It has three layers:
//!
//! 1. **Foundations** know no noun: [`ids`], [`time`], [`clock`], [`random`], [`phone`],
//!    [`originator`], [`text`], [`page`], [`lane`], and the errors of fields and of stores.
//! 2. **Nouns**: [`account`], [`message`], [`sending`], [`dispatch`], [`campaign`] and the others
//!    hold the rules, the plans and the store trait of each noun. What changes a message is in
//!    [`change`]. [`error`] and [`store`] combine the errors and the traits of all nouns.
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
pub mod change;
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
mod hand_over;
pub mod idempotency;
pub mod ids;
pub mod inbound;
mod invisible;
pub mod keyword;
pub mod lane;
pub mod link;
pub mod list;
pub mod message;
mod mode;
pub mod number;
pub mod opt_out;
pub mod originator;
pub mod page;
pub mod phone;
pub mod random;
pub mod receipt;
pub mod route;
mod route_name;
pub mod secret_setting;
pub mod sender_name;
pub mod sending;
pub mod service;
pub mod session;
mod setters;
pub mod statistics;
pub mod store;
mod store_error;
pub mod template;
pub mod text;
pub mod time;
mod unknown_name;
pub mod upkeep;
pub mod version;
pub mod webhook;

#[cfg(test)]
mod samples;

pub use error::{Error, FieldError};
pub use service::{Sms, SmsBuilder};
pub use unknown_name::UnknownName;

/// The types that most programs need: the service and its handles, what they are given, what they
/// answer, and the ids.
///
/// ```
/// use sms_core::prelude::*;
///
/// /// Adds a guest to a list.
/// async fn add(account: &AccountHandle, list: ListId, number: &str) -> Result<ContactId, Error> {
///     let guest = ContactInput::new(number).first_name("Guest").custom_field("table", 4);
///     let guest = account.contact_create(guest).await?;
///     account.list_add(list, JoinInput::default().contact_ids([guest.id])).await?;
///     Ok(guest.id)
/// }
/// ```
pub mod prelude {
    pub use crate::account::{AccountStatus, Mode};
    pub use crate::campaign::CampaignInput;
    pub use crate::contact::custom::CustomPatch;
    pub use crate::contact::{Contact, ContactFilter, ContactInput, ContactPatch, CustomValue};
    pub use crate::error::{Error, FieldError};
    pub use crate::event::log::{EventRequest, LoggedEvent};
    pub use crate::event::position::Position;
    pub use crate::event::{Event, EventData, EventType};
    pub use crate::ids::{
        AccountId, ApiKeyId, BatchId, CampaignId, ContactId, EndpointId, EventId, KeywordId,
        LinkId, ListId, MessageId, NumberId, SenderNameId, TemplateId,
    };
    pub use crate::keyword::save::KeywordInput;
    pub use crate::list::join::JoinInput;
    pub use crate::list::{ContactList, ListInput};
    pub use crate::message::{ErrorCode, Message, MessageFilter, MessageStatus};
    pub use crate::page::{Page, PageRequest};
    pub use crate::phone::{E164, PhoneRefused, parse_uk_mobile};
    pub use crate::sending::settle::Replay;
    pub use crate::sending::{
        IdempotencyKey, Quote, Rejection, RejectionReason, SendRequest, Sent,
    };
    pub use crate::service::operator::{NewAccountInput, NumberInput};
    pub use crate::service::{AccountHandle, Operator, Sms, SmsBuilder};
    pub use crate::template::TemplateInput;
    pub use crate::time::Timestamp;
    pub use crate::webhook::endpoint::EndpointInput;
}
