#![doc = include_str!("../README.md")]
//!
//! # What this crate does not do
//!
//! Every request to an address that a customer chose leaves through this crate. The core decides
//! what to send, when and how often. This crate makes one attempt and reports the result. It keeps
//! no state about deliveries, does not retry, and uses no store.
//!
//! # Make one attempt without a service
//!
//! ```no_run
//! use sms_core::ids::AccountId;
//! use sms_webhooks::{Delivery, WebhookClient, WebhookClientConfig};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = WebhookClient::new(WebhookClientConfig::default())?;
//! let account = AccountId::from_u128(1);
//! client.check_url(account, "https://example.com/hooks").await?;
//!
//! let attempt = client
//!     .deliver(Delivery {
//!         account,
//!         url: "https://example.com/hooks",
//!         secrets: &["whsec_example"],
//!         event_type: "message.sent",
//!         delivery_id: "whd_1",
//!         body: r#"{"id":"evt_1","type":"message.sent"}"#.into(),
//!     })
//!     .await;
//! println!("{:?} {:?}", attempt.status_code, attempt.failure);
//! # Ok(())
//! # }
//! ```
//!
//! # Where things live
//!
//! | Module | What |
//! |---|---|
//! | [`signature`] | the signature header, for senders and receivers; the header names |
//! | [`standard_signature`] | the headers of Standard Webhooks |
//! | [`address`] | which IP addresses are public |
//! | [`endpoint_url`] | which URLs may be an endpoint |
//! | [`resolver`] | refuses names with a forbidden address |
//! | [`dns`] | looks names up, without threads |
//! | [`lookup_turns`] | how many names are looked up at once, for each account |
//! | [`client`] | one attempt over HTTP |
//! | [`slots`] | how many attempts each endpoint may have in flight |
//! | [`http_sender`] | the core's `WebhookSender`, with the client |
//! | [`secret_keys`] | seals the secrets of endpoints for the store |
//! | [`courier`] | claims due deliveries and attempts them |

#![deny(missing_docs)]

pub mod address;
pub mod client;
pub mod courier;
pub mod dns;
pub mod endpoint_url;
mod failure;
pub mod http_sender;
pub mod lookup_turns;
pub mod resolver;
mod retry_after;
pub mod secret_keys;
pub mod signature;
pub mod slots;
pub mod standard_signature;

pub use address::Reach;
pub use client::{Attempt, ClientError, Delivery, UnresolvedNames, WebhookClient};
pub use client::{KEPT_ANSWER_BYTES, READ_ANSWER_BYTES, WebhookClientConfig};
pub use courier::{Courier, Progress};
pub use dns::DnsResolver;
pub use endpoint_url::EndpointUrl;
pub use http_sender::HttpSender;
pub use lookup_turns::LookupLimits;
pub use resolver::{Guard, GuardError, Resolve};
pub use secret_keys::{KeysRefused, SecretKeys};
pub use signature::{DELIVERY_HEADER, EVENT_HEADER, SIGNATURE_HEADER};
pub use signature::{TOLERANCE_SECONDS, VerifyError, sign, sign_with_each, verify};
pub use slots::{NoSlot, Outcome, SlotLimits, Slots};
pub use standard_signature::{STANDARD_ID_HEADER, STANDARD_SIGNATURE_HEADER};
pub use standard_signature::{STANDARD_TIMESTAMP_HEADER, sign_standard};

/// Why an attempt failed. [`WebhookClient::deliver`] never returns `EndpointOff`.
pub use sms_core::webhook::delivery::DeliveryError;
/// Why a URL may not be an endpoint.
pub use sms_core::webhook::sender::UrlRefused;
