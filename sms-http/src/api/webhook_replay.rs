//! `/webhooks/{id}/replay`: sends an endpoint the events that it missed.

use chrono::{DateTime, Utc};
use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::event::EventType;
use sms_core::event::position::Position;
use sms_core::service::Caller;
use sms_core::service::replay::{ReplayFrom, ReplayRequest};
use sms_core::webhook::replay::ReplayBegun;

use super::idempotency::{KeyHeader, answered};
use super::path_id::path_id;
use super::tag::Tag;
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::envelope::{Answer, ReplayMeta};
use crate::web::failing::Failing;
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::param::HeaderParam;
use crate::web::path_param::PathParam;

request_body! {
    /// The events to send again: begin with `after` or `from`; `to` and `types` limit them.
    struct WebhookReplayInput as "WebhookReplayInput" {
        /// Begin after the event with this `position` or `id`. Give either this or `from`.
        optional after: String = text().checked(check_after),
            example "00000000000050000000000001";
        /// Begin with the first event at this time or later. Give either this or `after`.
        optional from: DateTime<Utc> = date_time(), example "2026-11-21T07:00:00Z";
        /// Only events before this time; by default, all events up to now.
        optional to: DateTime<Utc> = date_time(), example "2026-11-21T09:00:00Z";
        /// Only these types; by default, all types that the endpoint subscribes to.
        optional types: Vec<EventType> = list(choice()).min(1), example ["message.failed"];
    }
}

fn check_after(text: &str) -> Result<(), (&'static str, String)> {
    let message = "not the position or the id of an event";
    after(text).map(drop).ok_or(("invalid_format", message.to_owned()))
}

fn after(text: &str) -> Option<ReplayFrom> {
    let id = || text.parse().map(ReplayFrom::Event).ok();
    text.parse().map(ReplayFrom::Position).ok().or_else(id)
}

/// The request. Mistakes are added to `errors`, and then it is a placeholder.
fn request(input: WebhookReplayInput, errors: &mut FieldErrors) -> ReplayRequest {
    let WebhookReplayInput { after: text, from, to, types } = input;
    let from = match (text, from) {
        (Some(text), None) => after(&text),
        (None, Some(from)) => Some(ReplayFrom::Time(from.into())),
        (None, None) if errors.covers("from") => None,
        (None, None) => {
            let message = "say where to begin: with `after` or with `from`";
            errors.push(FieldError::new("after", FieldCode::Required, message));
            None
        }
        (Some(_), Some(_)) => {
            let message = "give `after` or `from`, not both";
            errors.push(FieldError::new("from", FieldCode::TooMany, message));
            None
        }
    };
    let types = types.map(|types| types.into_iter().collect());
    let from = from.unwrap_or(ReplayFrom::Position(Position::START));
    ReplayRequest { from, to: to.map(Into::into), types }
}

/// A replay that began.
#[derive(Debug, Object)]
struct WebhookReplay {
    /// The number of events to send, at most 100,000. It includes events whose delivery already
    /// waits for the endpoint; these are not sent twice.
    events: u64,
    /// The `position` of the last of them, or how far the log was read; null if there is none.
    position: Option<String>,
    /// Whether there are more events. Once these are sent, call again with `position` as `after`.
    has_more: bool,
}

impl From<ReplayBegun> for WebhookReplay {
    fn from(ReplayBegun { events, reached, has_more }: ReplayBegun) -> Self {
        let position = reached.map(|position| position.to_string());
        Self { events: u64::try_from(events).unwrap_or(u64::MAX), position, has_more }
    }
}

/// The handler of replays.
#[derive(Debug)]
pub struct WebhookReplayApi {
    sms: Sms,
}

impl WebhookReplayApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }
}

#[OpenApi(prefix_path = "/webhooks", tag = "Tag::Webhooks")]
impl WebhookReplayApi {
    /// Replay events
    ///
    /// Sends events of the log to the endpoint again: events that it missed while it was disabled
    /// or did not exist yet, or events that you lost. At most 100,000 events, oldest first, in
    /// portions of 14, up to 200 events a second. A portion is sent only while no other delivery to
    /// the endpoint is due, so a new event waits for at most one portion. If the endpoint does not
    /// answer, the replay waits; after 10 failures in a row it continues once no delivery waits for
    /// the endpoint. Each event keeps its id and its bytes, and has a new delivery.
    #[oai(path = "/:id/replay", method = "post", operation_id = "webhook_replay")]
    async fn replay(
        &self,
        caller: Data<&Caller>,
        /// The endpoint's id. It must be enabled. One replay to an endpoint can be under way;
        /// disabling the endpoint ends it.
        id: PathParam,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<WebhookReplayInput>,
    ) -> Result<Answer<WebhookReplay, Option<ReplayMeta>>, Failing<Conflict>> {
        let id = path_id(&id)?;
        let mut errors = FieldErrors::new();
        let KeyHeader(key) = errors.take(key);
        let input = errors.take(body);
        let request = request(input, &mut errors);
        errors.finish()?;
        let account = self.sms.account(caller.account, caller.mode);
        Ok(answered(account.keyed(key).webhook_replay(id, request).await?))
    }
}
