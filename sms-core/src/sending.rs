//! Sending: from a request to accepted texts.
//!
//! [`request`] says what may be asked, [`recipients`] who of those asked for gets a text,
//! [`plan`] works out every text ([`writer`]) and its price, [`quote`] shows that price, [`settle`]
//! decides with the account locked, [`idempotency`] knows a request again.

pub mod facts;
pub mod idempotency;
pub mod plan;
pub mod quote;
pub mod recipients;
pub mod request;
pub mod settle;
pub mod store;
pub mod writer;

pub use idempotency::IdempotencyKey;
pub use plan::SendPlan;
pub use quote::Quote;
pub use recipients::{Rejection, RejectionReason};
pub use request::SendRequest;
pub use settle::{SendRefused, Sent};
