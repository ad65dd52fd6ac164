//! Reading the fields of a JSON object, all of them, mistakes or not.
//!
//! A body says what it holds in [`FromFields`]: for each field whether it may be missing
//! ([`Fields::required`], [`optional`](Fields::optional), [`given`](Fields::given),
//! [`patch`](Fields::patch)) and what it is (a [`Rule`] of [`rule`]). A field that
//! is wrong is noted with its path and a stand-in takes its place, so that reading goes on.
//! Fields nobody asks for are ignored. What the values mean is for the domain to say.
//!
//! ```
//! use serde_json::json;
//! use sms_http::web::field_error::FieldErrors;
//! use sms_http::web::fields::{Fields, FromFields, object_from, rule};
//!
//! struct NewKeyword {
//!     keyword: String,
//!     reply: Option<String>,
//! }
//!
//! impl FromFields for NewKeyword {
//!     fn from_fields(fields: &mut Fields<'_>) -> Self {
//!         Self {
//!             keyword: fields.required("keyword", rule::text().min(1).max(20)),
//!             reply: fields.optional("reply", rule::text().max(1_600)),
//!         }
//!     }
//! }
//!
//! let mut errors = FieldErrors::new();
//! let body = json!({ "keyword": 5, "reply": true });
//! object_from::<NewKeyword>(body, &mut errors);
//! let named: Vec<String> = errors.into_vec().into_iter().map(|error| error.field).collect();
//! assert_eq!(named, ["keyword", "reply"]);
//! ```

pub mod given;
pub mod one_or_many;
pub mod rule;

use serde_json::{Map, Value};

pub use self::given::Given;
pub use self::one_or_many::OneOrMany;
pub use self::rule::Rule;
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::json::Path;

/// A field of a PATCH body that may be absent (leave it), null (clear it) or a value (set it).
pub use poem_openapi::types::MaybeUndefined as Patch;

/// A type that reads itself from the fields of a JSON object.
pub trait FromFields: Sized {
    /// Reads every field, also after a mistake.
    fn from_fields(fields: &mut Fields<'_>) -> Self;
}

/// The fields of one JSON object and the list of what was wrong with them.
#[derive(Debug)]
pub struct Fields<'a> {
    object: Map<String, Value>,
    path: &'a Path<'a>,
    errors: &'a mut FieldErrors,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "rules are made on the spot, a reference sign at every field would be noise"
)]
impl<'a> Fields<'a> {
    /// The fields of `object`, which stands at `path` in the body.
    pub fn new(
        object: Map<String, Value>,
        path: &'a Path<'a>,
        errors: &'a mut FieldErrors,
    ) -> Self {
        Self { object, path, errors }
    }

    /// A field that has to be there. Absent and null are both `required`.
    pub fn required<R: Rule>(&mut self, name: &str, rule: R) -> R::Value {
        match self.take(name) {
            None | Some(Value::Null) => {
                self.note(name, FieldCode::Required, "the field is required");
                rule.stand_in()
            }
            Some(value) => self.read(name, &rule, value).unwrap_or_else(|| rule.stand_in()),
        }
    }

    /// A field that may be absent or null, which are the same.
    pub fn optional<R: Rule>(&mut self, name: &str, rule: R) -> Option<R::Value> {
        match self.take(name) {
            None | Some(Value::Null) => None,
            Some(value) => self.read(name, &rule, value),
        }
    }

    /// A field that may be absent, but not null: one of a PATCH that cannot be cleared.
    pub fn given<R: Rule>(&mut self, name: &str, rule: R) -> Given<R::Value> {
        match self.take(name) {
            None => Given(None),
            Some(Value::Null) => {
                self.note(name, FieldCode::WrongType, "the field cannot be null");
                Given(None)
            }
            Some(value) => Given(self.read(name, &rule, value)),
        }
    }

    /// A field where absent and null differ: one of a PATCH that null clears.
    pub fn patch<R: Rule>(&mut self, name: &str, rule: R) -> Patch<R::Value> {
        match self.take(name) {
            None => Patch::Undefined,
            Some(Value::Null) => Patch::Null,
            Some(value) => match self.read(name, &rule, value) {
                Some(value) => Patch::Value(value),
                None => Patch::Undefined,
            },
        }
    }

    /// Notes a mistake of the field `name` that no rule can see, as one between two fields.
    pub fn note(&mut self, name: &str, code: impl Into<&'static str>, message: &str) {
        let field = self.path.key(name).to_string();
        self.errors.push(FieldError::new(field, code, message));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.remove(name)
    }

    fn read<R: Rule>(&mut self, name: &str, rule: &R, value: Value) -> Option<R::Value> {
        rule.read(value, &self.path.key(name), self.errors)
    }
}

/// Reads a `T` from a whole body. After a mistake the value is a stand-in.
pub fn object_from<T: FromFields>(body: Value, errors: &mut FieldErrors) -> T {
    let rule = rule::object::<T>();
    let value = rule.read(body, &Path::ROOT, errors);
    value.unwrap_or_else(|| rule.stand_in())
}
