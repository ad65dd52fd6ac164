//! Webhook endpoints and their deliveries.

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::call::{Call, KeyedCall, data};
use crate::choice::open_choice;
use crate::client::Client;
use crate::event::{EventType, Position};
use crate::ids::{DeliveryId, EventId, WebhookId};
use crate::listing::Listing;
use crate::patch::Patch;
use crate::private_text::WebhookSecret;
use crate::timestamp::Timestamp;

open_choice! {
    /// Why an endpoint is off.
    DisabledReason {
        /// Its owner disabled it.
        DisabledByOwner = "disabled_by_owner",
        /// It failed too often.
        ConsecutiveFailures = "consecutive_failures",
    }
}

open_choice! {
    /// How far a delivery has come.
    DeliveryStatus {
        /// It waits for an attempt.
        Pending = "pending",
        /// The endpoint took it.
        Delivered = "delivered",
        /// It is not tried again.
        GivenUp = "given_up",
    }
}

/// A URL that gets events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Where deliveries go.
    pub url: String,
    /// The events that it gets.
    pub events: Vec<EventType>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it gets events.
    pub enabled: bool,
    /// How many attempts failed since the last success.
    pub consecutive_failures: u64,
    /// Why it is off.
    pub disabled_reason: Option<DisabledReason>,
    /// The replay that is under way.
    pub replay: Option<WebhookReplayProgress>,
    /// When a delivery succeeded last.
    pub last_delivered_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// A new endpoint and its secret, which is shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookCreated {
    /// The endpoint.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// What its deliveries are signed with.
    pub secret: WebhookSecret,
}

/// A changed endpoint, and its new secret if it got one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookUpdated {
    /// The endpoint.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The new secret, shown once.
    pub secret: Option<WebhookSecret>,
}

/// A new endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WebhookInput {
    /// Where deliveries go: a public http or https URL.
    pub url: String,
    /// The events that it gets, at least one.
    pub events: Vec<EventType>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it gets events from the start; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Changes to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct WebhookPatch {
    /// Another URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Other events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<EventType>>,
    /// What it is for.
    #[serde(skip_serializing_if = "Patch::is_keep")]
    pub description: Patch<String>,
    /// Whether it gets events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether to draw a new secret. The old one stays valid for 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotate_secret: Option<bool>,
    /// Whether to end the old secret at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire_old_secret: Option<bool>,
}

/// What an endpoint answered to a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTested {
    /// Whether it took the test.
    pub delivered: bool,
    /// The status that it answered.
    pub status_code: Option<u16>,
    /// How long it took.
    pub duration_ms: u64,
    /// The start of what it answered.
    pub response_body: Option<String>,
    /// Why the test failed.
    pub error: Option<String>,
}

/// Where a replay begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayFrom {
    /// With what came after the event at this position.
    After(Position),
    /// With what came after this event.
    #[serde(rename = "after")]
    AfterEvent(EventId),
    /// With what happened at this time or later.
    From(Timestamp),
}

/// The events to send to an endpoint again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebhookReplayInput {
    /// Where it begins.
    #[serde(flatten)]
    pub begin: ReplayFrom,
    /// Only events before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Only events of these types; all that the endpoint gets by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<EventType>>,
}

impl WebhookReplayInput {
    /// All that the endpoint gets, from there on.
    pub fn new(begin: ReplayFrom) -> Self {
        Self { begin, to: None, types: None }
    }
}

/// A replay that began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReplay {
    /// The number of events to send, those included whose delivery already waits.
    pub events: u64,
    /// The position of the last of them, or how far the log was read if `has_more`; `None` if there
    /// are no events.
    pub position: Option<Position>,
    /// Whether there are more events. Once these are sent, call again from after `position`.
    pub has_more: bool,
}

/// How far a replay has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReplayProgress {
    /// It has sent the events up to this position, or they wait for delivery.
    pub position: Position,
    /// The position of its last event.
    pub until: Position,
}

/// An event on its way to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id, the same on every attempt.
    pub id: DeliveryId,
    /// The event.
    pub event_id: EventId,
    /// What happened.
    pub event_type: EventType,
    /// How far it has come.
    pub status: DeliveryStatus,
    /// How many attempts were made.
    pub attempts: u64,
    /// What the endpoint answered last.
    pub last_status_code: Option<u16>,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When it was tried last.
    pub last_attempt_at: Option<Timestamp>,
    /// When it is tried next.
    pub next_attempt_at: Option<Timestamp>,
    /// When it succeeded.
    pub delivered_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Client {
    /// Lists the endpoints.
    pub fn webhook_list(&self) -> Call<Vec<Webhook>> {
        self.get(&["webhooks"])
    }

    /// Makes an endpoint. The answer shows its secret, once.
    pub fn webhook_create(&self, input: &WebhookInput) -> KeyedCall<WebhookCreated> {
        self.post_json(&["webhooks"], input).keyed()
    }

    /// Changes an endpoint. It is not made again after a broken connection, or it could draw two
    /// secrets.
    pub fn webhook_update(&self, id: &WebhookId, patch: &WebhookPatch) -> Call<WebhookUpdated> {
        let path = ["webhooks", id.as_str()];
        self.send_json(Method::PATCH, &path, patch, data::<WebhookUpdated>)
    }

    /// Deletes an endpoint.
    pub fn webhook_delete(&self, id: &WebhookId) -> Call<()> {
        self.delete(&["webhooks", id.as_str()])
    }

    /// Sends a signed test to an endpoint now.
    pub fn webhook_test(&self, id: &WebhookId) -> Call<WebhookTested> {
        self.post(&["webhooks", id.as_str(), "test"])
    }

    /// Sends an endpoint again what the event log has for it: at most 100,000 events.
    pub fn webhook_replay(
        &self,
        id: &WebhookId,
        input: &WebhookReplayInput,
    ) -> KeyedCall<WebhookReplay> {
        self.post_json(&["webhooks", id.as_str(), "replay"], input).keyed()
    }

    /// Lists the deliveries of an endpoint, newest first.
    pub fn delivery_list(&self, id: &WebhookId) -> Listing<Delivery> {
        self.list(&["webhooks", id.as_str(), "deliveries"], &())
    }

    /// Tries a delivery again.
    pub fn delivery_retry(&self, id: &WebhookId, delivery: &DeliveryId) -> Call<Delivery> {
        self.post(&["webhooks", id.as_str(), "deliveries", delivery.as_str(), "retry"])
    }
}
