//! The codes of errors: what each means and what a client does about it. The document lists them,
//! and so does the page of errors ([`crate::web::error_page`]).

use poem::http::StatusCode;
use serde_json::{Value, json};

use crate::web::error::doc_url;
use crate::web::field_error::FieldCode;

/// A code of an error.
#[derive(Debug)]
pub struct ErrorCode {
    /// The code that clients branch on.
    pub code: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// When it is returned.
    pub meaning: &'static str,
    /// What the client should do.
    pub remedy: &'static str,
    /// An example of the message for people.
    pub message: &'static str,
    /// An example of the details.
    pub details: fn() -> Value,
}

impl ErrorCode {
    /// The example of an answer with this code.
    pub(super) fn example(&self) -> Value {
        let (code, message, details) = (self.code, self.message, (self.details)());
        let doc_url = doc_url(code);
        json!({ "error": {
            "code": code, "message": message, "details": details, "doc_url": doc_url,
        }})
    }
}

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

fn unknown_parameter() -> Value {
    json!([{
        "field": "page",
        "code": FieldCode::UnknownParameter.as_str(),
        "message": "this operation has no such parameter",
    }])
}

/// The code of a query parameter that an operation does not have.
pub const UNKNOWN_PARAMETER: ErrorCode = ErrorCode {
    code: "unknown_parameter",
    status: StatusCode::UNPROCESSABLE_ENTITY,
    meaning: "The request has query parameters that the list does not have. `details` names every \
              one of them.",
    remedy: "Correct or remove the parameters. To read pages, use `cursor`, not page numbers.",
    message: "one query parameter is unknown",
    details: unknown_parameter,
};

/// The codes that any API can answer, in the order of their statuses.
pub const OF_ANY_API: &[ErrorCode] = &[
    ErrorCode {
        code: "unauthorized",
        status: StatusCode::UNAUTHORIZED,
        meaning: "The key is missing, malformed, unknown or revoked.",
        remedy: "Send `Authorization: Bearer <key>` with a valid key. Do not retry with the same \
                 one.",
        message: "a valid API key is required: Authorization: Bearer <API_KEY>",
        details: no_details,
    },
    ErrorCode {
        code: "not_found",
        status: StatusCode::NOT_FOUND,
        meaning: "The path or the resource does not exist, or the resource belongs to another \
                  account.",
        remedy: "Check the path and the id.",
        message: "the resource does not exist",
        details: no_details,
    },
    ErrorCode {
        code: "method_not_allowed",
        status: StatusCode::METHOD_NOT_ALLOWED,
        meaning: "The path does not support this method.",
        remedy: "Use one of the methods in `Allow`.",
        message: "the path does not support this method",
        details: no_details,
    },
    ErrorCode {
        code: "request_timeout",
        status: StatusCode::REQUEST_TIMEOUT,
        meaning: "The body did not arrive in time.",
        remedy: "Send the request again.",
        message: "the request body did not arrive in time",
        details: no_details,
    },
    ErrorCode {
        code: "payload_too_large",
        status: StatusCode::PAYLOAD_TOO_LARGE,
        meaning: "The body is too large.",
        remedy: "Send less in one request.",
        message: "the request body exceeds the limit of 1048576 bytes",
        details: no_details,
    },
    ErrorCode {
        code: "uri_too_long",
        status: StatusCode::URI_TOO_LONG,
        meaning: "Path and query are too long.",
        remedy: "Shorten the query.",
        message: "path and query exceed the limit of 16384 bytes together",
        details: no_details,
    },
    ErrorCode {
        code: "unsupported_media_type",
        status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
        meaning: "The body is not declared as `application/json`.",
        remedy: "Send `Content-Type: application/json` and an uncompressed body in UTF-8.",
        message: "send the body with Content-Type: application/json, in UTF-8 and uncompressed",
        details: no_details,
    },
    ErrorCode {
        code: "validation_failed",
        status: StatusCode::UNPROCESSABLE_ENTITY,
        meaning: "Fields or parameters are invalid. `details` names every one of them.",
        remedy: "Correct the fields that `details` names.",
        message: "one field is invalid",
        details: bad_field,
    },
    UNKNOWN_PARAMETER,
    ErrorCode {
        code: "rate_limited",
        status: StatusCode::TOO_MANY_REQUESTS,
        meaning: "There were too many requests, or the bodies of the requests in progress are too \
                  large in total.",
        remedy: "Retry after the number of seconds in `Retry-After`.",
        message: "too many requests: retry after the number of seconds in Retry-After",
        details: no_details,
    },
    ErrorCode {
        code: "headers_too_large",
        status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        meaning: "The head of the request is too large.",
        remedy: "Send fewer or shorter headers.",
        message: "the request exceeds the limit of 200 header lines, or of 65536 bytes before its \
                  body",
        details: no_details,
    },
    ErrorCode {
        code: "internal_error",
        status: StatusCode::INTERNAL_SERVER_ERROR,
        meaning: "The server failed.",
        remedy: "Retry with the same `Idempotency-Key`. If it fails again, report the \
                 `X-Request-Id`.",
        message: "an internal error occurred",
        details: no_details,
    },
    ErrorCode {
        code: "unavailable",
        status: StatusCode::SERVICE_UNAVAILABLE,
        meaning: "The service is unavailable. The request may have been carried out.",
        remedy: "Retry after the number of seconds in `Retry-After`, with the same \
                 `Idempotency-Key`.",
        message: "the service is unavailable: retry after the number of seconds in Retry-After",
        details: no_details,
    },
];

/// The codes with a status, in the order of the catalogue.
pub(super) fn with_status<'c>(
    codes: &'c [ErrorCode],
    status: &str,
) -> impl Iterator<Item = &'c ErrorCode> {
    codes.iter().filter(move |code| code.status.as_str() == status)
}
