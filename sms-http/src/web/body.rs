//! The JSON body of a request: [`Body`] and [`OptionalBody`].
//!
//! The OpenAPI document shows the schema of its type. [`FromFields`] reads it and finds every
//! invalid field. Extracting a body fails only with 415, for a wrong content type. All other errors
//! stay in the body until the handler asks for them, so that one answer reports them together with
//! invalid parameters and with the errors of the domain. [`crate::web::intake`] limits the size of
//! a body and the time it may take.

use std::fmt;

use bytes::Bytes;
use poem::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaMediaType, MetaRequest, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::Value;

use crate::web::error::ApiError;
use crate::web::field_error::{Checked, FieldCode, FieldError, FieldErrors};
use crate::web::fields::{FromFields, object_from};
use crate::web::json;
use crate::web::request_id::RequestId;

/// A required body.
///
/// ```
/// use sms_http::request_body;
/// use sms_http::web::body::Body;
/// use sms_http::web::error::ApiError;
/// use sms_http::web::field_error::{FieldError, FieldErrors, checked};
///
/// request_body! {
///     /// A new template.
///     pub struct TemplateInput as "TemplateInput" {
///         /// The name you give it.
///         required name: String = text().min(1).max(100);
///         /// The text.
///         required body: String = text().min(1).max(1_600);
///     }
/// }
///
/// // Checks the shape only:
/// fn shape(body: Body<TemplateInput>) -> Result<TemplateInput, ApiError> {
///     Ok(checked(body)?)
/// }
///
/// // Checks the shape, and the rules of the domain:
/// fn both(body: Body<TemplateInput>) -> Result<TemplateInput, ApiError> {
///     let mut errors = FieldErrors::new();
///     let input = errors.take(body);
///     errors.finish_with(|| rules(&input))?;
///     Ok(input)
/// }
///
/// fn rules(input: &TemplateInput) -> Vec<FieldError> {
///     // The rules of the domain.
/// #   Vec::new()
/// }
/// ```
pub struct Body<T> {
    value: T,
    errors: FieldErrors,
}

/// An optional body. `null` counts as no body.
pub struct OptionalBody<T> {
    value: Option<T>,
    errors: FieldErrors,
}

impl<T: FromFields> Body<T> {
    fn read(bytes: &[u8]) -> Self {
        let read = if bytes.is_empty() {
            let message = "a JSON body is required";
            Err(FieldError::new("", FieldCode::Required, message))
        } else {
            json::parse(bytes)
        };
        let mut errors = FieldErrors::new();
        let body = match read {
            Ok((body, repeated)) => {
                errors.extend(repeated);
                body
            }
            Err(unreadable) => {
                errors.push(unreadable);
                Value::Null
            }
        };
        let value = object_from(body, &mut errors);
        Self { value, errors }
    }

    /// Notes the fields that were ignored, for the answer.
    fn noting(mut self, request: &Request) -> Self {
        let mut unknown = self.errors.take_unknown();
        // Reading the fields has changed the order of the others.
        unknown.sort_unstable();
        if !unknown.is_empty()
            && let Some(id) = request.data::<RequestId>()
        {
            id.note_unknown_fields(&unknown);
        }
        self
    }
}

impl<T> Checked for Body<T> {
    type Value = T;

    fn take_into(self, errors: &mut FieldErrors) -> T {
        errors.extend(self.errors.into_vec());
        self.value
    }
}

impl<T> Checked for OptionalBody<T> {
    type Value = Option<T>;

    fn take_into(self, errors: &mut FieldErrors) -> Option<T> {
        errors.extend(self.errors.into_vec());
        self.value
    }
}

/// Shows the errors, never the values that were sent.
impl<T> fmt::Debug for Body<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Body").field("errors", &self.errors).finish_non_exhaustive()
    }
}

/// Shows the errors, never the values that were sent.
impl<T> fmt::Debug for OptionalBody<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OptionalBody").field("errors", &self.errors).finish_non_exhaustive()
    }
}

impl<'a, T: FromFields> ApiExtractor<'a> for Body<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Some(MetaRequest { description: None, content: vec![json_content::<T>()], required: true })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let bytes = json_bytes(request, body).await?;
        Ok(Self::read(&bytes).noting(request))
    }
}

impl<'a, T: FromFields> ApiExtractor<'a> for OptionalBody<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Some(MetaRequest { description: None, content: vec![json_content::<T>()], required: false })
    }

    async fn from_request(
        request: &'a Request,
        body: &mut RequestBody,
        _options: ExtractParamOptions<()>,
    ) -> poem::Result<Self> {
        let bytes = json_bytes(request, body).await?;
        if bytes.is_empty() || bytes.trim_ascii() == b"null" {
            return Ok(Self { value: None, errors: FieldErrors::new() });
        }
        let Body { value, errors } = Body::read(&bytes).noting(request);
        Ok(Self { value: Some(value), errors })
    }
}

fn json_content<T: Type>() -> MetaMediaType {
    MetaMediaType { content_type: "application/json", schema: T::schema_ref() }
}

/// The bytes of the body. The content type of an empty body does not matter.
async fn json_bytes(request: &Request, body: &mut RequestBody) -> poem::Result<Bytes> {
    let bytes = body.take()?.into_bytes().await?;
    if bytes.is_empty() || is_plain_json(request) {
        Ok(bytes)
    } else {
        Err(ApiError::unsupported_media_type().into())
    }
}

/// Whether the body is declared as uncompressed JSON in UTF-8.
fn is_plain_json(request: &Request) -> bool {
    let headers = request.headers();
    let compressed = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    match (types.next(), types.next()) {
        (Some(only), None) if !compressed => only.to_str().is_ok_and(names_json),
        _ => false,
    }
}

fn names_json(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("application/json"));
    is_json && parts.all(|parameter| !names_other_charset(parameter))
}

fn names_other_charset(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let charset = value.trim().trim_matches('"');
    name.trim().eq_ignore_ascii_case("charset")
        && !charset.eq_ignore_ascii_case("utf-8")
        && !charset.eq_ignore_ascii_case("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        for json in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json;charset=\"UTF-8\"",
            "application/json ; charset = utf8",
        ] {
            assert!(names_json(json), "{json}");
        }
        for other in [
            "",
            "text/plain",
            "application/jsonp",
            "application/json; charset=latin1",
            "application/vnd.api+json",
        ] {
            assert!(!names_json(other), "{other}");
        }
    }
}
