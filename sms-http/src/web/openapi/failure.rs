//! The errors in the OpenAPI document: one shared response for each kind.
//!
//! [`crate::web::error`] makes the answers; this module describes them. An operation that can fail
//! for reasons of the domain returns a `Failing`.

use poem::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::web::field_error::FieldCode;

/// Whether the requests of a key are limited. If so, answers have `RateLimit-*` headers and may be
/// 429.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Requests are limited.
    Limited,
    /// Requests are not limited.
    Unlimited,
}

/// A kind of error answer, as the document describes it.
#[derive(Debug)]
pub struct Failure {
    /// The name of the shared response.
    pub name: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// When it is returned.
    pub description: &'static str,
    /// The code of the example.
    pub code: &'static str,
    /// The message of the example.
    pub message: &'static str,
    /// The details of the example.
    pub details: fn() -> Value,
    /// Its headers, besides those of every answer.
    pub headers: &'static [&'static str],
}

/// The failures of an operation, besides those that all operations share.
pub trait Failures: Send + Sync + 'static {
    /// Every failure.
    const ALL: &'static [&'static Failure];
}

const UNAUTHORIZED: Failure = Failure {
    name: "Unauthorized",
    status: StatusCode::UNAUTHORIZED,
    description: "The key is missing, malformed, unknown or revoked.",
    code: "unauthorized",
    message: "a valid API key is required: Authorization: Bearer <API_KEY>",
    details: no_details,
    headers: &["WWW-Authenticate"],
};
const NOT_FOUND: Failure = Failure {
    name: "NotFound",
    status: StatusCode::NOT_FOUND,
    description: "The resource does not exist in this account.",
    code: "not_found",
    message: "the resource does not exist",
    details: no_details,
    headers: &[],
};
const METHOD_NOT_ALLOWED: Failure = Failure {
    name: "MethodNotAllowed",
    status: StatusCode::METHOD_NOT_ALLOWED,
    description: "The path does not support this method.",
    code: "method_not_allowed",
    message: "the path does not support this method",
    details: no_details,
    headers: &["Allow"],
};
const REQUEST_TIMEOUT: Failure = Failure {
    name: "RequestTimeout",
    status: StatusCode::REQUEST_TIMEOUT,
    description: "The body did not arrive in time.",
    code: "request_timeout",
    message: "the request body did not arrive in time",
    details: no_details,
    headers: &[],
};
const PAYLOAD_TOO_LARGE: Failure = Failure {
    name: "PayloadTooLarge",
    status: StatusCode::PAYLOAD_TOO_LARGE,
    description: "The body is too large.",
    code: "payload_too_large",
    message: "the request body exceeds the limit of 1048576 bytes",
    details: no_details,
    headers: &[],
};
const UNSUPPORTED_MEDIA_TYPE: Failure = Failure {
    name: "UnsupportedMediaType",
    status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
    description: "The body is not declared as `application/json`.",
    code: "unsupported_media_type",
    message: "send the body with Content-Type: application/json, in UTF-8 and uncompressed",
    details: no_details,
    headers: &[],
};
const VALIDATION_FAILED: Failure = Failure {
    name: "ValidationFailed",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    description: "The request is invalid. With the code `validation_failed`, `details` names \
                  every invalid field.",
    code: "validation_failed",
    message: "one field is invalid",
    details: bad_field,
    headers: &[],
};
const RATE_LIMITED: Failure = Failure {
    name: "RateLimited",
    status: StatusCode::TOO_MANY_REQUESTS,
    description: "Over the rate limit, or the bodies of requests in progress are too large \
                  together: retry after `Retry-After` seconds.",
    code: "rate_limited",
    message: "too many requests: retry after the number of seconds in Retry-After",
    details: no_details,
    headers: &["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
};
const INTERNAL_ERROR: Failure = Failure {
    name: "InternalError",
    status: StatusCode::INTERNAL_SERVER_ERROR,
    description: "An internal error occurred.",
    code: "internal_error",
    message: "an internal error occurred",
    details: no_details,
    headers: &[],
};
const UNAVAILABLE: Failure = Failure {
    name: "Unavailable",
    status: StatusCode::SERVICE_UNAVAILABLE,
    description: "The service is unavailable: retry after `Retry-After` seconds. The request \
                  may have been carried out.",
    code: "unavailable",
    message: "the service is unavailable: retry after the number of seconds in Retry-After",
    details: no_details,
    headers: &["Retry-After"],
};

/// The failures of any API.
const OF_ANY_API: [&Failure; 10] = [
    &UNAUTHORIZED,
    &NOT_FOUND,
    &METHOD_NOT_ALLOWED,
    &REQUEST_TIMEOUT,
    &PAYLOAD_TOO_LARGE,
    &UNSUPPORTED_MEDIA_TYPE,
    &VALIDATION_FAILED,
    &RATE_LIMITED,
    &INTERNAL_ERROR,
    &UNAVAILABLE,
];

/// No details.
pub fn no_details() -> Value {
    Value::Null
}

fn bad_field() -> Value {
    json!([{
        "field": "rows[3].phone",
        "code": FieldCode::Required.as_str(),
        "message": "the field is required",
    }])
}

/// The failures that follow from whether an operation needs a key and takes a body.
pub(super) fn shared(
    with_key: bool,
    has_body: bool,
    rate: Rate,
) -> impl Iterator<Item = &'static Failure> {
    let keyed: &[&Failure] =
        if with_key { &[&UNAUTHORIZED, &NOT_FOUND, &VALIDATION_FAILED] } else { &[] };
    let limited: &[&Failure] =
        if with_key && rate == Rate::Limited { &[&RATE_LIMITED] } else { &[] };
    let body: &[&Failure] = if has_body {
        &[&REQUEST_TIMEOUT, &PAYLOAD_TOO_LARGE, &UNSUPPORTED_MEDIA_TYPE]
    } else {
        &[]
    };
    let any = [&INTERNAL_ERROR, &UNAVAILABLE];
    keyed.iter().chain(limited).chain(body).copied().chain(any)
}

impl Failure {
    pub(super) fn reference(&self) -> Value {
        json!({ "$ref": format!("#/components/responses/{}", self.name) })
    }

    fn response(&self) -> Value {
        let mut headers = Map::new();
        for name in self.headers.iter().copied().chain(["X-Request-Id"]) {
            headers.insert(name.to_owned(), header_reference(name));
        }
        let (code, message, details) = (self.code, self.message, (self.details)());
        json!({
            "description": self.description,
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

/// The failure that a handler's response stands for. The response has only its name.
pub(super) fn named(
    response: &Value,
    status: &str,
    own: &[&'static Failure],
) -> Option<&'static Failure> {
    own.iter().copied().find(|failure| {
        failure.status.as_str() == status && response["description"] == failure.name
    })
}

/// The shared responses, by name, in the order of their statuses.
pub(super) fn responses(own: &[&Failure]) -> Value {
    let mut all: Vec<&Failure> = OF_ANY_API.iter().chain(own).copied().collect();
    all.sort_by_key(|failure| failure.status);
    all.into_iter()
        .map(|failure| (failure.name.to_owned(), failure.response()))
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
            "The id of the request: the caller's if it sent a valid one (1 to 128 of \
             `A-Z a-z 0-9 . _ -`), else a new one.",
            &text,
        ),
        "Retry-After": header("Seconds to wait before a retry.", &whole),
        "RateLimit-Limit": header("The most requests that a key may make in a burst.", &whole),
        "RateLimit-Remaining": header("How many more requests the key may make right now.", &whole),
        "RateLimit-Reset": header("Seconds until the full burst is available again.", &whole),
        "WWW-Authenticate": header("Always `Bearer`.", &text),
        "Allow": header("The methods of the path.", &text),
    })
}

/// Adds the headers of every answer to a response that is described inline.
pub(super) fn with_headers(mut response: Value, counted: bool) -> Value {
    let mut names = vec!["X-Request-Id"];
    if counted {
        names.extend(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]);
    }
    for name in names {
        response["headers"][name] = header_reference(name);
    }
    response
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
                    "description": "A stable code, for programs.",
                    "examples": ["validation_failed"],
                },
                "message": {
                    "type": "string",
                    "description": "A message for people; it may change.",
                },
                "details": {
                    "description": "Details, if any: the invalid fields, or an object.",
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
                "description": "The path of the field, such as `rows[3].phone`, or the name of the \
                                parameter; empty for the body as a whole.",
            },
            "code": {
                "type": "string",
                "description": "What is wrong, for programs. Some fields add codes to these.",
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
