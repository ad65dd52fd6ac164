//! Webhooks: which endpoints receive which events, and how each delivery proceeds.
//!
//! This module decides and sends nothing. HTTP, signatures and addresses are behind the trait
//! [`sender::WebhookSender`], which the crate `sms-webhooks` implements.

pub mod attempt;
pub mod delivery;
pub mod endpoint;
pub mod pause;
pub mod replay;
pub mod reseal;
pub mod retry;
pub mod rotation;
pub mod sealing;
pub mod secret;
pub mod sender;
pub mod store;

pub use delivery::{Delivery, DeliveryStatus};
pub use endpoint::{Endpoint, EndpointInput};
pub use retry::RetrySchedule;
pub use secret::Secret;
