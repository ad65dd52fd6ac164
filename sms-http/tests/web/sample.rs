//! A small API of the kind the real one is made of, and how a test calls it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use poem::http::{Method, StatusCode};
use poem::test::{TestClient, TestResponse};
use poem::web::Data;
use poem_openapi::{Object, OpenApi, OpenApiService, Tags};
use serde_json::{Map, Value};
use sms_http::request_body;
use sms_http::web::body::{Body, OptionalBody};
use sms_http::web::choice::{Choices, Named};
use sms_http::web::docs_page::{self, DocsPage, docs_page};
use sms_http::web::envelope::{Answer, Created, CreatedOrNot, NoContent, PageMeta};
use sms_http::web::error::ApiError;
use sms_http::web::failing::Failing;
use sms_http::web::field_error::{FieldErrors, checked};
use sms_http::web::intake::{Intake, IntakeLimits};
use sms_http::web::openapi::{DocumentRules, ErrorCode, Failure, Failures, Rate};
use sms_http::web::openapi::{document, no_details};
use sms_http::web::operation::operation;
use sms_http::web::param::{HeaderParam, Limit, QueryParam, Text, Whole};
use sms_http::web::path_param::PathParam;
use sms_http::web::path_pattern::PathTable;
use sms_http::web::request_id::RequestId;
use tokio::sync::Notify;

/// The most numbers in `to`.
pub(crate) const MAX_TO: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Queued,
    Sent,
}

impl Choices for Status {
    const NAME: &'static str = "Status";
    const DESCRIPTION: &'static str = "Where it stands.";
    const ALL: &'static [Self] = &[Self::Queued, Self::Sent];

    fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
        }
    }
}

request_body! {
pub(crate) struct Recipient as "Recipient" {
    required phone: String = text().undocumented_max(40);
}
}

request_body! {
/// What a send takes.
pub(crate) struct SendRequest as "SendRequest" {
    /// Whom to text.
    required to: Vec<String> = one_or_many(MAX_TO);
    /// The text.
    optional body: String = text().min(1).max(10);
    optional sender: String = text().min(3).undocumented_max(11);
    optional schedule_at: DateTime<Utc> = date_time();
    optional append_opt_out: bool = boolean();
    optional parts: i64 = whole(1..=10);
    optional status: Status = choice();
    optional rows: Vec<Recipient> = list(object()).max(3);
    optional custom: Map<String, Value> = json_object();
}
}

request_body! {
struct MessagePatch as "MessagePatch" {
    given body: String = text().min(1);
    patch note: String = text().undocumented_max(5);
}
}

#[derive(Debug, Object)]
struct Message {
    id: String,
    status: Named<Status>,
    /// Who it is from, if it has a name.
    sender: Option<String>,
    created_at: DateTime<Utc>,
    previous: Option<Named<Status>>,
}

fn message(id: &str) -> Message {
    Message {
        id: id.to_owned(),
        status: Named(Status::Queued),
        sender: None,
        created_at: DateTime::UNIX_EPOCH,
        previous: None,
    }
}

const CONFLICT: Failure = Failure {
    name: "Conflict",
    status: StatusCode::CONFLICT,
    description: "The request is against the state of things.",
    headers: &[],
};

const CODES: &[ErrorCode] = &[ErrorCode {
    code: "idempotency_conflict",
    status: StatusCode::CONFLICT,
    meaning: "The key was used with another request.",
    remedy: "Use another key.",
    message: "the key was used with another request",
    details: no_details,
}];

enum Conflict {}

impl Failures for Conflict {
    const ALL: &'static [&'static Failure] = &[&CONFLICT];
}

#[derive(Tags)]
enum Tag {
    /// Sending and reading messages.
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
    ) -> Result<CreatedOrNot<Message>, Failing<Conflict>> {
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
        let message = message(&request.to.join("+"));
        Ok(match key {
            None => CreatedOrNot::Created(message, sms_http::web::envelope::NoMeta),
            Some(_) => CreatedOrNot::Existing(message, sms_http::web::envelope::NoMeta),
        })
    }

    /// List messages
    #[oai(path = "/", method = "get", operation_id = "message_list")]
    async fn list(
        &self,
        limit: QueryParam<Limit>,
        cursor: QueryParam<Option<Text<30>>>,
        status: QueryParam<Option<Named<Status>>>,
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
        id: PathParam,
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
        id: PathParam,
        body: Body<MessagePatch>,
    ) -> Result<Answer<Message>, ApiError> {
        let patch = checked(body)?;
        let note = match patch.note {
            None => "kept",
            Some(None) => "cleared",
            Some(Some(_)) => "set",
        };
        let body = if patch.body.is_some() { "set" } else { "kept" };
        Ok(Answer::new(message(&format!("{} body {body} note {note}", id.0))))
    }

    /// Cancel a text
    #[oai(path = "/:id/cancel", method = "post", operation_id = "message_cancel")]
    async fn cancel(
        &self,
        id: PathParam,
        body: OptionalBody<MessagePatch>,
    ) -> Result<Created<Message>, ApiError> {
        let given = checked(body)?.is_some();
        Ok(Created::new(message(&format!("{} {given}", id.0))))
    }

    /// Delete a text
    #[oai(path = "/:id", method = "delete", operation_id = "message_delete")]
    async fn delete(&self, #[oai(name = "id")] _id: PathParam) -> Result<NoContent, ApiError> {
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
        small_bodies_in_all: 16 * 1_048_576,
        large_bodies_in_all: 16 * 1_048_576,
        answers_in_all: 16 * 1_048_576,
        body_timeout: Duration::from_secs(5),
        body_stall: Duration::from_secs(5),
        handler_timeout_of: Vec::new(),
        handler_timeout: Duration::from_secs(5),
        standing_every: Duration::from_secs(2),
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
            failures: &[&CONFLICT],
            codes: CODES,
            codes_of: &[],
            guide: "A sample.",
            tags: &[],
            examples: "{}",
            events: None,
        };
        let document = document(&service, &rules);
        let shown = document.clone();
        let page =
            move || docs_page::html(DocsPage { document: &shown, prefix: "/api/v1", links: &[] });
        let routes = PathTable::new()
            .with_api("/api/v1", SampleApi { gate: Arc::clone(&gate) }, |operation| operation)
            .with("/docs", Method::GET, operation(docs_page(page)));
        Self { app: Intake::new(routes, limits), document, gate }
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
