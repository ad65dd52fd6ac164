//! JSON: a strict parser, which turns bytes into a value or a clear error, and a writer.
//!
//! It refuses an object with a repeated key, because two readers could understand it differently.
//! `serde_json` does the rest: it limits nesting to 128 levels, and refuses numbers outside `f64`,
//! lone surrogates and trailing text. [`crate::web::fields`] decides which fields an object has.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::web::field_error::{FieldCode, FieldError};

/// The most repeated keys that are reported.
const MAX_REPEATED_KEYS: usize = 100;

/// The most values of a body: two bytes may become a hundred and more in memory.
pub const MOST_VALUES: usize = 500_000;

/// A step from the root of the body to a value. Steps form a chain on the stack, so that reading a
/// large valid body allocates no paths.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The body as a whole.
    pub const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    /// The path of a key of the object here.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Key(key) }
    }

    /// The path of an item of the array here.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }
}

/// `rows[3].phone`; nothing for the root.
impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Index(index) => write!(formatter, "[{index}]"),
            Step::Key(key) if self.parent.is_none_or(|parent| parent.parent.is_none()) => {
                // An array at the root would need no dot either, but no body here is an array.
                formatter.write_str(key)
            }
            Step::Key(key) => write!(formatter, ".{key}"),
        }
    }
}

/// Reads a JSON document. Returns its value, and an error for each repeated key of an object.
///
/// The last value of a repeated key is kept, so that the rest can be checked. A document that
/// cannot be read at all is one error in the field `""`. No message repeats what was sent.
pub fn parse(bytes: &[u8]) -> Result<(Value, Vec<FieldError>), FieldError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| malformed(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let repeated = RefCell::new(Vec::new());
    let left = Cell::new(MOST_VALUES + 1);
    let strict = Strict { path: Path::ROOT, repeated: &repeated, left: &left };
    let mut document = serde_json::Deserializer::from_str(text);
    let value = strict
        .deserialize(&mut document)
        .and_then(|value| document.end().map(|()| value))
        .map_err(|error| match left.get() {
            0 => too_many(),
            _ => malformed(error.to_string()),
        })?;
    Ok((value, repeated.into_inner()))
}

/// Writes a value as JSON; the empty text if it cannot be written.
pub fn to_string(value: &impl Serialize) -> String {
    // One message has about 600 bytes.
    let mut json = Vec::with_capacity(1_024);
    let written = serde_json::to_writer(&mut json, value);
    written.ok().and_then(|()| String::from_utf8(json).ok()).unwrap_or_default()
}

fn malformed(reason: impl fmt::Display) -> FieldError {
    let message = format!("the body is not valid JSON: {reason}");
    FieldError::new("", FieldCode::MalformedJson, message)
}

fn too_many() -> FieldError {
    let message = format!("the body must have at most {MOST_VALUES} values: send fewer at once");
    FieldError::new("", FieldCode::TooMany, message)
}

/// Reads any value, and collects the repeated keys of its objects.
struct Strict<'a> {
    path: Path<'a>,
    repeated: &'a RefCell<Vec<FieldError>>,
    /// How many more values the body may have, and one: at zero it has too many.
    left: &'a Cell<usize>,
}

impl Strict<'_> {
    fn note_repeated(&self, key: &str) {
        let mut repeated = self.repeated.borrow_mut();
        if repeated.len() < MAX_REPEATED_KEYS {
            let field = self.path.key(key).to_string();
            let message = "the key must not be repeated in its object";
            repeated.push(FieldError::new(field, FieldCode::DuplicateKey, message));
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left <= 1 {
            return Err(D::Error::custom("too many values"));
        }
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        loop {
            let path = self.path.index(array.len());
            let item = Strict { path, ..self };
            match items.next_element_seed(item)? {
                Some(value) => array.push(value),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                self.note_repeated(&key);
            }
            let entry = Strict { path: self.path.key(&key), ..self };
            let value = entries.next_value_seed(entry)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_repeated_key_is_named_with_its_path() {
        let text = br#"{"a":{"b":1,"b":2},"rows":[{"x":1},{"x":1,"x":1}],"a":3}"#;
        let (value, repeated) = parse(text).unwrap();
        let fields: Vec<_> = repeated.into_iter().map(|error| error.field).collect();
        assert_eq!(fields, ["a.b", "rows[1].x", "a"]);
        assert_eq!(value["a"], 3);
    }

    #[test]
    fn what_is_no_json_is_one_mistake_of_the_whole_body() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in [
            &b"{"[..],
            b"{\"a\":1} x",
            b"{\"a\":1e999}",
            b"{\"a\":\"\\ud800\"}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":01}",
            b"{'a':1}",
            b"{\"a\":NaN}",
            b"\xef\xbb\xbf{}",
            b"",
            deep.as_bytes(),
        ] {
            let found = parse(text).unwrap_err();
            assert_eq!((found.field.as_str(), found.code), ("", "malformed_json"), "{text:?}");
        }
    }

    #[test]
    fn a_body_has_at_most_500_000_values() {
        // The array itself, and its items.
        let items = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        assert!(parse(items(MOST_VALUES - 1).as_bytes()).is_ok());
        let refused = parse(items(MOST_VALUES).as_bytes()).unwrap_err();
        assert_eq!((refused.field.as_str(), refused.code), ("", "too_many"));
    }

    #[test]
    fn many_repeated_keys_are_not_all_told() {
        let entries = vec!["\"k\":0"; 5_000].join(",");
        let (_, repeated) = parse(format!("{{{entries}}}").as_bytes()).unwrap();
        assert_eq!(repeated.len(), MAX_REPEATED_KEYS);
    }

    #[test]
    fn paths_read_as_written() {
        let rows = Path::ROOT.key("rows");
        let row = rows.index(3);
        assert_eq!(row.key("phone").to_string(), "rows[3].phone");
        assert_eq!(Path::ROOT.to_string(), "");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_document_reads_back_as_itself(value in any_json()) {
            let text = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(parse(&text), Ok((value, Vec::new())));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }

    #[test]
    fn integers_keep_every_digit() {
        assert_eq!(parse(b"18446744073709551615").unwrap().0, json!(u64::MAX));
    }
}
