//! Entity tags: [`Tagged`] answers carry the `ETag` of their resource, and [`IfMatch`] reads the
//! tags that a change may be made on.

use poem::http::HeaderValue;
use poem::http::header::ETAG;
use poem::{IntoResponse, Response};
use poem_openapi::ApiResponse;
use poem_openapi::registry::{MetaHeader, MetaResponses, MetaSchema, MetaSchemaRef, Registry};

use crate::web::field_error::FieldCode;
use crate::web::param::ParamValue;
use crate::web::param::value::Mistake;

/// An answer about one resource, with the tag of the resource.
#[derive(Debug, Clone)]
pub struct Tagged<A> {
    answer: A,
    tag: String,
}

impl<A> Tagged<A> {
    /// An answer with this tag, which has neither quotes nor white space.
    pub fn new(tag: impl Into<String>, answer: A) -> Self {
        Self { answer, tag: tag.into() }
    }
}

impl<A: IntoResponse> IntoResponse for Tagged<A> {
    fn into_response(self) -> Response {
        let mut response = self.answer.into_response();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", self.tag)) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}

impl<A: ApiResponse> ApiResponse for Tagged<A> {
    fn meta() -> MetaResponses {
        let mut meta = A::meta();
        for response in &mut meta.responses {
            // The document refers to its shared description of this header.
            response.headers.push(MetaHeader {
                name: "ETag".to_owned(),
                description: None,
                required: true,
                deprecated: false,
                schema: MetaSchemaRef::Inline(Box::new(MetaSchema::new("string"))),
            });
        }
        meta
    }

    fn register(registry: &mut Registry) {
        A::register(registry);
    }
}

/// The value of `If-Match`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// The header is absent, or `*`: whatever the resource is.
    #[default]
    Anything,
    /// The resource must have one of these tags, which are given without their quotes. Weak tags
    /// are left out, because they never match.
    OneOf(Vec<String>),
}

impl ParamValue for IfMatch {
    const REQUIRED: bool = false;

    fn schema() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema::new("string")))
    }

    fn parse(text: &str) -> Result<Self, Mistake> {
        let text = trimmed(text);
        if text == "*" {
            return Ok(Self::Anything);
        }
        tags(text).map(Self::OneOf).ok_or_else(|| {
            let message = "send the `ETag` that you read, in its quotes; several have commas \
                           between them; or send `*`";
            (FieldCode::InvalidFormat, message.to_owned())
        })
    }
}

/// The strong ones of the tags in a list; `None` if it is no list of tags.
fn tags(mut rest: &str) -> Option<Vec<String>> {
    let mut strong = Vec::new();
    let mut none_yet = true;
    loop {
        // Commas without a tag between them are permitted.
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return if none_yet { None } else { Some(strong) };
        }
        let (is_weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let (tag, after) = quoted.strip_prefix('"')?.split_once('"')?;
        if !tag.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        none_yet = false;
        if !is_weak {
            strong.push(tag.to_owned());
        }
        rest = trimmed(after);
        if !rest.is_empty() && !rest.starts_with(',') {
            return None;
        }
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_anything_or_one_or_several_tags() {
        let one_of = |tags: &[&str]| IfMatch::OneOf(tags.iter().map(|&tag| tag.into()).collect());
        for (text, expected) in [
            ("*", IfMatch::Anything),
            (" * ", IfMatch::Anything),
            ("\"a\"", one_of(&["a"])),
            ("\"\"", one_of(&[""])),
            ("\"a\",\"b\"", one_of(&["a", "b"])),
            (" , \"a,b\" ,, \t\"c\" ,", one_of(&["a,b", "c"])),
            ("W/\"a\"", one_of(&[])),
            ("W/\"a\", \"b\"", one_of(&["b"])),
        ] {
            assert_eq!(IfMatch::parse(text), Ok(expected), "{text}");
        }
        assert_eq!(IfMatch::absent(), Ok(IfMatch::Anything));
        for wrong in [
            "a",
            "\"a",
            "a\"",
            "\"a\" \"b\"",
            "\"a\",b",
            "\"a b\"",
            "w/\"a\"",
            ",",
            "*,\"a\"",
            "**",
        ] {
            let (code, _) = IfMatch::parse(wrong).unwrap_err();
            assert_eq!(code, FieldCode::InvalidFormat, "{wrong}");
        }
    }

    #[test]
    fn a_tagged_answer_has_its_tag_in_quotes() {
        let response = Tagged::new("abc", "body").into_response();
        assert_eq!(response.headers()[ETAG], "\"abc\"");
    }
}
