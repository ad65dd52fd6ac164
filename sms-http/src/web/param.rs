//! Query and header parameters: [`QueryParam`] and [`HeaderParam`].
//!
//! The framework's extractors stop at the first invalid parameter. These never fail. Each keeps its
//! error until [`checked`](crate::web::field_error::checked) asks for all of them. The type of a
//! parameter is a [`ParamValue`]. Path parameters use the framework's `Path`, which answers 404 for
//! a malformed id.
//!
//! A parameter that is repeated or has no value (`status=`) is an error. Unknown parameters are
//! errors on lists (`web::collection`), and ignored elsewhere.

pub mod value;

use std::fmt;

use poem::{Request, RequestBody};
use poem_openapi::registry::{MetaParamIn, MetaSchemaRef, Registry};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};

pub use self::value::{Limit, ParamValue, Text, Whole};
use crate::web::field_error::{Checked, FieldCode, FieldError, FieldErrors};

/// A parameter of the query string.
pub struct QueryParam<T>(Read<T>);

/// A parameter in a request header.
pub struct HeaderParam<T>(Read<T>);

/// A value, or a placeholder and its error.
struct Read<T> {
    value: T,
    error: Option<FieldError>,
}

impl<T: ParamValue> Read<T> {
    /// Reads the occurrences of one parameter; `None` is an occurrence that does not decode.
    fn from_occurrences(name: &str, mut occurrences: impl Iterator<Item = Option<String>>) -> Self {
        let read = match (occurrences.next(), occurrences.next()) {
            (None, _) => T::absent(),
            (Some(_), Some(_)) => {
                Err((FieldCode::DuplicateKey, "the parameter must not be repeated".to_owned()))
            }
            (Some(None), None) => {
                Err((FieldCode::InvalidCharacter, "the parameter is not valid text".to_owned()))
            }
            (Some(Some(text)), None) if text.is_empty() => {
                Err((FieldCode::Empty, "the parameter has no value; omit it instead".to_owned()))
            }
            (Some(Some(text)), None) => T::parse(&text),
        };
        match read {
            Ok(value) => Self { value, error: None },
            Err((code, message)) => {
                Self { value: T::default(), error: Some(FieldError::new(name, code, message)) }
            }
        }
    }
}

impl<T> Checked for Read<T> {
    type Value = T;

    fn take_into(self, errors: &mut FieldErrors) -> T {
        errors.extend(self.error);
        self.value
    }
}

impl<T> Checked for QueryParam<T> {
    type Value = T;

    fn take_into(self, errors: &mut FieldErrors) -> T {
        self.0.take_into(errors)
    }
}

impl<T> Checked for HeaderParam<T> {
    type Value = T;

    fn take_into(self, errors: &mut FieldErrors) -> T {
        self.0.take_into(errors)
    }
}

/// Shows the errors, never the values that were sent.
impl<T> fmt::Debug for QueryParam<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("QueryParam").field(&self.0.error).finish()
    }
}

/// Shows the errors, never the values that were sent.
impl<T> fmt::Debug for HeaderParam<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HeaderParam").field(&self.0.error).finish()
    }
}

impl<'a, T: ParamValue> ApiExtractor<'a> for QueryParam<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
    const PARAM_IS_REQUIRED: bool = T::REQUIRED;

    type ParamType = T;
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Query)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(T::schema())
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<T>,
    ) -> poem::Result<Self> {
        let query = request.uri().query().unwrap_or_default();
        let occurrences = query_occurrences(query, options.name);
        Ok(Self(Read::from_occurrences(options.name, occurrences)))
    }
}

impl<'a, T: ParamValue> ApiExtractor<'a> for HeaderParam<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::Parameter];
    const PARAM_IS_REQUIRED: bool = T::REQUIRED;

    type ParamType = T;
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn param_in() -> Option<MetaParamIn> {
        Some(MetaParamIn::Header)
    }

    fn param_schema_ref() -> Option<MetaSchemaRef> {
        Some(T::schema())
    }

    async fn from_request(
        request: &'a Request,
        _body: &mut RequestBody,
        options: ExtractParamOptions<T>,
    ) -> poem::Result<Self> {
        let occurrences = request
            .headers()
            .get_all(options.name)
            .iter()
            .map(|value| value.to_str().ok().map(str::to_owned));
        Ok(Self(Read::from_occurrences(options.name, occurrences)))
    }
}

/// The values of `name` in a query string, in order. `None` stands for one that does not decode.
fn query_occurrences<'q>(
    query: &'q str,
    name: &'q str,
) -> impl Iterator<Item = Option<String>> + 'q {
    query.split('&').filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(key).as_deref() == Some(name)).then(|| decode(value))
    })
}

/// Decodes a form value: `+` is a space, and `%` with two hexadecimal digits is a byte of UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hex_digit(rest.next()?)? << 4 | hex_digit(rest.next()?)?,
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: ParamValue>(query: &str, name: &str) -> Result<T, &'static str> {
        let read = Read::<T>::from_occurrences(name, query_occurrences(query, name));
        read.error.map_or(Ok(read.value), |error| Err(error.code))
    }

    #[test]
    fn queries_are_decoded_strictly() {
        let texts = |query: &str| read::<Text<20>>(query, "q").map(|text| text.0);
        assert_eq!(texts("q=a+b%2Bc").as_deref(), Ok("a b+c"));
        assert_eq!(texts("%71=%C3%A9").as_deref(), Ok("é"));
        assert_eq!(texts("x=1&q=a=b").as_deref(), Ok("a=b"));
        for bad in ["q=%ff", "q=%", "q=%4", "q=%zz", "q=%+1"] {
            assert_eq!(texts(bad), Err("invalid_character"), "{bad}");
        }
        assert_eq!(texts("q=%00"), Err("invalid_character"));
        assert_eq!(texts("q=aaaaaaaaaaaaaaaaaaaaa"), Err("too_long"));
    }

    #[test]
    fn a_parameter_is_given_once_and_with_a_value() {
        assert_eq!(read::<Limit>("limit=1&limit=1", "limit"), Err("duplicate_key"));
        assert_eq!(read::<Limit>("limit=", "limit"), Err("empty"));
        assert_eq!(read::<Limit>("limit", "limit"), Err("empty"));
        assert_eq!(read::<Option<Text<5>>>("", "q"), Ok(None));
        assert_eq!(read::<Text<5>>("", "q"), Err("required"));
        assert_eq!(read::<Limit>("%ff=1", "limit"), Ok(Limit(25)));
    }
}
