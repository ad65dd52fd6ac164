//! Fields that an account defines, and how many contacts use each name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::field_error::FieldError;
use crate::text::blank::is_blank;
use crate::text::merge::{LONGEST_CUSTOM, is_custom_name};

/// The maximum length of a text value, in characters.
pub const MAX_VALUE: usize = LONGEST_CUSTOM;
/// The maximum number of custom fields of a contact.
pub const MAX_FIELDS: usize = 50;
/// The maximum number of different names that the contacts of one account use.
pub const MAX_NAMES: usize = 1_000;

/// The value of a custom field. It serialises to the JSON value that was given.
///
/// Texts, whole numbers, [`Number`]s and truth values convert into it:
///
/// ```
/// use sms_core::contact::CustomValue;
///
/// assert_eq!(CustomValue::from("4"), CustomValue::Text("4".to_owned()));
/// assert_eq!(CustomValue::from(4), CustomValue::Number(4.into()));
/// assert_eq!(CustomValue::from(true), CustomValue::Boolean(true));
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CustomValue {
    /// A text that is not blank.
    Text(String),
    /// A number, whole or with a fraction.
    Number(Number),
    /// `true` or `false`, which merge fields show as these words.
    Boolean(bool),
}

impl fmt::Debug for CustomValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomValue(…)")
    }
}

impl CustomValue {
    /// The value as a merge field shows it.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Boolean(true) => Cow::Borrowed("true"),
            Self::Boolean(false) => Cow::Borrowed("false"),
        }
    }

    /// Whether the value is a blank text, which counts as missing.
    fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if is_blank(text))
    }
}

impl From<&str> for CustomValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for CustomValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Number> for CustomValue {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for CustomValue {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for CustomValue {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for CustomValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for CustomValue {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for CustomValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

/// The custom fields of a contact, by name.
pub type CustomFields = BTreeMap<String, CustomValue>;

/// Custom fields as given in a request. `None` and a blank text mean no value.
pub type CustomInput = BTreeMap<String, Option<CustomValue>>;

/// A change of custom fields.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum CustomPatch {
    /// Keeps all fields as they are.
    #[default]
    Keep,
    /// Removes all custom fields of the contact.
    Clear,
    /// Sets the named fields, removes those given without a value, and keeps the others.
    Merge(CustomInput),
}

impl fmt::Debug for CustomPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("Keep"),
            Self::Clear => f.write_str("Clear"),
            Self::Merge(fields) => write!(f, "Merge({})", fields.len()),
        }
    }
}

impl CustomPatch {
    /// Whether the change can give the contact a field that it does not have.
    pub fn may_add(&self) -> bool {
        matches!(self, Self::Merge(given) if given.values().any(Option::is_some))
    }

    /// The fields after the change.
    pub fn apply(&self, mut fields: CustomFields) -> CustomFields {
        match self {
            Self::Keep => fields,
            Self::Clear => CustomFields::new(),
            Self::Merge(given) => {
                for (name, value) in given {
                    match value.as_ref().filter(|value| !value.is_blank()) {
                        Some(value) => fields.insert(name.clone(), value.clone()),
                        None => fields.remove(name),
                    };
                }
                fields
            }
        }
    }
}

/// The fields that were given with a value.
pub(super) fn given(input: &CustomInput) -> CustomFields {
    CustomPatch::Merge(input.clone()).apply(CustomFields::new())
}

/// Every rule that the given fields break.
pub(super) fn check(input: &CustomInput) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if input.keys().any(|name| !is_custom_name(name)) {
        let message = "a name has 1 to 40 characters of a-z, 0-9 and _, and starts with a letter";
        errors.push(FieldError::new("custom", "invalid_format", message));
        return errors;
    }
    if input.len() > MAX_FIELDS {
        errors.push(too_many_fields());
        return errors;
    }
    for (name, value) in input {
        let Some(CustomValue::Text(text)) = value else { continue };
        if text.contains('\0') {
            let message = "the text must not contain the character U+0000";
            errors.push(FieldError::new(format!("custom.{name}"), "invalid_character", message));
        } else if text.chars().count() > MAX_VALUE {
            let message = format!("the text may have at most {MAX_VALUE} characters");
            errors.push(FieldError::new(format!("custom.{name}"), "too_long", message));
        }
    }
    errors
}

/// How many more or fewer contacts use each name. Updated with every change, so that the names in
/// use are known without reading contacts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldUses(BTreeMap<String, i64>);

impl FieldUses {
    /// Counts the change from one set of fields to another.
    pub fn count(&mut self, before: &CustomFields, after: &CustomFields) {
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            *self.0.entry(name.clone()).or_default() -= 1;
        }
        for name in after.keys().filter(|name| !before.contains_key(*name)) {
            *self.0.entry(name.clone()).or_default() += 1;
        }
    }

    /// The names whose count changes, and by how much; never by 0.
    pub fn changes(&self) -> impl Iterator<Item = (&str, i64)> {
        let changed = self.0.iter().filter(|(_, by)| **by != 0);
        changed.map(|(name, by)| (name.as_str(), *by))
    }
}

/// The names that contacts of an account use, each with the number of contacts that use it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamesInUse(BTreeMap<String, i64>);

impl NamesInUse {
    /// These names, none of which is unused.
    pub fn new(uses: impl IntoIterator<Item = (String, i64)>) -> Self {
        Self(uses.into_iter().collect())
    }

    /// Counts the change of one contact's fields. Refuses one that adds a name of which the account
    /// would then have more than [`MAX_NAMES`]; the names that no contact uses after it are free.
    pub(super) fn count(
        &mut self,
        before: &CustomFields,
        after: &CustomFields,
    ) -> Result<(), FieldError> {
        let is_new = |name: &&String| !before.contains_key(*name) && !self.0.contains_key(*name);
        let is_freed = |name: &&String| !after.contains_key(*name) && self.0.get(*name) == Some(&1);
        let new = after.keys().filter(is_new).count();
        let freed = before.keys().filter(is_freed).count();
        if new > 0 && self.0.len() + new > MAX_NAMES + freed {
            return Err(too_many_names());
        }
        let mut uses = FieldUses::default();
        uses.count(before, after);
        for (name, by) in uses.changes() {
            let count = self.0.entry(name.to_owned()).or_default();
            *count += by;
            if *count <= 0 {
                self.0.remove(name);
            }
        }
        Ok(())
    }
}

pub(super) fn too_many_fields() -> FieldError {
    let message = format!("a contact may have at most {MAX_FIELDS} custom fields");
    FieldError::new("custom", "too_many", message)
}

pub(super) fn too_many_names() -> FieldError {
    let message = format!(
        "the contacts of an account may use at most {MAX_NAMES} different names; use one that \
         GET /contacts/fields lists, or remove a name from all contacts"
    );
    FieldError::new("custom", "too_many", message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> CustomValue {
        CustomValue::Text(text.to_owned())
    }

    fn fields(pairs: &[(&str, &str)]) -> CustomFields {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect()
    }

    fn merge(pairs: &[(&str, Option<&str>)]) -> CustomPatch {
        let pair = |(name, value): &(&str, Option<&str>)| ((*name).to_owned(), value.map(text));
        CustomPatch::Merge(pairs.iter().map(pair).collect())
    }

    fn codes(input: &CustomInput) -> Vec<(String, &'static str)> {
        check(input).into_iter().map(|error| (error.field, error.code)).collect()
    }

    #[test]
    fn a_patch_sets_named_fields_removes_emptied_ones_and_keeps_the_others() {
        let before = fields(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let patch = merge(&[("a", Some("9")), ("b", None), ("c", Some(" ")), ("d", Some("4"))]);
        assert_eq!(patch.apply(before.clone()), fields(&[("a", "9"), ("d", "4")]));
        assert_eq!(CustomPatch::Keep.apply(before.clone()), before);
        assert_eq!(CustomPatch::Clear.apply(before), fields(&[]));
    }

    #[test]
    fn names_counts_and_values_have_limits() {
        let one = |name: &str, value: &str| -> CustomInput {
            CustomInput::from([(name.to_owned(), Some(text(value)))])
        };
        assert_eq!(codes(&one(&format!("a{}", "9".repeat(39)), &"é".repeat(500))), []);
        for name in ["", "A", "1a", "a b", &format!("a{}", "9".repeat(40))] {
            assert_eq!(codes(&one(name, "x")), [("custom".to_owned(), "invalid_format")]);
        }
        let long = one("a", &"é".repeat(501));
        assert_eq!(codes(&long), [("custom.a".to_owned(), "too_long")]);
        assert_eq!(codes(&one("a", "\0")), [("custom.a".to_owned(), "invalid_character")]);
        let many = |count: usize| -> CustomInput {
            (0..count).map(|n| (format!("f{n}"), Some(CustomValue::Boolean(true)))).collect()
        };
        assert_eq!(codes(&many(50)), []);
        assert_eq!(codes(&many(51)), [("custom".to_owned(), "too_many")]);
    }

    #[test]
    fn values_are_shown_as_given_and_parse_back() {
        for (json, shown) in
            [("\"x\"", "x"), ("5", "5"), ("1.5", "1.5"), ("true", "true"), ("false", "false")]
        {
            let value: CustomValue = serde_json::from_str(json).unwrap();
            assert_eq!(value.text(), shown);
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
        }
        assert!(serde_json::from_str::<CustomValue>("[1]").is_err());
        assert_eq!(format!("{:?}", text("x")), "CustomValue(…)");
    }

    #[test]
    fn an_account_uses_at_most_1000_names_and_a_name_is_free_once_nobody_uses_it() {
        let some =
            |names: &[&str]| fields(&names.iter().map(|name| (*name, "x")).collect::<Vec<_>>());
        let full = || {
            let others = (0..MAX_NAMES - 2).map(|n| (format!("f{n}"), 1));
            NamesInUse::new(others.chain([("once".to_owned(), 1), ("twice".to_owned(), 2)]))
        };
        for (before, after, fits) in [
            (&[][..], &["once", "twice", "f7"][..], true),
            (&[], &["new"], false),
            (&["once"], &["once", "new"], false),
            (&["once"], &["new"], true),
            (&["once"], &["new", "newer"], false),
            (&["once", "f1"], &["new", "newer"], true),
            (&["twice"], &["new"], false),
            (&["twice"], &[], true),
        ] {
            let (before, after) = (some(before), some(after));
            let counted = full().count(&before, &after).map_err(|error| error.field);
            let expected = if fits { Ok(()) } else { Err("custom".to_owned()) };
            assert_eq!(counted, expected, "{:?} {:?}", before.keys(), after.keys());
        }
        let mut names = full();
        assert!(names.count(&some(&["once"]), &some(&[])).is_ok());
        assert!(names.count(&some(&[]), &some(&["new"])).is_ok(), "a name was freed");
        assert!(names.count(&some(&[]), &some(&["newer"])).is_err());
        let over = || NamesInUse::new((0..MAX_NAMES + 5).map(|n| (format!("f{n}"), 1)));
        assert!(over().count(&some(&["f1"]), &some(&["f2"])).is_ok(), "nothing is added");
        assert!(over().count(&some(&["f1"]), &some(&["new"])).is_err());
    }

    fn any_fields() -> impl Strategy<Value = CustomFields> {
        let name = prop::sample::select(vec!["a", "b", "c", "d"]);
        prop::collection::btree_map(name.prop_map(str::to_owned), Just(text("x")), 0..4)
    }

    proptest! {
        #[test]
        fn counted_changes_add_up_to_the_names_in_use(
            steps in prop::collection::vec(any_fields(), 1..6),
        ) {
            let mut total = BTreeMap::<String, i64>::new();
            let mut before = CustomFields::new();
            for after in steps {
                let mut uses = FieldUses::default();
                uses.count(&before, &after);
                for (name, by) in uses.changes() {
                    prop_assert_ne!(by, 0);
                    *total.entry(name.to_owned()).or_default() += by;
                }
                total.retain(|_, uses| *uses != 0);
                prop_assert!(total.keys().eq(after.keys()));
                before = after;
            }
        }
    }
}
