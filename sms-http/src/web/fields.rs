//! Reads all fields of a JSON object, even after an error.
//!
//! [`request_body!`](crate::request_body) declares a body: each field once, with whether it may be
//! missing ([`required`](Fields::required), [`optional`](Fields::optional),
//! [`given`](Fields::given), [`patch`](Fields::patch)) and what it holds (a [`Rule`]). An
//! invalid field adds an error with its path, a placeholder takes its place, and reading continues.
//! Undeclared fields are ignored, and the answer names them
//! ([`crate::web::unknown_fields`]). The domain decides what the values mean.
//!
//! ```
//! use serde_json::json;
//! use sms_http::request_body;
//! use sms_http::web::field_error::FieldErrors;
//! use sms_http::web::fields::object_from;
//!
//! request_body! {
//!     /// A new keyword.
//!     struct NewKeyword as "NewKeyword" {
//!         /// The word.
//!         required keyword: String = text().min(1).max(20), example "PIZZA";
//!         /// The answer.
//!         optional reply: String = text().max(1_600);
//!     }
//! }
//!
//! let mut errors = FieldErrors::new();
//! let body = json!({ "keyword": 5, "reply": true });
//! let NewKeyword { keyword: _, reply: _ } = object_from(body, &mut errors);
//! let named: Vec<String> = errors.into_vec().into_iter().map(|error| error.field).collect();
//! assert_eq!(named, ["keyword", "reply"]);
//! ```

pub mod form;
pub mod list;
pub mod number;
pub mod object;
pub mod rule;
pub mod text;

use poem_openapi::types::Type;
use serde_json::{Map, Value};

pub use self::list::list;
pub use self::number::{boolean, count, whole};
pub use self::object::{json_object, object, object_from};
pub use self::rule::Rule;
pub use self::text::{choice, date_time, one_or_many, text};
use crate::web::field_error::{FieldCode, FieldError, FieldErrors};
use crate::web::json::Path;

/// A value of a PATCH body that null clears. `Option<Nullable<T>>` is `None` if the field is
/// absent, and `Some(None)` if it is null.
pub type Nullable<T> = Option<T>;

/// A type that reads itself from the fields of a JSON object, and describes itself.
pub trait FromFields: Type {
    /// Reads every field, even after an error.
    fn from_fields(fields: &mut Fields<'_>) -> Self;
}

/// The fields of one JSON object, and their errors.
#[derive(Debug)]
pub struct Fields<'a> {
    members: Map<String, Value>,
    path: &'a Path<'a>,
    errors: &'a mut FieldErrors,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "rules are made on the spot, a reference sign at every field would be noise"
)]
impl<'a> Fields<'a> {
    /// The fields of an object with these `members`, which is at `path` in the body.
    pub fn new(
        members: Map<String, Value>,
        path: &'a Path<'a>,
        errors: &'a mut FieldErrors,
    ) -> Self {
        Self { members, path, errors }
    }

    /// A required field. Absent and null are both the error `required`.
    pub fn required<R: Rule>(&mut self, name: &str, rule: R) -> R::Value {
        match self.take(name) {
            None | Some(Value::Null) => {
                self.note(name, FieldCode::Required, "the field is required");
                rule.stand_in()
            }
            Some(value) => self.read(name, &rule, value).unwrap_or_else(|| rule.stand_in()),
        }
    }

    /// An optional field. Absent and null mean the same.
    pub fn optional<R: Rule>(&mut self, name: &str, rule: R) -> Option<R::Value> {
        match self.take(name) {
            None | Some(Value::Null) => None,
            Some(value) => self.read(name, &rule, value),
        }
    }

    /// A field that may be absent but not null: a field of a PATCH that cannot be cleared.
    pub fn given<R: Rule>(&mut self, name: &str, rule: R) -> Option<R::Value> {
        match self.take(name) {
            None => None,
            Some(Value::Null) => {
                self.note(name, FieldCode::WrongType, "the field must not be null");
                None
            }
            Some(value) => self.read(name, &rule, value),
        }
    }

    /// A field for which absent and null differ: a field of a PATCH that null clears. After an
    /// error it counts as absent.
    pub fn patch<R: Rule>(&mut self, name: &str, rule: R) -> Option<Nullable<R::Value>> {
        match self.take(name) {
            None => None,
            Some(Value::Null) => Some(None),
            Some(value) => self.read(name, &rule, value).map(Some),
        }
    }

    /// Notes the members that no field has taken: they are ignored.
    pub(super) fn note_unknown(self) {
        for name in self.members.keys() {
            self.errors.note_unknown(self.path.key(name).to_string());
        }
    }

    fn note(&mut self, name: &str, code: FieldCode, message: &str) {
        let field = self.path.key(name).to_string();
        self.errors.push(FieldError::new(field, code, message));
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    fn read<R: Rule>(&mut self, name: &str, rule: &R, value: Value) -> Option<R::Value> {
        rule.read(value, &self.path.key(name), self.errors)
    }
}
