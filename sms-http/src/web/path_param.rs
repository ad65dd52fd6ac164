//! Parameters in paths: [`PathParam`], which handlers take, and [`PathParams`], where they are.
//!
//! They are text of any form. A handler answers 404 for what names nothing.

use std::ops::Deref;
use std::sync::Arc;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchemaRef, Registry};
use poem_openapi::types::Type;
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

use crate::web::error::ApiError;
use crate::web::param::hex_digit;

/// A parameter in the path of a request, as text.
#[derive(Debug)]
pub struct PathParam(pub String);

impl Deref for PathParam {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// The path of a request and the pattern that it matches. [`crate::web::intake`] puts them into the
/// data of each request whose pattern has parameters.
#[derive(Debug, Clone)]
pub struct PathParams {
    pattern: Arc<str>,
    path: String,
}

impl PathParams {
    pub(super) fn new(pattern: &Arc<str>, path: &str) -> Self {
        Self { pattern: Arc::clone(pattern), path: path.to_owned() }
    }

    /// The parameter that the pattern calls `{name}`, decoded; `None` if it is not UTF-8.
    pub fn get(&self, name: &str) -> Option<String> {
        let mut segments = self.pattern.split('/').zip(self.path.split('/'));
        let (_, value) = segments.find(|(segment, _)| {
            segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) == Some(name)
        })?;
        decode(value)
    }
}

/// Whether a segment of a pattern stands for any segment of a path.
pub(super) fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{') && segment.ends_with('}')
}

/// Decodes a segment: `%` with two hexadecimal digits is a byte of UTF-8, and any other `%` itself.
fn decode(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        return Some(segment.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex_digit(*high).zip(hex_digit(*low)),
            _ => None,
        };
        let byte = escaped.map_or(*first, |(high, low)| high << 4 | low);
        bytes.push(byte);
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}

impl<'a> ApiExtractor<'a> for PathParam {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
    const PARAM_IS_REQUIRED: bool = true;

    type ParamType = String;
    type ParamRawType = String;

    fn register(registry: &mut Registry) {
        <String as Type>::register(registry);
    }

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Path)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(String::schema_ref())
    }

    fn param_raw_type(&self) -> Option<&String> {
        Some(&self.0)
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<String>,
    ) -> poem::Result<Self> {
        let text = request.data::<PathParams>().and_then(|params| params.get(options.name));
        Ok(Self(text.ok_or_else(ApiError::not_found)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_the_segment_in_its_place_decoded_and_a_plus_stays() {
        let params = |path| PathParams::new(&"/lists/{id}/contacts/{contact_id}".into(), path);
        let read = |path| ["id", "contact_id", "x"].map(|name| params(path).get(name));
        let texts = |texts: [&str; 2]| [Some(texts[0].to_owned()), Some(texts[1].to_owned()), None];
        assert_eq!(read("/lists/a%20b/contacts/+44%37"), texts(["a b", "+447"]));
        assert_eq!(read("/lists/%zz%/contacts/%c3%A9"), texts(["%zz%", "é"]));
        assert_eq!(read("/lists/a/contacts/%ff")[1], None);
    }
}
