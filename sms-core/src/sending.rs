//! Sending: from a request to accepted messages.
//!
//! [`request`] holds the request and its rules, [`recipients`] decides who receives a message,
//! [`plan`] computes every message ([`writer`]) and the price, in portions, [`quote`] shows that
//! price, [`gaps`] reports what merge fields could not show, [`settle`] decides with the account
//! locked ([`guard`]: or without), and [`idempotency`] recognises a repeated request.

pub mod facts;
pub mod gaps;
pub mod guard;
pub mod idempotency;
pub mod plan;
pub mod quote;
pub mod recipients;
pub mod request;
pub mod settle;
pub mod store;
pub mod writer;

pub use gaps::{BlankField, FieldGaps};
pub use idempotency::IdempotencyKey;
pub use plan::SendPlan;
pub use quote::Quote;
pub use recipients::{Rejection, RejectionReason};
pub use request::SendRequest;
pub use settle::{SendRefused, Sent};
