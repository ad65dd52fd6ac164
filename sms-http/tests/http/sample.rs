//! A small API of the kind the real one is made of, and how a test calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use poem::http::Method;
use poem::test::{TestClient, TestResponse};
use poem::web::Data;
use poem::{EndpointExt, Route};
use poem_openapi::param::Path;
use poem_openapi::{Enum, Object, OpenApi, OpenApiService, Tags};
use serde_json::Value;
use sms_http::web::body::{Body, OptionalBody};
use sms_http::web::docs_page::docs_page;
use sms_http::web::envelope::{Answer, Created, CreatedOrNot, NoContent, PageMeta};
use sms_http::web::error::ApiError;
use sms_http::web::field_error::{FieldErrors, checked};
use sms_http::web::fields::{Fields, FromFields, Given, OneOrMany, Patch, rule};
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_http::web::openapi::{DocumentRules, Failure, Rate, document};
use sms_http::web::param::{Choice, HeaderParam, Limit, QueryParam, Text, Whole};
use sms_http::web::path_pattern::PathTable;
use sms_http::web::request_id::RequestId;
use tokio::sync::Notify;

/// The most numbers in `to`.
pub(crate) const MAX_TO: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename_all = "snake_case")]
pub(crate) enum Status {
    Queued,
    Sent,
}

#[derive(Debug, Object)]
pub(crate) struct Recipient {
    phone: String,
}

/// What a send takes.
#[derive(Debug, Object)]
pub(crate) struct SendRequest {
    /// Whom to text.
    to: OneOrMany<MAX_TO>,
    /// The text.
    #[oai(validator(max_length = 10))]
    body: Option<String>,
    sender: Option<String>,
    schedule_at: Option<DateTime<Utc>>,
    append_opt_out: Option<bool>,
    parts: Option<i64>,
    status: Option<Status>,
    rows: Option<Vec<Recipient>>,
    custom: Option<BTreeMap<String, Value>>,
}

impl FromFields for Recipient {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self { phone: fields.required("phone", rule::text().max(40)) }
    }
}

impl FromFields for SendRequest {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            to: fields.required("to", rule::one_or_many()),
            body: fields.optional("body", rule::text().min(1).max(10)),
            sender: fields.optional("sender", rule::text().min(3).max(11)),
            schedule_at: fields.optional("schedule_at", rule::date_time()),
            append_opt_out: fields.optional("append_opt_out", rule::boolean()),
            parts: fields.optional("parts", rule::whole(1..=10)),
            status: fields.optional("status", rule::one_of()),
            rows: fields.optional("rows", rule::list(rule::object()).max(3)),
            custom: fields
                .optional("custom", rule::json_object())
                .map(|custom| custom.into_iter().collect()),
        }
    }
}

#[derive(Debug, Object)]
struct MessagePatch {
    body: Given<String>,
    note: Patch<String>,
}

impl FromFields for MessagePatch {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            body: fields.given("body", rule::text().min(1)),
            note: fields.patch("note", rule::text().max(5)),
        }
    }
}

#[derive(Debug, Object)]
struct Message {
    id: String,
    status: Status,
    /// Who it is from, if it has a name.
    sender: Option<String>,
    created_at: DateTime<Utc>,
    previous: Option<Status>,
}

fn message(id: &str) -> Message {
    Message {
        id: id.to_owned(),
        status: Status::Queued,
        sender: None,
        created_at: DateTime::UNIX_EPOCH,
        previous: None,
    }
}

#[derive(Tags)]
enum Tag {
    /// Sending and reading texts.
    Messages,
}

/// What the slow handlers of the sample wait for and tell.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Rung by a handler once it runs.
    pub entered: Notify,
    /// A handler waits for it.
    pub open: Notify,
    /// Rung by a handler that ran to its end.
    pub finished: Notify,
}

struct SampleApi {
    gate: Arc<Gate>,
}

#[expect(clippy::unused_async, reason = "the framework asks for it, a sample awaits nothing")]
#[OpenApi(prefix_path = "/messages", tag = "Tag::Messages")]
impl SampleApi {
    /// Send a text
    #[oai(path = "/", method = "post", operation_id = "message_send")]
    async fn send(
        &self,
        #[oai(name = "Idempotency-Key")] key: HeaderParam<Option<Text<20>>>,
        body: Body<SendRequest>,
    ) -> Result<CreatedOrNot<Message>, ApiError> {
        let mut errors = FieldErrors::new();
        let (key, request) = errors.take((key, body));
        // A check of the domain, merged with those of the form.
        if request.body.as_deref().is_none_or(|body| body.trim().is_empty()) {
            errors.push(sms_http::web::field_error::FieldError::new(
                "body",
                "empty_body",
                "the text is empty",
            ));
        }
        errors.finish()?;
        let message = message(&request.to.0.join("+"));
        Ok(match key {
            None => CreatedOrNot::Created(message, sms_http::web::envelope::NoMeta),
            Some(_) => CreatedOrNot::Existing(message, sms_http::web::envelope::NoMeta),
        })
    }

    /// List texts
    #[oai(path = "/", method = "get", operation_id = "message_list")]
    async fn list(
        &self,
        limit: QueryParam<Limit>,
        cursor: QueryParam<Option<Text<30>>>,
        status: QueryParam<Option<Choice<Status>>>,
        unread: QueryParam<Option<bool>>,
        since: QueryParam<Option<DateTime<Utc>>>,
        offset: QueryParam<Option<Whole<0, 1_000>>>,
    ) -> Result<Answer<Vec<Message>, PageMeta>, ApiError> {
        let (limit, cursor, status, unread, since, offset) =
            checked((limit, cursor, status, unread, since, offset))?;
        let seen = format!(
            "{} {:?} {:?} {unread:?} {since:?} {:?}",
            limit.0,
            cursor.map(|text| text.0),
            status.map(|choice| choice.0),
            offset.map(|offset| offset.0),
        );
        Ok(Answer::page(vec![message(&seen)], Some("next".to_owned())))
    }

    /// Read a text
    #[oai(path = "/:id", method = "get", operation_id = "message_read")]
    async fn read(
        &self,
        id: Path<String>,
        request_id: Data<&RequestId>,
    ) -> Result<Answer<Message>, ApiError> {
        match id.0.as_str() {
            "request_id" => Ok(Answer::new(message(request_id.0.as_str()))),
            id if id.starts_with("msg_") => Ok(Answer::new(message(id))),
            _ => Err(ApiError::not_found()),
        }
    }

    /// Change a text
    #[oai(path = "/:id", method = "patch", operation_id = "message_update")]
    async fn update(
        &self,
        id: Path<String>,
        body: Body<MessagePatch>,
    ) -> Result<Answer<Message>, ApiError> {
        let patch = checked(body)?;
        let note = match patch.note {
            Patch::Undefined => "kept",
            Patch::Null => "cleared",
            Patch::Value(_) => "set",
        };
        let body = if patch.body.0.is_some() { "set" } else { "kept" };
        Ok(Answer::new(message(&format!("{} body {body} note {note}", id.0))))
    }

    /// Cancel a text
    #[oai(path = "/:id/cancel", method = "post", operation_id = "message_cancel")]
    async fn cancel(
        &self,
        id: Path<String>,
        body: OptionalBody<MessagePatch>,
    ) -> Result<Created<Message>, ApiError> {
        let given = checked(body)?.is_some();
        Ok(Created::new(message(&format!("{} {given}", id.0))))
    }

    /// Delete a text
    #[oai(path = "/:id", method = "delete", operation_id = "message_delete")]
    async fn delete(&self, #[oai(name = "id")] _id: Path<String>) -> Result<NoContent, ApiError> {
        Ok(NoContent)
    }

    /// Panic
    #[oai(path = "/panic", method = "post", operation_id = "message_panic")]
    async fn panic(&self) -> Result<NoContent, ApiError> {
        panic!("07700 900123 must not be told")
    }

    /// Wait for the gate
    #[oai(path = "/wait", method = "post", operation_id = "message_wait")]
    async fn wait(&self) -> Result<NoContent, ApiError> {
        self.gate.entered.notify_one();
        self.gate.open.notified().await;
        self.gate.finished.notify_one();
        Ok(NoContent)
    }
}

/// A server of the sample API, and its document.
pub(crate) struct Sample {
    pub app: Intake,
    pub document: Value,
    pub gate: Arc<Gate>,
}

/// Limits short enough for tests.
pub(crate) fn limits() -> IntakeLimits {
    IntakeLimits {
        body_bytes: 1_048_576,
        body_bytes_of: vec![(Method::POST, "/api/v1/messages/{id}/cancel".to_owned(), 2_097_152)],
        body_bytes_in_all: 16 * 1_048_576,
        body_timeout: Duration::from_secs(5),
        handler_timeout_of: Vec::new(),
        handler_timeout: Duration::from_secs(5),
    }
}

impl Sample {
    pub(crate) fn new() -> Self {
        Self::with_limits(limits())
    }

    pub(crate) fn with_limits(limits: IntakeLimits) -> Self {
        crate::watched::watch();
        let gate = Arc::new(Gate::default());
        let api = SampleApi { gate: Arc::clone(&gate) };
        let service = OpenApiService::new(api, "Sample API", "1.0.0").server("/api/v1");
        let rules = DocumentRules {
            key_name: "ApiKey",
            key_description: "A key of the account.",
            without_key: &["message_wait"],
            rate: Rate::Limited,
            own_path: None,
            failures: &[(
                "message_send",
                &[Failure::InsufficientCredit, Failure::Forbidden, Failure::Conflict],
            )],
        };
        let document = document(&service, &rules);
        let routes =
            PathTable::new().with_document(&document, "/api/v1").with("/docs", &[Method::GET]);
        let app = Route::new()
            .nest("/api/v1", service)
            .at("/docs", poem::get(docs_page(&document)))
            .boxed();
        Self { app: Intake::new(app, routes, limits), document, gate }
    }

    pub(crate) fn client(&self) -> TestClient<Intake> {
        TestClient::new(self.app.clone())
    }
}

/// The JSON of an answer.
pub(crate) async fn json(response: TestResponse) -> Value {
    let body = response.0.into_body().into_bytes().await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// Field and code of every mistake that an answer names.
pub(crate) async fn mistakes(response: TestResponse) -> Vec<(String, String)> {
    response.assert_status(poem::http::StatusCode::UNPROCESSABLE_ENTITY);
    let body = json(response).await;
    assert_eq!(body["error"]["code"], "validation_failed");
    body["error"]["details"]
        .as_array()
        .expect("details is an array")
        .iter()
        .map(|error| {
            assert!(error["message"].is_string());
            let text = |key: &str| error[key].as_str().unwrap().to_owned();
            (text("field"), text("code"))
        })
        .collect()
}
