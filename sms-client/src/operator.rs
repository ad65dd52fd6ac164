//! The few operations of the operator's API that a developer needs.

use serde::Serialize;

use crate::call::{Call, KeyedCall};
use crate::client::{Client, NotAClient};
use crate::message::Message;
use crate::private_text::{ApiKey, Phone, Words};
use crate::retry::Retries;

/// Calls the operator's API with the operator's token.
#[derive(Debug, Clone)]
pub struct OperatorClient {
    client: Client,
}

/// A message that somebody sent to one of the service's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InboundInput {
    /// The sender.
    pub from: Phone,
    /// The number that received it, one of the operator's.
    pub to: Phone,
    /// The words.
    pub body: Words,
}

#[derive(Serialize)]
struct ClockInput {
    advance_seconds: u64,
}

impl OperatorClient {
    /// A client of the server at this address, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    ///
    /// As for [`Client::new`].
    pub fn new(server: &str, token: &ApiKey) -> Result<Self, NotAClient> {
        let client = Client::build(server, token, Retries::default(), "admin/v1/")?;
        Ok(Self { client })
    }

    /// Records an inbound message as if a network had delivered it. `None` if the number belongs to
    /// no account.
    pub fn inbound_take(&self, input: &InboundInput) -> KeyedCall<Option<Message>> {
        self.client.post_json(&["inbound"], input).keyed()
    }

    /// Lets time pass on a server that runs as a sandbox, with all that falls due on the way.
    pub fn clock_advance(&self, seconds: u64) -> Call<serde_json::Value> {
        self.client.post_json(&["clock"], &ClockInput { advance_seconds: seconds })
    }
}
