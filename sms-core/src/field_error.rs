//! A field that breaks a rule, as a caller sees it.

use std::ops::RangeInclusive;

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FieldError {
    /// Which field, as a path such as `rows[3].phone`.
    pub field: String,
    /// The rule broken, from a closed list.
    pub code: &'static str,
    /// What to do about it, for people.
    pub message: String,
}

impl FieldError {
    /// An error of this field.
    pub fn new(
        field: impl Into<String>,
        code: impl Into<&'static str>,
        message: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), code: code.into(), message: message.into() }
    }

    /// What is wrong with a text that is to be stored and whose number of characters is bounded.
    pub fn of_text(field: &str, text: &str, characters: RangeInclusive<usize>) -> Option<Self> {
        let (least, most, length) = (characters.start(), characters.end(), text.chars().count());
        if text.contains('\0') {
            let message = format!("{field} must not contain the character U+0000");
            return Some(Self::new(field, "invalid_character", message));
        }
        if length < *least {
            let message = format!("{field} must have at least {least} characters");
            return Some(Self::new(field, "too_short", message));
        }
        (length > *most).then(|| {
            Self::new(field, "too_long", format!("{field} must have at most {most} characters"))
        })
    }
}
