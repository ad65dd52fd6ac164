//! The errors of the document: one shared response for each kind, and who can give it.
//!
//! The answers themselves are made in [`crate::web::error`]; here is how they are described.

use poem::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::web::field_error::FieldCode;

/// A kind of error answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// 401: no valid key.
    Unauthorized,
    /// 402: not enough credit.
    InsufficientCredit,
    /// 403: the account may not do this now.
    Forbidden,
    /// 404: no such resource in this account.
    NotFound,
    /// 405: the path has no such method.
    MethodNotAllowed,
    /// 408: the body did not arrive in time.
    RequestTimeout,
    /// 409: against the state of things.
    Conflict,
    /// 413: the body is too large.
    PayloadTooLarge,
    /// 415: the body is not JSON.
    UnsupportedMediaType,
    /// 422: fields are not valid.
    ValidationFailed,
    /// 429: over the rate limit.
    RateLimited,
    /// 500: a fault on our side.
    InternalError,
    /// 503: cannot answer now.
    Unavailable,
}

impl Failure {
    /// Every kind, by status.
    pub const ALL: [Self; 13] = [
        Self::Unauthorized,
        Self::InsufficientCredit,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::Conflict,
        Self::PayloadTooLarge,
        Self::UnsupportedMediaType,
        Self::ValidationFailed,
        Self::RateLimited,
        Self::InternalError,
        Self::Unavailable,
    ];

    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::InsufficientCredit => StatusCode::PAYMENT_REQUIRED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict => StatusCode::CONFLICT,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ValidationFailed => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The failures that an operation has by its form.
    pub(super) fn shared(with_key: bool, has_body: bool) -> impl Iterator<Item = Self> {
        let keyed: &[Self] = if with_key {
            &[Self::Unauthorized, Self::NotFound, Self::ValidationFailed, Self::RateLimited]
        } else {
            &[]
        };
        let body: &[Self] = if has_body {
            &[Self::RequestTimeout, Self::PayloadTooLarge, Self::UnsupportedMediaType]
        } else {
            &[]
        };
        let any = [Self::InternalError, Self::Unavailable];
        keyed.iter().chain(body).copied().chain(any)
    }

    pub(super) fn reference(self) -> Value {
        json!({ "$ref": format!("#/components/responses/{}", self.name()) })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::InsufficientCredit => "InsufficientCredit",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::RequestTimeout => "RequestTimeout",
            Self::Conflict => "Conflict",
            Self::PayloadTooLarge => "PayloadTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::ValidationFailed => "ValidationFailed",
            Self::RateLimited => "RateLimited",
            Self::InternalError => "InternalError",
            Self::Unavailable => "Unavailable",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Unauthorized => "The key is missing, wrong or revoked.",
            Self::InsufficientCredit => "Not enough credit; nothing was sent or charged.",
            Self::Forbidden => "The account is pending approval, or suspended.",
            Self::NotFound => "There is no such resource in this account.",
            Self::MethodNotAllowed => "The path exists, but not with this method.",
            Self::RequestTimeout => "The body did not arrive in time.",
            Self::Conflict => "The request is against the state of things; `code` says how.",
            Self::PayloadTooLarge => "The body is too large.",
            Self::UnsupportedMediaType => "The body is not sent as `application/json`.",
            Self::ValidationFailed => {
                "The request is not valid. With the code `validation_failed`, `details` names \
                 every field that is wrong."
            }
            Self::RateLimited => "Over the rate limit: wait as long as `Retry-After` says.",
            Self::InternalError => "Something went wrong on our side.",
            Self::Unavailable => {
                "The service cannot answer now: try again after `Retry-After`. The request may \
                 have been carried out."
            }
        }
    }

    /// Code, message and details of an example.
    fn example(self) -> (&'static str, &'static str, Value) {
        match self {
            Self::Unauthorized => ("unauthorized", "a valid API key is required", Value::Null),
            Self::InsufficientCredit => (
                "insufficient_credit",
                "the send needs 12 credits, the balance is 3",
                json!({ "needed": 12, "balance": 3 }),
            ),
            Self::Forbidden => ("account_pending", "the account awaits approval", Value::Null),
            Self::NotFound => ("not_found", "there is no such resource", Value::Null),
            Self::MethodNotAllowed => {
                ("method_not_allowed", "this path does not support the method", Value::Null)
            }
            Self::RequestTimeout => {
                ("request_timeout", "the request body did not arrive in time", Value::Null)
            }
            Self::Conflict => (
                "idempotency_conflict",
                "the Idempotency-Key was used with another request",
                Value::Null,
            ),
            Self::PayloadTooLarge => {
                ("payload_too_large", "the request body may have up to 1048576 bytes", Value::Null)
            }
            Self::UnsupportedMediaType => (
                "unsupported_media_type",
                "the body must be sent as Content-Type: application/json",
                Value::Null,
            ),
            Self::ValidationFailed => (
                "validation_failed",
                "one field is not valid",
                json!([{
                    "field": "rows[3].phone",
                    "code": FieldCode::Required.as_str(),
                    "message": "the field is required",
                }]),
            ),
            Self::RateLimited => ("rate_limited", "too many requests", Value::Null),
            Self::InternalError => {
                ("internal_error", "something went wrong on our side", Value::Null)
            }
            Self::Unavailable => ("unavailable", "the service cannot answer now", Value::Null),
        }
    }

    fn own_headers(self) -> &'static [&'static str] {
        match self {
            Self::Unauthorized => &["WWW-Authenticate"],
            Self::MethodNotAllowed => &["Allow"],
            Self::RateLimited => {
                &["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
            }
            Self::Unavailable => &["Retry-After"],
            _ => &[],
        }
    }

    fn response(self) -> Value {
        let (code, message, details) = self.example();
        let mut headers = Map::new();
        for name in self.own_headers().iter().copied().chain(["X-Request-Id"]) {
            headers.insert(name.to_owned(), header_reference(name));
        }
        json!({
            "description": self.description(),
            "headers": headers,
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Error" },
                "examples": { code: { "value": {
                    "error": { "code": code, "message": message, "details": details },
                }}},
            }},
        })
    }
}

/// The shared responses, by name.
pub(super) fn responses() -> Value {
    Failure::ALL
        .into_iter()
        .map(|failure| (failure.name().to_owned(), failure.response()))
        .collect::<Map<_, _>>()
        .into()
}

/// The response headers, by name.
pub(super) fn headers() -> Value {
    let whole = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let header = |description: &str, schema: &Value| {
        json!({
            "description": description,
            "schema": schema,
        })
    };
    json!({
        "X-Request-Id": header(
            "The id of the request: the caller's own if it sent a sane one (1 to 128 of \
             `A-Z a-z 0-9 . _ -`), else a new one.",
            &text,
        ),
        "Retry-After": header("Seconds to wait before the next try.", &whole),
        "RateLimit-Limit": header("How many requests a key may make at once.", &whole),
        "RateLimit-Remaining": header("How many more requests would pass right now.", &whole),
        "RateLimit-Reset": header("Seconds until all of the limit would pass again.", &whole),
        "WWW-Authenticate": header("Always `Bearer`.", &text),
        "Allow": header("The methods of the path.", &text),
    })
}

/// Adds the headers that every answer has to one that is described inline.
pub(super) fn add_headers(response: &mut Value, counted: bool) {
    let mut names = vec!["X-Request-Id"];
    if counted {
        names.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    for name in names {
        response["headers"][name] = header_reference(name);
    }
}

/// Adds the schemas of errors.
pub(super) fn add_schemas(schemas: &mut Map<String, Value>) {
    let codes = FieldCode::ALL.map(FieldCode::as_str);
    let error = json!({
        "type": "object",
        "required": ["error"],
        "properties": { "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {
                    "type": "string",
                    "description": "Stable; what programs branch on.",
                    "examples": ["validation_failed"],
                },
                "message": {
                    "type": "string",
                    "description": "For people; may change.",
                },
                "details": {
                    "description": "Specifics, if there are any: the fields that are not valid, \
                                    or an object.",
                    "anyOf": [
                        {
                            "type": "array",
                            "items": { "$ref": "#/components/schemas/FieldError" },
                        },
                        { "type": "object" },
                        { "type": "null" },
                    ],
                },
            },
        }},
    });
    let field_error = json!({
        "type": "object",
        "required": ["field", "code", "message"],
        "properties": {
            "field": {
                "type": "string",
                "description": "The path of the field, as `rows[3].phone`, or the name of the \
                                parameter; empty for the body as a whole.",
            },
            "code": {
                "type": "string",
                "description": "What is wrong, for programs. Fields that have rules of their own \
                                add codes to these.",
                "examples": codes,
            },
            "message": { "type": "string", "description": "What is wrong, for people." },
        },
    });
    schemas.insert("Error".to_owned(), error);
    schemas.insert("FieldError".to_owned(), field_error);
}

fn header_reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}
