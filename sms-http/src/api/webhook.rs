//! `/webhooks`: endpoints that receive events, and their deliveries.

use std::collections::BTreeSet;

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::event::EventType;
use sms_core::service::webhook::Rotation;
use sms_core::service::{AccountHandle, Caller};
use sms_core::version::Versioned;
use sms_core::webhook::delivery::{Delivery, DeliveryStatus};
use sms_core::webhook::endpoint::{
    DisabledReason, Endpoint, EndpointChange, EndpointInput, MAX_DESCRIPTION, Power,
};
use sms_core::webhook::replay::Replay;
use sms_core::webhook::secret::Secret;
use sms_core::webhook::sender::WebhookAnswer;

use super::idempotency::{KeyHeader, created};
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::api::version::if_version;
use crate::failure::{Changed, Conflict};
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::entity_tag::{IfMatch, Tagged};
use crate::web::envelope::{Answer, CreatedOrNot, NoContent, PageMeta, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::moment::Moment;
use crate::web::param::{HeaderParam, Limit, QueryParam};
use crate::web::path_param::PathParam;

/// The most characters of a URL.
const MAX_URL: usize = 2_048;

request_body! {
    /// A new endpoint.
    struct WebhookInput as "WebhookInput" {
        /// The URL for deliveries: http or https, reachable on the public internet.
        required url: String = text().min(1).max(MAX_URL), example "https://example.com/sms-events";
        /// The event types it subscribes to, at least one.
        required events: Vec<EventType> = list(choice()).min(1),
            example ["message.delivered", "message.failed"];
        /// The name you give it.
        optional description: String = text().max(MAX_DESCRIPTION), example "Booking system";
        /// Whether it receives events from the start; true by default.
        optional enabled: bool = boolean(), example true;
    }
}

impl From<WebhookInput> for EndpointInput {
    fn from(input: WebhookInput) -> Self {
        let power = power(input.enabled.unwrap_or(true));
        let mut endpoint = Self::new(input.url, input.events).power(power);
        endpoint.description = input.description;
        endpoint
    }
}

request_body! {
    /// Changes to an endpoint. Absent fields stay as they are.
    struct WebhookPatch as "WebhookPatch" {
        /// A new URL.
        given url: String = text().min(1).max(MAX_URL);
        /// New event types, at least one.
        given events: Vec<EventType> = list(choice()).min(1);
        /// A new description; null clears it.
        patch description: String = text().max(MAX_DESCRIPTION);
        /// Enables or disables the endpoint. Enabling it resets the count of failures. Disabling it
        /// ends its replay.
        given enabled: bool = boolean();
        /// Draws a new secret, which is shown only in this answer. The old one stays valid for 24
        /// hours: deliveries carry a signature by each.
        given rotate_secret: bool = boolean();
        /// Ends the old secret at once.
        given expire_old_secret: bool = boolean();
    }
}

impl From<WebhookPatch> for EndpointChange {
    fn from(patch: WebhookPatch) -> Self {
        Self {
            url: patch.url,
            events: patch.events.map(BTreeSet::from_iter),
            description: patch.description,
            power: patch.enabled.map(power),
            ..Self::default()
        }
    }
}

/// Adds violations of the rules for a new endpoint to invalid fields, so that all are reported
/// together. Without invalid fields the core checks the rules itself.
async fn finish_new(
    mut errors: FieldErrors,
    account: &AccountHandle,
    input: &EndpointInput,
) -> Result<(), Failing<Conflict>> {
    if !errors.is_empty() {
        // A URL that is not a string is not checked further.
        let url = Some(input.url.as_str()).filter(|_| !errors.covers("url"));
        errors.extend(account.webhook_check_new(url, Some(&input.events)).await?);
    }
    Ok(errors.finish()?)
}

/// The same for a change.
async fn finish_change(
    mut errors: FieldErrors,
    account: &AccountHandle,
    change: &EndpointChange,
) -> Result<(), FieldErrors> {
    if !errors.is_empty() {
        let url = change.url.as_deref().filter(|_| !errors.covers("url"));
        errors.extend(account.webhook_check(url, change.events.as_ref()).await);
    }
    errors.finish()
}

fn power(enabled: bool) -> Power {
    if enabled { Power::On } else { Power::Off(DisabledReason::ByOwner) }
}

/// A webhook endpoint.
#[derive(Debug, Object)]
struct Webhook {
    /// `whk_` and 26 characters.
    id: String,
    /// The URL for deliveries.
    url: String,
    /// The event types it subscribes to.
    events: Vec<Named<EventType>>,
    /// Your own description; null if there is none.
    description: Option<String>,
    /// Whether it receives new events.
    enabled: bool,
    /// Consecutive failed attempts; at 100 the endpoint is disabled.
    consecutive_failures: u32,
    /// Why the endpoint is disabled; null while it is enabled.
    disabled_reason: Option<Named<DisabledReason>>,
    /// The replay that is under way; null if there is none.
    replay: Option<WebhookReplayProgress>,
    /// When a delivery last succeeded; null if none has.
    last_delivered_at: Option<Moment>,
    /// When it was created.
    created_at: Moment,
    /// When you last changed it.
    updated_at: Moment,
}

/// How far a replay to an endpoint has come.
#[derive(Debug, Object)]
struct WebhookReplayProgress {
    /// The replay has sent the events up to this position, or they wait for delivery.
    position: String,
    /// The position of its last event.
    until: String,
}

impl From<Replay> for WebhookReplayProgress {
    fn from(replay: Replay) -> Self {
        Self { position: replay.after.to_string(), until: replay.until.to_string() }
    }
}

impl From<Endpoint> for Webhook {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            id: endpoint.id.to_string(),
            url: endpoint.url,
            events: endpoint.events.into_iter().map(Named).collect(),
            description: endpoint.description,
            enabled: endpoint.power.is_on(),
            consecutive_failures: endpoint.consecutive_failures,
            disabled_reason: match endpoint.power {
                Power::On => None,
                Power::Off(reason) => Some(Named(reason)),
            },
            replay: endpoint.replay.map(Into::into),
            last_delivered_at: endpoint.last_delivered_at.map(Into::into),
            created_at: endpoint.created_at.into(),
            updated_at: endpoint.updated_at.into(),
        }
    }
}

/// A new webhook endpoint, with its secret.
#[derive(Debug, Object)]
struct WebhookCreated {
    #[oai(flatten)]
    webhook: Webhook,
    /// The secret that signs its deliveries. It is shown only in this answer.
    secret: String,
}

impl From<(Endpoint, Secret)> for WebhookCreated {
    fn from((endpoint, secret): (Endpoint, Secret)) -> Self {
        let secret = secret.reveal().to_owned();
        Self { webhook: endpoint.into(), secret }
    }
}

/// A changed webhook endpoint, with its secret if that was rotated.
#[derive(Debug, Object)]
struct WebhookUpdated {
    #[oai(flatten)]
    webhook: Webhook,
    /// The new secret after `rotate_secret`, shown only in this answer; else null.
    secret: Option<String>,
}

/// The result of a test delivery.
#[derive(Debug, Object)]
struct WebhookTested {
    /// Whether the endpoint accepted the test (2xx in time).
    delivered: bool,
    /// The HTTP status code of the answer; null if there was none.
    status_code: Option<u16>,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The first 1,024 bytes of the answer's body; null if there was no answer.
    response_body: Option<String>,
    /// Why the attempt failed; null if it succeeded.
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

/// The delivery of one event to one endpoint.
#[derive(Debug, Object)]
#[oai(rename = "Delivery")]
struct DeliveryShape {
    /// `whd_` and 26 characters; `X-Connect-Delivery` in every attempt.
    id: String,
    /// The event's id.
    event_id: String,
    /// The event's type.
    event_type: String,
    /// The status.
    status: Named<DeliveryStatus>,
    /// The number of attempts.
    attempts: u32,
    /// The HTTP status code of the last answer; null if there was none.
    last_status_code: Option<u16>,
    /// Why the last attempt failed; null if it succeeded or none was made.
    last_error: Option<String>,
    /// When the last attempt ended; null before the first.
    last_attempt_at: Option<Moment>,
    /// When the next attempt is due; null if there is none.
    next_attempt_at: Option<Moment>,
    /// When the endpoint accepted the event; null before that.
    delivered_at: Option<Moment>,
    /// When it was created.
    created_at: Moment,
}

impl From<Delivery> for DeliveryShape {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id.to_string(),
            event_id: delivery.event_id.to_string(),
            event_type: delivery.event_type.to_string(),
            status: Named(delivery.status),
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
    /// All endpoints, newest first. An account may have up to 10.
    #[oai(path = "/", method = "get", operation_id = "webhook_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<Webhook>>, ApiError> {
        let endpoints = self.account(&caller).webhook_list().await?;
        Ok(Answer::new(endpoints.into_iter().map(Into::into).collect()))
    }

    /// Create an endpoint
    ///
    /// The `secret` signs deliveries. It is shown only in this answer, and in its repetitions as
    /// long as the endpoint exists: then it is the secret that the endpoint has now.
    #[oai(path = "/", method = "post", operation_id = "webhook_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<WebhookInput>,
    ) -> Result<Tagged<CreatedOrNot<WebhookCreated, Option<ReplayMeta>>>, Failing<Conflict>> {
        let account = self.account(&caller);
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let input = EndpointInput::from(errors.take(body));
        finish_new(errors, &account, &input).await?;
        let made = account.keyed(key).webhook_create(input).await?;
        let tag = made.value.0.version().to_string();
        Ok(Tagged::new(tag, created(made)))
    }

    /// Change an endpoint
    ///
    /// Absent fields stay as they are. `rotate_secret: true` returns a new secret. Deliveries are
    /// signed with the old one too for 24 hours, or until `expire_old_secret: true`.
    #[oai(path = "/:id", method = "patch", operation_id = "webhook_update")]
    async fn update(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: PathParam,
        /// Changes only the version of the endpoint with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
        body: Body<WebhookPatch>,
    ) -> Result<Tagged<Answer<WebhookUpdated>>, Failing<Changed>> {
        let id = path_id(&id)?;
        let account = self.account(&caller);
        let mut errors = FieldErrors::new();
        let if_version = if_version(errors.take(if_match));
        let patch = errors.take(body);
        let rotation = match (patch.rotate_secret, patch.expire_old_secret) {
            (Some(true), Some(true)) => Rotation::RotateAtOnce,
            (Some(true), _) => Rotation::Rotate,
            (_, Some(true)) => Rotation::EndOld,
            _ => Rotation::Keep,
        };
        let change = EndpointChange::from(patch).if_version(if_version);
        finish_change(errors, &account, &change).await?;
        let (endpoint, secret) = account.webhook_update(id, change, rotation).await?;
        let secret = secret.map(|secret| secret.reveal().to_owned());
        let tag = endpoint.version().to_string();
        Ok(Tagged::new(tag, Answer::new(WebhookUpdated { webhook: endpoint.into(), secret })))
    }

    /// Delete an endpoint
    ///
    /// Deletes its deliveries too.
    #[oai(path = "/:id", method = "delete", operation_id = "webhook_delete")]
    async fn delete(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: PathParam,
        /// Deletes only the version of the endpoint with this `ETag`, or one of these; else 412.
        #[oai(name = "If-Match")]
        if_match: HeaderParam<IfMatch>,
    ) -> Result<NoContent, Failing<Changed>> {
        let id = path_id(&id)?;
        let version = if_version(checked(if_match)?);
        self.account(&caller).webhook_delete_if(id, version).await?;
        Ok(NoContent)
    }

    /// Test an endpoint
    ///
    /// Sends a signed `webhook.test` event at once and returns the result. The delivery is recorded
    /// but not retried, and a failure does not count towards disabling the endpoint.
    #[oai(path = "/:id/test", method = "post", operation_id = "webhook_test")]
    async fn test(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: PathParam,
    ) -> Result<Answer<WebhookTested>, ApiError> {
        let answer = self.account(&caller).webhook_test(path_id(&id)?).await?;
        Ok(Answer::new(answer.into()))
    }

    /// List an endpoint's deliveries
    ///
    /// The deliveries of the last 30 days, newest first.
    #[oai(path = "/:id/deliveries", method = "get", operation_id = "delivery_list")]
    async fn deliveries(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: PathParam,
        /// The most deliveries per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
    ) -> Result<Answer<Vec<DeliveryShape>, PageMeta>, ApiError> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        errors.finish()?;
        Ok(page_answer(self.account(&caller).delivery_list(id, page).await?))
    }

    /// Redeliver an event
    ///
    /// Makes a new attempt at once, whatever the status of the delivery, and even if the endpoint
    /// is disabled.
    #[oai(
        path = "/:id/deliveries/:delivery_id/retry",
        method = "post",
        operation_id = "delivery_retry"
    )]
    async fn retry(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id.
        id: PathParam,
        /// The delivery's id.
        delivery_id: PathParam,
    ) -> Result<Answer<DeliveryShape>, ApiError> {
        let (endpoint, delivery) = (path_id(&id)?, path_id(&delivery_id)?);
        let delivery = self.account(&caller).delivery_retry(endpoint, delivery).await?;
        Ok(Answer::new(delivery.into()))
    }
}
