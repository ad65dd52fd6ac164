//! The errors in the OpenAPI document: one shared response for each kind.
//!
//! [`crate::web::error`] makes the answers; this module describes them. An operation that can fail
//! for reasons of the domain returns a `Failing`.

use poem::http::StatusCode;
use serde_json::{Map, Value, json};

use super::error_code::{self, ErrorCode, UNKNOWN_PARAMETER};
use crate::web::error::doc_url;
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
    headers: &["WWW-Authenticate"],
};
const NOT_FOUND: Failure = Failure {
    name: "NotFound",
    status: StatusCode::NOT_FOUND,
    description: "The resource does not exist in this account.",
    headers: &[],
};
const REQUEST_TIMEOUT: Failure = Failure {
    name: "RequestTimeout",
    status: StatusCode::REQUEST_TIMEOUT,
    description: "The body did not arrive in time.",
    headers: &[],
};
const PAYLOAD_TOO_LARGE: Failure = Failure {
    name: "PayloadTooLarge",
    status: StatusCode::PAYLOAD_TOO_LARGE,
    description: "The body is too large.",
    headers: &[],
};
const URI_TOO_LONG: Failure = Failure {
    name: "UriTooLong",
    status: StatusCode::URI_TOO_LONG,
    description: "Path and query are too long.",
    headers: &[],
};
const UNSUPPORTED_MEDIA_TYPE: Failure = Failure {
    name: "UnsupportedMediaType",
    status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
    description: "The body is not declared as `application/json`.",
    headers: &[],
};
const VALIDATION_FAILED: Failure = Failure {
    name: "ValidationFailed",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    description: "The request is invalid. With the code `validation_failed`, `details` names \
                  every invalid field.",
    headers: &[],
};
const QUERY_REFUSED: Failure = Failure {
    name: "QueryRefused",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    description: "The request is invalid. With the code `validation_failed`, `details` names \
                  every invalid parameter. With `unknown_parameter`, it names those that the \
                  operation does not have.",
    headers: &[],
};
const RATE_LIMITED: Failure = Failure {
    name: "RateLimited",
    status: StatusCode::TOO_MANY_REQUESTS,
    description: "Over the rate limit, or the bodies of requests in progress are too large \
                  together: retry after `Retry-After` seconds.",
    headers: &["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"],
};
const INTERNAL_ERROR: Failure = Failure {
    name: "InternalError",
    status: StatusCode::INTERNAL_SERVER_ERROR,
    description: "An internal error occurred.",
    headers: &[],
};
const UNAVAILABLE: Failure = Failure {
    name: "Unavailable",
    status: StatusCode::SERVICE_UNAVAILABLE,
    description: "The service is unavailable: retry after `Retry-After` seconds. The request \
                  may have been carried out.",
    headers: &["Retry-After"],
};

/// The failures of any API.
const OF_ANY_API: [&Failure; 11] = [
    &UNAUTHORIZED,
    &NOT_FOUND,
    &REQUEST_TIMEOUT,
    &PAYLOAD_TOO_LARGE,
    &URI_TOO_LONG,
    &UNSUPPORTED_MEDIA_TYPE,
    &VALIDATION_FAILED,
    &QUERY_REFUSED,
    &RATE_LIMITED,
    &INTERNAL_ERROR,
    &UNAVAILABLE,
];

/// The failures that follow from whether an operation needs a key and takes a body.
pub(super) fn shared(
    with_key: bool,
    has_body: bool,
    rate: Rate,
) -> impl Iterator<Item = &'static Failure> {
    let keyed: &[&Failure] =
        if with_key { &[&UNAUTHORIZED, &NOT_FOUND, &VALIDATION_FAILED] } else { &[&URI_TOO_LONG] };
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

    /// The response with these codes.
    fn response<'c>(&self, codes: impl Iterator<Item = &'c ErrorCode>) -> Value {
        let mut headers = Map::new();
        for name in self.headers.iter().copied().chain(["X-Request-Id"]) {
            headers.insert(name.to_owned(), header_reference(name));
        }
        let examples: Map<_, _> =
            codes.map(|code| (code.code.to_owned(), json!({ "value": code.example() }))).collect();
        json!({
            "description": self.description,
            "headers": headers,
            "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/ApiError" },
                "examples": examples,
            }},
        })
    }

    /// The response of an operation that answers these codes of its own.
    pub(super) fn response_with(&self, own: &[&ErrorCode]) -> Value {
        let any = error_code::with_status(error_code::OF_ANY_API, self.status.as_str());
        let any = any.filter(|code| code.code != UNKNOWN_PARAMETER.code);
        let mut response = self.response(any.chain(own.iter().copied()));
        let listed: Vec<String> =
            own.iter().map(|code| format!("- `{}`: {}", code.code, code.meaning)).collect();
        response["description"] = format!("{}\n\n{}", self.description, listed.join("\n")).into();
        response
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
pub(super) fn responses(own: &[&Failure], codes: &[ErrorCode]) -> Value {
    let mut all: Vec<&Failure> = OF_ANY_API.iter().chain(own).copied().collect();
    all.sort_by_key(|failure| failure.status);
    all.into_iter()
        .map(|failure| {
            let status = failure.status.as_str();
            let any = error_code::with_status(error_code::OF_ANY_API, status);
            let is_query = failure.name == QUERY_REFUSED.name;
            let any = any.filter(|code| is_query || code.code != UNKNOWN_PARAMETER.code);
            let own = error_code::with_status(codes, status);
            let own = own.filter(|_| !is_of_any_api(failure));
            (failure.name.to_owned(), failure.response(any.chain(own)))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn is_of_any_api(failure: &Failure) -> bool {
    OF_ANY_API.iter().any(|any| any.name == failure.name)
}

/// The 422 of a collection, which refuses unknown query parameters as well.
pub(super) fn of_collection() -> Value {
    json!({ "$ref": format!("#/components/responses/{}", QUERY_REFUSED.name) })
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
        "ETag": header(
            "The version of the resource, in quotes. It changes with the values that a request \
             can set, and not with counts. `If-Match` makes a change on this version only.",
            &text,
        ),
        "WWW-Authenticate": header("Always `Bearer`.", &text),
        "Link": header(
            "The next page, as `<path>; rel=\"next\"`; absent on the last page.",
            &text,
        ),
        "X-Unknown-Fields": header(
            "The fields of the body that the operation does not know and ignored; absent if there \
             are none.",
            &text,
        ),
    })
}

/// Adds headers to a response that is described inline.
pub(super) fn with_headers(mut response: Value, names: &[&str]) -> Value {
    for name in names {
        response["headers"][name] = header_reference(name);
    }
    response
}

/// Adds the schemas of errors. The set of codes is open.
pub(super) fn add_schemas(schemas: &mut Map<String, Value>, codes: &[ErrorCode]) {
    let known = error_code::OF_ANY_API.iter().chain(codes).map(|code| code.code);
    let known: Vec<&str> = known.collect();
    let error = json!({
        "type": "object",
        "description": "The answer to a request that failed.",
        "required": ["error"],
        "properties": { "error": { "$ref": "#/components/schemas/ApiErrorBody" } },
    });
    let body = json!({
        "type": "object",
        "description": "What went wrong.",
        "required": ["code", "message", "details", "doc_url"],
        "properties": {
            "code": {
                "description": "A stable code, for programs. New codes may be added.",
                "anyOf": [{ "type": "string", "enum": known }, { "type": "string" }],
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
                        "type": ["array", "null"],
                        "items": { "$ref": "#/components/schemas/FieldError" },
                    },
                    { "$ref": "#/components/schemas/ErrorFacts" },
                ],
            },
            "doc_url": {
                "type": "string",
                "description": "Where the code is explained, relative to the server's address.",
                "examples": [doc_url("validation_failed")],
            },
        },
    });
    let facts = json!({
        "type": "object",
        "description": "Facts about an error. The fields depend on the code.",
        "additionalProperties": true,
    });
    schemas.insert("ApiError".to_owned(), error);
    schemas.insert("ApiErrorBody".to_owned(), body);
    schemas.insert("ErrorFacts".to_owned(), facts);
    schemas.insert("FieldError".to_owned(), field_error());
}

fn field_error() -> Value {
    let codes = FieldCode::ALL.map(FieldCode::as_str);
    json!({
        "type": "object",
        "description": "An invalid field or parameter.",
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
    })
}

pub(super) fn header_reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}
