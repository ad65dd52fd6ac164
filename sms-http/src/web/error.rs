//! The errors of the API: [`ApiError`] and its envelope.
//!
//! Every error that leaves the API has the form `{ "error": { code, message, details, doc_url } }`,
//! with `details` null when there are none. [`ApiError::from_poem`] turns the framework's errors
//! (unknown path, unknown method, unreadable parameter) into this form. Only the HTTP library
//! answers without it, with 400 for what is no HTTP. How the domain's errors map to statuses is
//! decided elsewhere.

use std::borrow::Cow;
use std::fmt;

use poem::error::{MethodNotAllowedError, NotFoundError, ReadBodyError, ResponseError};
use poem::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use poem::http::{HeaderName, HeaderValue, Method, StatusCode};
use poem::{IntoResponse, Response};
use poem_openapi::error::{
    AuthorizationError, ContentTypeError, ParseParamError, ParsePathError, ParseRequestPayloadError,
};
use poem_openapi::registry::{MetaResponses, Registry};
use serde::Serialize;
use serde_json::Value;

use crate::web::field_error::{FieldCode, FieldError, FieldErrors};

/// An error answer.
///
/// Handlers return it as the `Err` of their `Result`. It adds nothing to the OpenAPI document:
/// [`crate::web::openapi`] states how operations can fail.
#[derive(Debug, Clone)]
pub struct ApiError(Box<Parts>);

/// The content of an error, boxed to keep `Result`s small.
#[derive(Debug, Clone)]
struct Parts {
    status: StatusCode,
    code: &'static str,
    message: Cow<'static, str>,
    details: Value,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// An error with a status, a stable code, and a message for people.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (message, details, headers) = (message.into(), Value::Null, Vec::new());
        Self(Box::new(Parts { status, code, message, details, headers }))
    }

    /// Replaces the message, for people.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Sets the details, for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = details;
        self
    }

    /// Adds a response header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// The headers that belong to the answer, such as `Retry-After`.
    pub fn headers(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0.headers
    }

    /// 401: the key is missing, malformed, unknown or revoked. The answer does not say which.
    pub fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a valid API key is required: Authorization: Bearer <API_KEY>",
        )
        .with_header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 404: there is no such path, or no such resource in this account.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "the resource does not exist")
    }

    /// 405: the path exists, but not with this method. `allowed` goes into `Allow`.
    pub fn method_not_allowed(allowed: &[Method]) -> Self {
        let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
        let list = HeaderValue::from_str(&names.join(", "))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "the path does not support this method",
        )
        .with_header(ALLOW, list)
    }

    /// 408: the body did not arrive in time.
    pub fn request_timeout() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "the request body did not arrive in time",
        )
    }

    /// 413: the body is over `limit_bytes`.
    pub fn payload_too_large(limit_bytes: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("the request body exceeds the limit of {limit_bytes} bytes"),
        )
    }

    /// 414: path and query are over `limit_bytes`.
    pub fn uri_too_long(limit_bytes: usize) -> Self {
        Self::new(
            StatusCode::URI_TOO_LONG,
            "uri_too_long",
            format!("path and query exceed the limit of {limit_bytes} bytes together"),
        )
    }

    /// 415: the body is not declared as JSON.
    pub fn unsupported_media_type() -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "send the body with Content-Type: application/json, in UTF-8 and uncompressed",
        )
    }

    /// 422: these fields are invalid.
    pub fn validation(errors: Vec<impl Into<FieldError>>) -> Self {
        let errors: Vec<FieldError> = errors.into_iter().map(Into::into).collect();
        let message = match errors.len() {
            1 => "one field is invalid".to_owned(),
            count => format!("{count} fields are invalid"),
        };
        let details = serde_json::to_value(errors).unwrap_or_default();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "validation_failed", message)
            .with_details(details)
    }

    /// 422: the operation has no such query parameters.
    pub fn unknown_parameters(names: Vec<String>) -> Self {
        let message = match names.len() {
            1 => "one query parameter is unknown".to_owned(),
            count => format!("{count} query parameters are unknown"),
        };
        let unknown = |name| {
            let message = "this operation has no such parameter";
            FieldError::new(name, FieldCode::UnknownParameter, message)
        };
        let errors: Vec<FieldError> = names.into_iter().map(unknown).collect();
        let details = serde_json::to_value(errors).unwrap_or_default();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_parameter", message)
            .with_details(details)
    }

    /// 429: over the rate limit. A request after `retry_after_seconds` is within it again.
    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "too many requests: retry after the number of seconds in Retry-After",
        )
        .with_header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 429: the bodies of the caller's other requests take its whole share of the memory.
    pub fn too_much_at_once(retry_after_seconds: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "the bodies of your requests that are still in progress are too large together: wait \
             for their answers, or retry after the number of seconds in Retry-After",
        )
        .with_header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 429: the client's address has as many connections as one may have.
    pub fn too_many_connections(retry_after_seconds: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "too many connections from your address: use those that are open, or retry after the \
             number of seconds in Retry-After",
        )
        .with_header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// 431: the head is over `limit_bytes`, or has more than `limit_lines` header lines.
    pub fn headers_too_large(limit_bytes: usize, limit_lines: usize) -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "headers_too_large",
            format!(
                "the request exceeds the limit of {limit_lines} header lines, or of {limit_bytes} \
                 bytes before its body"
            ),
        )
    }

    /// 500: the server failed. The log has the cause, and the answer never does.
    pub fn internal_error() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "an internal error occurred")
    }

    /// 503: the service is unavailable; retry after `retry_after_seconds`.
    pub fn unavailable(retry_after_seconds: u64) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the service is unavailable: retry after the number of seconds in Retry-After",
        )
        .with_header(RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// Converts an error of the framework.
    ///
    /// `allowed` are the methods of the path, for a 405. An [`ApiError`] is returned unchanged.
    /// Any error that is not the client's fault becomes a 500.
    pub fn from_poem(error: &poem::Error, allowed: &[Method]) -> Self {
        if let Some(ours) = error.downcast_ref::<Self>() {
            return ours.clone();
        }
        if let Some(bad) = error.downcast_ref::<ParseParamError>() {
            let message = "the parameter is invalid";
            return Self::invalid(bad.name, FieldCode::InvalidFormat, message);
        }
        if error.is::<ParseRequestPayloadError>() {
            return Self::invalid("", FieldCode::InvalidFormat, "the body is invalid");
        }
        // The router reports a path that it cannot decode, and the extractor an id that it cannot
        // parse.
        if error.is::<NotFoundError>()
            || error.is::<poem::error::ParsePathError>()
            || error.is::<ParsePathError>()
        {
            return Self::not_found();
        }
        if error.is::<MethodNotAllowedError>() {
            return Self::method_not_allowed(allowed);
        }
        if error.is::<ContentTypeError>() {
            return Self::unsupported_media_type();
        }
        if error.is::<AuthorizationError>() {
            return Self::unauthorized();
        }
        if let Some(ReadBodyError::Utf8(_)) = error.downcast_ref::<ReadBodyError>() {
            return Self::invalid("", FieldCode::MalformedJson, "the body is not UTF-8");
        }
        Self::from_status(error.status(), allowed)
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable code that clients branch on.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The details, null when there are none.
    pub fn details(&self) -> &Value {
        &self.0.details
    }

    fn invalid(field: &str, code: FieldCode, message: &str) -> Self {
        Self::validation(vec![FieldError::new(field, code, message)])
    }

    /// The answer for an error of which only the status is known.
    fn from_status(status: StatusCode, allowed: &[Method]) -> Self {
        match status {
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                Self::invalid("", FieldCode::InvalidFormat, "the request is invalid")
            }
            StatusCode::UNAUTHORIZED => Self::unauthorized(),
            StatusCode::NOT_FOUND => Self::not_found(),
            StatusCode::METHOD_NOT_ALLOWED => Self::method_not_allowed(allowed),
            StatusCode::REQUEST_TIMEOUT => Self::request_timeout(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::unsupported_media_type(),
            StatusCode::TOO_MANY_REQUESTS => Self::rate_limited(1),
            StatusCode::SERVICE_UNAVAILABLE => Self::unavailable(1),
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(status, "payload_too_large", "the request body is too large")
            }
            _ => Self::internal_error(),
        }
    }
}

impl From<FieldErrors> for ApiError {
    fn from(errors: FieldErrors) -> Self {
        Self::validation(errors.into_vec())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.0.status.as_u16(), self.0.code)
    }
}

impl std::error::Error for ApiError {}

impl ResponseError for ApiError {
    fn status(&self) -> StatusCode {
        self.0.status
    }

    fn as_response(&self) -> Response {
        self.clone().into_response()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Parts { status, code, message, details, headers: own } = *self.0;
        let doc_url = doc_url(code);
        let error = ErrorBody { code, message: &message, details: &details, doc_url: &doc_url };
        let body = serde_json::to_vec(&ErrorEnvelope { error }).unwrap_or_default();
        let mut response = Response::builder().status(status).body(body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(own);
        response
    }
}

/// Adds nothing to the document; see the comment on the type.
impl poem_openapi::ApiResponse for ApiError {
    fn meta() -> MetaResponses {
        MetaResponses { responses: Vec::new() }
    }

    fn register(_registry: &mut Registry) {}
}

#[derive(Serialize)]
struct ErrorEnvelope<'a> {
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'static str,
    message: &'a str,
    details: &'a Value,
    doc_url: &'a str,
}

/// Where the page of errors is served.
pub const ERROR_PAGE: &str = "/docs/errors";

/// Where a code is explained, relative to the server's address.
pub fn doc_url(code: &str) -> String {
    format!("{ERROR_PAGE}#{code}")
}
