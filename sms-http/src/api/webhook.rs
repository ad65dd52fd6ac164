//! `/webhooks`: endpoints that are told of events, and their deliveries.

use std::collections::BTreeSet;

use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::{Enum, Object, OpenApi};
use sms_core::Sms;
use sms_core::event::EventType;
use sms_core::service::webhook::Rotation;
use sms_core::service::{AccountHandle, Caller};
use sms_core::webhook::delivery::{Delivery, DeliveryStatus};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, EndpointChange, EndpointInput, Power};
use sms_core::webhook::sender::WebhookAnswer;

use super::Tag;
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use crate::web::body::Body;
use crate::web::envelope::{Answer, Created, NoContent, PageMeta};
use crate::web::error::ApiError;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::fields::{Fields, FromFields, Given, Patch, rule};
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

/// How many characters a URL may have.
const MAX_URL: usize = 2_048;
/// How many characters a description may have.
const MAX_DESCRIPTION: usize = 500;

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "EventType")]
enum EventName {
    /// A text left for the network.
    #[oai(rename = "message.sent")]
    MessageSent,
    /// The handset received it.
    #[oai(rename = "message.delivered")]
    MessageDelivered,
    /// It failed before leaving, or could not be delivered.
    #[oai(rename = "message.failed")]
    MessageFailed,
    /// Someone texted one of the account's numbers.
    #[oai(rename = "message.received")]
    MessageReceived,
    /// A number texted STOP or a similar word.
    #[oai(rename = "opt_out.created")]
    OptOutCreated,
    /// Someone tapped a tracked link.
    #[oai(rename = "link.clicked")]
    LinkClicked,
}

impl From<EventName> for EventType {
    fn from(name: EventName) -> Self {
        match name {
            EventName::MessageSent => Self::MessageSent,
            EventName::MessageDelivered => Self::MessageDelivered,
            EventName::MessageFailed => Self::MessageFailed,
            EventName::MessageReceived => Self::MessageReceived,
            EventName::OptOutCreated => Self::OptOutCreated,
            EventName::LinkClicked => Self::LinkClicked,
        }
    }
}

/// The name of a kind that endpoints subscribe to.
fn event_name(kind: EventType) -> Option<EventName> {
    match kind {
        EventType::MessageSent => Some(EventName::MessageSent),
        EventType::MessageDelivered => Some(EventName::MessageDelivered),
        EventType::MessageFailed => Some(EventName::MessageFailed),
        EventType::MessageReceived => Some(EventName::MessageReceived),
        EventType::OptOutCreated => Some(EventName::OptOutCreated),
        EventType::LinkClicked => Some(EventName::LinkClicked),
        EventType::WebhookTest => None,
    }
}

/// A new endpoint.
#[derive(Debug, Object)]
#[oai(example)]
struct WebhookInput {
    /// Where deliveries go: http or https, reachable on the public internet.
    #[oai(validator(min_length = 1, max_length = 2048))]
    url: String,
    /// The kinds of event it wants, one at least.
    #[oai(validator(min_items = 1))]
    events: Vec<EventName>,
    /// What you call it.
    #[oai(validator(max_length = 500))]
    description: Option<String>,
    /// Whether it hears of events from the start; it does unless this is false.
    enabled: Option<bool>,
}

impl poem_openapi::types::Example for WebhookInput {
    fn example() -> Self {
        Self {
            url: "https://example.com/sms-events".to_owned(),
            events: vec![EventName::MessageDelivered, EventName::MessageFailed],
            description: Some("Booking system".to_owned()),
            enabled: Some(true),
        }
    }
}

impl FromFields for WebhookInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            url: fields.required("url", rule::text().min(1).max(MAX_URL)),
            events: fields.required("events", rule::list(rule::one_of()).min(1)),
            description: fields.optional("description", rule::text().max(MAX_DESCRIPTION)),
            enabled: fields.optional("enabled", rule::boolean()),
        }
    }
}

impl From<WebhookInput> for EndpointInput {
    fn from(input: WebhookInput) -> Self {
        Self {
            url: input.url,
            events: kinds(input.events),
            description: input.description,
            power: power(input.enabled.unwrap_or(true)),
        }
    }
}

/// Changes to an endpoint; what is absent stays.
#[derive(Debug, Object)]
struct WebhookPatch {
    /// A new address.
    #[oai(validator(min_length = 1, max_length = 2048))]
    url: Given<String>,
    /// Other kinds of event, one at least.
    #[oai(validator(min_items = 1))]
    events: Given<Vec<EventName>>,
    /// A new description; null clears it.
    #[oai(validator(max_length = 500))]
    description: Patch<String>,
    /// Switches it on or off. Switching on starts a new count of failures.
    enabled: Given<bool>,
    /// Replaces the secret at once; the new one is in the answer, this once.
    rotate_secret: Given<bool>,
}

impl FromFields for WebhookPatch {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            url: fields.given("url", rule::text().min(1).max(MAX_URL)),
            events: fields.given("events", rule::list(rule::one_of()).min(1)),
            description: fields.patch("description", rule::text().max(MAX_DESCRIPTION)),
            enabled: fields.given("enabled", rule::boolean()),
            rotate_secret: fields.given("rotate_secret", rule::boolean()),
        }
    }
}

impl From<WebhookPatch> for EndpointChange {
    fn from(patch: WebhookPatch) -> Self {
        Self {
            url: patch.url.0,
            events: patch.events.0.map(kinds),
            description: match patch.description {
                Patch::Undefined => None,
                Patch::Null => Some(None),
                Patch::Value(text) => Some(Some(text)),
            },
            power: patch.enabled.0.map(power),
            secret: None,
        }
    }
}

fn kinds(names: Vec<EventName>) -> BTreeSet<EventType> {
    names.into_iter().map(Into::into).collect()
}

fn power(enabled: bool) -> Power {
    if enabled { Power::On } else { Power::Off(DisabledReason::ByOwner) }
}

/// Why an endpoint is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "DisabledReason", rename_all = "snake_case")]
enum DisabledName {
    /// You switched it off.
    DisabledByOwner,
    /// It failed 100 times in a row.
    ConsecutiveFailures,
}

/// A webhook endpoint.
#[derive(Debug, Object)]
struct Webhook {
    /// `whk_` and 26 characters.
    id: String,
    /// Where deliveries go.
    url: String,
    /// The kinds of event it wants.
    events: Vec<EventName>,
    /// What you call it.
    description: Option<String>,
    /// Whether it hears of new events.
    enabled: bool,
    /// Failed attempts since the last one that succeeded; 100 switch it off.
    consecutive_failures: u32,
    /// Why it is off.
    disabled_reason: Option<DisabledName>,
    /// When a delivery last succeeded.
    last_delivered_at: Option<Moment>,
    /// When it was made.
    created_at: Moment,
    /// When you last changed it.
    updated_at: Moment,
}

impl From<Endpoint> for Webhook {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            id: endpoint.id.to_string(),
            url: endpoint.url,
            events: endpoint.events.into_iter().filter_map(event_name).collect(),
            description: endpoint.description,
            enabled: endpoint.power.is_on(),
            consecutive_failures: endpoint.consecutive_failures,
            disabled_reason: match endpoint.power {
                Power::On => None,
                Power::Off(DisabledReason::ByOwner) => Some(DisabledName::DisabledByOwner),
                Power::Off(DisabledReason::Failures) => Some(DisabledName::ConsecutiveFailures),
            },
            last_delivered_at: endpoint.last_delivered_at.map(Into::into),
            created_at: endpoint.created_at.into(),
            updated_at: endpoint.updated_at.into(),
        }
    }
}

/// A webhook endpoint just made, with its secret.
#[derive(Debug, Object)]
struct WebhookCreated {
    #[oai(flatten)]
    webhook: Webhook,
    /// What signs its deliveries. Shown this once.
    secret: String,
}

/// A webhook endpoint just changed, with its secret if that was rotated.
#[derive(Debug, Object)]
struct WebhookUpdated {
    #[oai(flatten)]
    webhook: Webhook,
    /// The new secret after `rotate_secret`, shown this once; else null.
    secret: Option<String>,
}

/// What an endpoint answered to a test.
#[derive(Debug, Object)]
struct WebhookTested {
    /// Whether it took the test (2xx in time).
    delivered: bool,
    /// The status code of its answer.
    status_code: Option<u16>,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The first 1,024 bytes of its answer.
    response_body: Option<String>,
    /// Why it did not take it.
    error: Option<String>,
}

impl From<WebhookAnswer> for WebhookTested {
    fn from(answer: WebhookAnswer) -> Self {
        let body = String::from_utf8_lossy(&answer.response_body).into_owned();
        Self {
            delivered: answer.result.is_ok(),
            status_code: answer.status_code,
            duration_ms: u64::try_from(answer.duration.as_millis()).unwrap_or(u64::MAX),
            response_body: answer.status_code.map(|_| body),
            error: answer.result.err().map(|error| error.as_str().to_owned()),
        }
    }
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "DeliveryStatus", rename_all = "snake_case")]
enum DeliveryStatusName {
    /// It waits for an attempt.
    Pending,
    /// The endpoint took it.
    Delivered,
    /// No more attempts are made by themselves.
    GivenUp,
}

/// One event on its way to one endpoint.
#[derive(Debug, Object)]
#[oai(rename = "Delivery")]
struct DeliveryShape {
    /// `whd_` and 26 characters; `X-Connect-Delivery` in every attempt.
    id: String,
    /// The event it tells of.
    event_id: String,
    /// The kind of that event.
    event_type: String,
    /// Where it stands.
    status: DeliveryStatusName,
    /// How many attempts were made.
    attempts: u32,
    /// The status code of the last answer.
    last_status_code: Option<u16>,
    /// Why the last attempt failed.
    last_error: Option<String>,
    /// When the last attempt ended.
    last_attempt_at: Option<Moment>,
    /// When the next attempt is due.
    next_attempt_at: Option<Moment>,
    /// When the endpoint took it.
    delivered_at: Option<Moment>,
    /// When it was made.
    created_at: Moment,
}

impl From<Delivery> for DeliveryShape {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id.to_string(),
            event_id: delivery.event_id.to_string(),
            event_type: delivery.event_type.to_string(),
            status: match delivery.status {
                DeliveryStatus::Pending => DeliveryStatusName::Pending,
                DeliveryStatus::Delivered => DeliveryStatusName::Delivered,
                DeliveryStatus::GivenUp => DeliveryStatusName::GivenUp,
            },
            attempts: delivery.attempts,
            last_status_code: delivery.last_status_code,
            last_error: delivery.last_error.map(|error| error.as_str().to_owned()),
            last_attempt_at: delivery.last_attempt_at.map(Into::into),
            next_attempt_at: delivery.next_attempt_at.map(Into::into),
            delivered_at: delivery.delivered_at.map(Into::into),
            created_at: delivery.created_at.into(),
        }
    }
}

/// The handlers of `/webhooks`.
#[derive(Debug)]
pub struct WebhookApi {
    sms: Sms,
}

impl WebhookApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/webhooks", tag = "Tag::Webhooks")]
impl WebhookApi {
    /// List endpoints
    ///
    /// All of them, newest first; an account may have up to 10.
    #[oai(path = "/", method = "get", operation_id = "webhook_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<Webhook>>, ApiError> {
        let endpoints = self.account(&caller).webhook_list().await?;
        Ok(Answer::new(endpoints.into_iter().map(Into::into).collect()))
    }

    /// Make an endpoint
    ///
    /// Its `secret` signs deliveries; it is shown this once.
    #[oai(path = "/", method = "post", operation_id = "webhook_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        body: Body<WebhookInput>,
    ) -> Result<Created<WebhookCreated>, ApiError> {
        let input = checked(body)?;
        let endpoint = self.account(&caller).webhook_create(input.into()).await?;
        let secret = endpoint.secret.reveal().to_owned();
        Ok(Created::new(WebhookCreated { webhook: endpoint.into(), secret }))
    }

    /// Change an endpoint
    ///
    /// What is absent stays. `rotate_secret: true` replaces the secret at once and shows it.
    #[oai(path = "/:id", method = "patch", operation_id = "webhook_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: Path<String>,
        body: Body<WebhookPatch>,
    ) -> Result<Answer<WebhookUpdated>, ApiError> {
        let id = path_id(&id)?;
        let patch = checked(body)?;
        let rotation = match patch.rotate_secret.0 {
            Some(true) => Rotation::Rotate,
            _ => Rotation::Keep,
        };
        let account = self.account(&caller);
        let endpoint = account.webhook_update(id, patch.into(), rotation).await?;
        let secret = endpoint.secret.reveal().to_owned();
        let secret = (rotation == Rotation::Rotate).then_some(secret);
        Ok(Answer::new(WebhookUpdated { webhook: endpoint.into(), secret }))
    }

    /// Delete an endpoint
    ///
    /// Its deliveries go with it.
    #[oai(path = "/:id", method = "delete", operation_id = "webhook_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: Path<String>,
    ) -> Result<NoContent, ApiError> {
        self.account(&caller).webhook_delete(path_id(&id)?).await?;
        Ok(NoContent)
    }

    /// Test an endpoint
    ///
    /// Sends a signed `webhook.test` event now and says what came back. It is logged but not tried
    /// again, and a failure does not count.
    #[oai(path = "/:id/test", method = "post", operation_id = "webhook_test")]
    async fn test(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: Path<String>,
    ) -> Result<Answer<WebhookTested>, ApiError> {
        let answer = self.account(&caller).webhook_test(path_id(&id)?).await?;
        Ok(Answer::new(answer.into()))
    }

    /// List an endpoint's deliveries
    ///
    /// Newest first, those of the last 30 days.
    #[oai(path = "/:id/deliveries", method = "get", operation_id = "delivery_list")]
    async fn deliveries(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: Path<String>,
        /// How many deliveries a page holds.
        limit: QueryParam<Limit>,
        /// The previous page's `meta.next_cursor`.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<DeliveryShape>, PageMeta>, ApiError> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).delivery_list(id, page).await?))
    }

    /// Send a delivery again
    ///
    /// Now, whatever became of it, and also while its endpoint is switched off.
    #[oai(
        path = "/:id/deliveries/:delivery_id/retry",
        method = "post",
        operation_id = "delivery_retry"
    )]
    async fn retry(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: Path<String>,
        /// The delivery's id.
        delivery_id: Path<String>,
    ) -> Result<Answer<DeliveryShape>, ApiError> {
        let (endpoint, delivery) = (path_id(&id)?, path_id(&delivery_id)?);
        let delivery = self.account(&caller).delivery_retry(endpoint, delivery).await?;
        Ok(Answer::new(delivery.into()))
    }
}
