//! Deliveries: one event on its way to one endpoint.

use std::fmt;

use super::Endpoint;
use crate::dispatch::LeaseToken;
use crate::event::{Event, EventBody, EventType};
use crate::ids::{AccountId, DeliveryId, EndpointId, EventId, Ids};
use crate::time::Timestamp;

/// How long deliveries are kept, from the moment they were made.
pub const KEPT_FOR: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryStatus {
    /// It waits for an attempt.
    Pending,
    /// The endpoint took it.
    Delivered,
    /// No more attempts are made by themselves.
    GivenUp,
}

impl DeliveryStatus {
    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why an attempt failed: a closed list that tells nothing of addresses or resolvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryError {
    /// The endpoint's name has no address.
    DnsFailed,
    /// Its address is not on the public internet.
    ForbiddenAddress,
    /// No connection came about, or it broke before an answer.
    ConnectFailed,
    /// The endpoint's certificate or TLS did not do.
    TlsFailed,
    /// No answer in time.
    Timeout,
    /// An answer other than 2xx.
    HttpStatus,
    /// The endpoint was switched off while the delivery waited.
    EndpointOff,
}

impl DeliveryError {
    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DnsFailed => "dns_failed",
            Self::ForbiddenAddress => "forbidden_address",
            Self::ConnectFailed => "connect_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::HttpStatus => "http_status",
            Self::EndpointOff => "endpoint_off",
        }
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One event on its way to one endpoint. Its id and body are the same in every attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// Whose it is.
    pub account: AccountId,
    /// Where it goes.
    pub endpoint: EndpointId,
    /// The event it tells of.
    pub event_id: EventId,
    /// The kind of that event.
    pub event_type: EventType,
    /// The bytes it carries.
    pub body: EventBody,
    /// Where it stands.
    pub status: DeliveryStatus,
    /// How many attempts were made.
    pub attempts: u32,
    /// The status code of the last answer.
    pub last_status_code: Option<u16>,
    /// Why the last attempt failed.
    pub last_error: Option<DeliveryError>,
    /// When the last attempt ended.
    pub last_attempt_at: Option<Timestamp>,
    /// When the next attempt is due, while it is pending.
    pub next_attempt_at: Option<Timestamp>,
    /// When the endpoint took it.
    pub delivered_at: Option<Timestamp>,
    /// The worker that is at it now; its hold runs out at [`Delivery::leased_until`].
    pub lease: Option<LeaseToken>,
    /// When that hold runs out.
    pub leased_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Delivery {
    /// A delivery of `event` to an endpoint, due at once.
    pub fn of(event: &Event, body: EventBody, endpoint: EndpointId, ids: &mut Ids) -> Self {
        Self {
            id: ids.next(),
            account: event.account,
            endpoint,
            event_id: event.id,
            event_type: event.data.kind(),
            body,
            status: DeliveryStatus::Pending,
            attempts: 0,
            last_status_code: None,
            last_error: None,
            last_attempt_at: None,
            next_attempt_at: Some(event.created_at),
            delivered_at: None,
            lease: None,
            leased_until: None,
            created_at: event.created_at,
        }
    }

    /// When a worker may take it: when its attempt is due, or, while a worker has it, when that
    /// worker's hold runs out. `None` unless it is pending.
    pub fn claimable_at(&self) -> Option<Timestamp> {
        match self.status {
            DeliveryStatus::Pending => self.leased_until.max(self.next_attempt_at),
            DeliveryStatus::Delivered | DeliveryStatus::GivenUp => None,
        }
    }

    /// Whether it waits for an attempt that no worker is making at this moment.
    pub fn is_waiting(&self, at: Timestamp) -> bool {
        let held = self.leased_until.is_some_and(|until| until > at);
        self.status == DeliveryStatus::Pending && !held
    }

    /// What becomes of a [waiting](Self::is_waiting) delivery when its endpoint is switched off. An
    /// attempt under way is not disturbed: it ends as it ends, and no other follows.
    #[must_use]
    pub fn given_up(self) -> Self {
        Self {
            status: DeliveryStatus::GivenUp,
            last_error: Some(DeliveryError::EndpointOff),
            next_attempt_at: None,
            lease: None,
            leased_until: None,
            ..self
        }
    }
}

/// Fans an event out: one delivery for each of the account's endpoints that wants it.
pub fn fan_out<'a>(
    event: &Event,
    endpoints: impl IntoIterator<Item = &'a Endpoint>,
    ids: &mut Ids,
) -> Vec<Delivery> {
    let kind = event.data.kind();
    let mut body = None;
    let wanting = endpoints.into_iter().filter(|endpoint| endpoint.wants(kind));
    wanting
        .map(|endpoint| {
            let body = body.get_or_insert_with(|| event.body()).clone();
            Delivery::of(event, body, endpoint.id, ids)
        })
        .collect()
}
