//! `/webhooks`: endpoints that are told of events, and their deliveries.

use std::collections::BTreeSet;

use poem::web::Data;
use poem_openapi::param::Path;
use poem_openapi::{Object, OpenApi};
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
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, Created, NoContent, PageMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::FieldErrors;
use crate::web::moment::Moment;
use crate::web::param::{Limit, QueryParam};

/// How many characters a URL may have.
const MAX_URL: usize = 2_048;
/// How many characters a description may have.
const MAX_DESCRIPTION: usize = 500;

request_body! {
/// A new endpoint.
struct WebhookInput as "WebhookInput" {
    /// Where deliveries go: http or https, reachable on the public internet.
    required url: String = text().min(1).max(MAX_URL), example "https://example.com/sms-events";
    /// The kinds of event it wants, one at least.
    required events: Vec<EventType> = list(choice()).min(1),
        example ["message.delivered", "message.failed"];
    /// What you call it.
    optional description: String = text().max(MAX_DESCRIPTION), example "Booking system";
    /// Whether it hears of events from the start; it does unless this is false.
    optional enabled: bool = boolean(), example true;
}
}

impl From<WebhookInput> for EndpointInput {
    fn from(input: WebhookInput) -> Self {
        Self {
            url: input.url,
            events: BTreeSet::from_iter(input.events),
            description: input.description,
            power: power(input.enabled.unwrap_or(true)),
        }
    }
}

request_body! {
/// Changes to an endpoint; what is absent stays.
struct WebhookPatch as "WebhookPatch" {
    /// A new address.
    given url: String = text().min(1).max(MAX_URL);
    /// Other kinds of event, one at least.
    given events: Vec<EventType> = list(choice()).min(1);
    /// A new description; null clears it.
    patch description: String = text().max(MAX_DESCRIPTION);
    /// Switches it on or off. Switching on starts a new count of failures.
    given enabled: bool = boolean();
    /// Replaces the secret at once; the new one is in the answer, this once.
    given rotate_secret: bool = boolean();
}
}

impl From<WebhookPatch> for EndpointChange {
    fn from(patch: WebhookPatch) -> Self {
        Self {
            url: patch.url,
            events: patch.events.map(BTreeSet::from_iter),
            description: patch.description,
            power: patch.enabled.map(power),
            secret: None,
        }
    }
}

/// After a mistake of the form, what breaks the rules of endpoints is told with it. Without one the
/// core asks them itself.
async fn finish(
    mut errors: FieldErrors,
    account: &AccountHandle,
    url: Option<&str>,
    events: Option<&BTreeSet<EventType>>,
) -> Result<(), FieldErrors> {
    if !errors.is_empty() {
        // A URL that is no text is not looked up.
        let url = url.filter(|_| !errors.covers("url"));
        errors.extend(account.webhook_check(url, events).await);
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
    /// Where deliveries go.
    url: String,
    /// The kinds of event it wants.
    events: Vec<Named<EventType>>,
    /// What you call it.
    description: Option<String>,
    /// Whether it hears of new events.
    enabled: bool,
    /// Failed attempts since the last one that succeeded; 100 switch it off.
    consecutive_failures: u32,
    /// Why it is off.
    disabled_reason: Option<Named<DisabledReason>>,
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
            events: endpoint.events.into_iter().map(Named).collect(),
            description: endpoint.description,
            enabled: endpoint.power.is_on(),
            consecutive_failures: endpoint.consecutive_failures,
            disabled_reason: match endpoint.power {
                Power::On => None,
                Power::Off(reason) => Some(Named(reason)),
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
    status: Named<DeliveryStatus>,
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
    ) -> Result<Created<WebhookCreated>, Failing<Conflict>> {
        let account = self.account(&caller);
        let mut errors = FieldErrors::new();
        let input = EndpointInput::from(errors.take(body));
        finish(errors, &account, Some(&input.url), Some(&input.events)).await?;
        let endpoint = account.webhook_create(input).await?;
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
        let account = self.account(&caller);
        let mut errors = FieldErrors::new();
        let patch = errors.take(body);
        let rotation = match patch.rotate_secret {
            Some(true) => Rotation::Rotate,
            _ => Rotation::Keep,
        };
        let change = EndpointChange::from(patch);
        finish(errors, &account, change.url.as_deref(), change.events.as_ref()).await?;
        let endpoint = account.webhook_update(id, change, rotation).await?;
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
