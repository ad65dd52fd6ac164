//! Contacts as given in requests, and the rules for their fields.

use std::fmt;

use super::custom::{self, CustomInput, CustomPatch, CustomValue, MAX_FIELDS};
use super::saved::{Contact, Details};
use crate::field_error::FieldError;
use crate::phone::{E164, parse_uk_mobile};
use crate::setters::setters;
use crate::text::blank::is_blank;
use crate::time::Timestamp;
use crate::version::IfVersion;

/// The maximum length of a first or last name, in characters.
pub const MAX_NAME: usize = 100;
/// The maximum length of an email address, in characters.
pub const MAX_EMAIL: usize = 254;
/// The maximum length of notes, in characters.
pub const MAX_NOTES: usize = 2_000;

/// A contact as given in a request. A blank text counts as missing.
///
/// ```
/// use sms_core::contact::ContactInput;
///
/// let input = ContactInput::new("07700 900123");
/// let input = input.custom_field("table", "4").custom_field("seats", 2);
/// assert_eq!(input.custom.len(), 2);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContactInput {
    /// A UK mobile number in any common format.
    pub phone: String,
    /// The first name, at most 100 characters.
    pub first_name: Option<String>,
    /// The last name, at most 100 characters.
    pub last_name: Option<String>,
    /// The email address, at most 254 characters.
    pub email: Option<String>,
    /// Notes, at most 2,000 characters.
    pub notes: Option<String>,
    /// Fields that the account defines, at most 50.
    pub custom: CustomInput,
}

/// Shows no personal data.
impl fmt::Debug for ContactInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContactInput").finish_non_exhaustive()
    }
}

impl ContactInput {
    /// A contact with a number and no details.
    pub fn new(phone: impl Into<String>) -> Self {
        Self { phone: phone.into(), ..Self::default() }
    }

    /// The number and details, or every rule that the input breaks.
    pub fn checked(&self) -> Result<CheckedContact, Vec<FieldError>> {
        let Self { phone, first_name, last_name, email, notes, custom } = self;
        let mut errors = Vec::new();
        let number = check_phone(phone, &mut errors);
        check_texts([first_name, last_name, email, notes].map(Option::as_deref), &mut errors);
        errors.extend(custom::check(custom));
        match number {
            Some(phone) if errors.is_empty() => Ok(CheckedContact {
                phone,
                details: Details {
                    first_name: value_of(first_name.as_deref()),
                    last_name: value_of(last_name.as_deref()),
                    email: value_of(email.as_deref()),
                    notes: value_of(notes.as_deref()),
                    custom: custom::given(custom),
                },
            }),
            _ => Err(errors),
        }
    }
}

setters! { ContactInput {
    /// Sets the first name.
    first_name(name: impl Into<String>) = Some(name.into());
    /// Sets the last name.
    last_name(name: impl Into<String>) = Some(name.into());
    /// Sets the email address.
    email(address: impl Into<String>) = Some(address.into());
    /// Sets the notes, at most 2,000 characters.
    notes(notes: impl Into<String>) = Some(notes.into());
    /// Sets all custom fields.
    custom(fields: impl Into<CustomInput>) = fields.into();
} }

impl ContactInput {
    /// Adds a custom field.
    #[must_use]
    pub fn custom_field(mut self, name: impl Into<String>, value: impl Into<CustomValue>) -> Self {
        self.custom.insert(name.into(), Some(value.into()));
        self
    }
}

/// The number and the details of a [`ContactInput`] that breaks no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedContact {
    /// The number, read as a UK mobile.
    pub phone: E164,
    /// What is known about the person.
    pub details: Details,
}

/// A change of a contact as given in a request. `None` keeps a value; `Some(None)` and a blank text
/// clear it.
#[derive(Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContactPatch {
    /// A new UK mobile number, in any common format.
    pub phone: Option<String>,
    /// A new first name.
    pub first_name: Option<Option<String>>,
    /// A new last name.
    pub last_name: Option<Option<String>>,
    /// A new email address.
    pub email: Option<Option<String>>,
    /// New notes, at most 2,000 characters.
    pub notes: Option<Option<String>>,
    /// Changes of custom fields.
    pub custom: CustomPatch,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

/// Shows no personal data.
impl fmt::Debug for ContactPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContactPatch").finish_non_exhaustive()
    }
}

impl ContactPatch {
    /// The change, or every rule that the patch breaks regardless of the contact.
    pub fn checked(self) -> Result<ContactChange, Vec<FieldError>> {
        let Self { phone, first_name, last_name, email, notes, custom, if_version } = self;
        let mut errors = Vec::new();
        let phone = phone.and_then(|phone| check_phone(&phone, &mut errors));
        let texts = [&first_name, &last_name, &email, &notes];
        check_texts(texts.map(|text| text.as_ref().and_then(Option::as_deref)), &mut errors);
        if let CustomPatch::Merge(fields) = &custom {
            errors.extend(custom::check(fields));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let given = |text: Option<Option<String>>| text.map(|text| value_of(text.as_deref()));
        Ok(ContactChange {
            phone,
            first_name: given(first_name),
            last_name: given(last_name),
            email: given(email),
            notes: given(notes),
            custom,
            if_version,
        })
    }
}

setters! { ContactPatch {
    /// Replaces the number by another UK mobile, in any common format.
    phone(phone: impl Into<String>) = Some(phone.into());
    /// Replaces the first name; `None` removes it.
    first_name(name: Option<&str>) = Some(name.map(str::to_owned));
    /// Replaces the last name; `None` removes it.
    last_name(name: Option<&str>) = Some(name.map(str::to_owned));
    /// Replaces the email address; `None` removes it.
    email(address: Option<&str>) = Some(address.map(str::to_owned));
    /// Replaces the notes; `None` removes them.
    notes(notes: Option<&str>) = Some(notes.map(str::to_owned));
    /// Changes custom fields, in place of what was said of them before.
    custom(change: CustomPatch) = change;
    /// Makes the change on this version only.
    if_version(version: impl Into<IfVersion>) = version.into();
} }

impl ContactPatch {
    /// Sets this custom field and keeps the others; `None` removes it.
    ///
    /// ```
    /// use sms_core::contact::{ContactPatch, CustomValue};
    ///
    /// let moved = ContactPatch::default().custom_field("table", Some("7"));
    /// let left = ContactPatch::default().custom_field("table", None::<CustomValue>);
    /// assert_ne!(moved, left);
    /// ```
    #[must_use]
    pub fn custom_field(
        mut self,
        name: impl Into<String>,
        value: Option<impl Into<CustomValue>>,
    ) -> Self {
        let mut fields = match self.custom {
            CustomPatch::Merge(fields) => fields,
            CustomPatch::Keep | CustomPatch::Clear => CustomInput::new(),
        };
        fields.insert(name.into(), value.map(Into::into));
        self.custom = CustomPatch::Merge(fields);
        self
    }
}

/// A change of a contact whose fields are valid. `None` keeps a value; `Some(None)` clears it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ContactChange {
    /// A new UK mobile number.
    pub phone: Option<E164>,
    /// A new first name.
    pub first_name: Option<Option<String>>,
    /// A new last name.
    pub last_name: Option<Option<String>>,
    /// A new email address.
    pub email: Option<Option<String>>,
    /// New notes, at most 2,000 characters.
    pub notes: Option<Option<String>>,
    /// Changes of custom fields.
    pub custom: CustomPatch,
    /// The versions on which the change may be made.
    pub if_version: IfVersion,
}

/// Shows no personal data.
impl fmt::Debug for ContactChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContactChange").finish_non_exhaustive()
    }
}

impl ContactChange {
    /// The contact after the change. It does not update whether the number has opted out.
    ///
    /// # Errors
    ///
    /// The rule that the contact and the change break together.
    pub fn apply(&self, contact: &Contact, at: Timestamp) -> Result<Contact, Vec<FieldError>> {
        let Self { phone, first_name, last_name, email, notes, custom, if_version: _ } = self;
        let before = contact.details.clone();
        let custom = custom.apply(before.custom);
        if custom.len() > MAX_FIELDS {
            let message = format!("a contact may have at most {MAX_FIELDS} custom fields");
            return Err(vec![FieldError::new("custom", "too_many", message)]);
        }
        let details = Details {
            first_name: first_name.clone().unwrap_or(before.first_name),
            last_name: last_name.clone().unwrap_or(before.last_name),
            email: email.clone().unwrap_or(before.email),
            notes: notes.clone().unwrap_or(before.notes),
            custom,
        };
        let phone = phone.unwrap_or(contact.phone);
        Ok(Contact { phone, details, updated_at: at, ..contact.clone() })
    }
}

fn check_phone(text: &str, errors: &mut Vec<FieldError>) -> Option<E164> {
    let parsed = parse_uk_mobile(text);
    parsed
        .map_err(|refused| {
            errors.push(FieldError::new("phone", "invalid_format", refused.to_string()));
        })
        .ok()
}

/// Checks first name, last name, email and notes.
fn check_texts(texts: [Option<&str>; 4], errors: &mut Vec<FieldError>) {
    let rules = [
        ("first_name", MAX_NAME),
        ("last_name", MAX_NAME),
        ("email", MAX_EMAIL),
        ("notes", MAX_NOTES),
    ];
    for ((field, most), text) in rules.into_iter().zip(texts) {
        let Some(text) = text else { continue };
        if text.contains('\0') {
            let message = "the text must not contain the character U+0000";
            errors.push(FieldError::new(field, "invalid_character", message));
        } else if text.chars().count() > most {
            let message = format!("the text may have at most {most} characters");
            errors.push(FieldError::new(field, "too_long", message));
        } else if field == "email" && !is_blank(text) && !is_email(text) {
            let message = "not an email address, such as someone@example.com";
            errors.push(FieldError::new(field, "invalid_format", message));
        }
    }
}

/// Whether the form is right: a non-empty local part, one @ and a domain, without white space.
fn is_email(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(local, domain)| {
        !local.is_empty()
            && !domain.is_empty()
            && !domain.contains('@')
            && !domain.starts_with('.')
            && !domain.ends_with('.')
            && !text.chars().any(|c| c.is_whitespace() || c.is_control())
    })
}

fn value_of(text: Option<&str>) -> Option<String> {
    text.filter(|text| !is_blank(text)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::CustomValue;
    use crate::samples::{contact, mobile, person, seconds};

    fn good() -> ContactInput {
        ContactInput::new("07700 900123")
    }

    fn mistakes(input: &ContactInput) -> Vec<(String, &'static str)> {
        let errors = input.checked().err().unwrap_or_default();
        errors.into_iter().map(|error| (error.field, error.code)).collect()
    }

    #[test]
    fn blank_values_count_as_missing() {
        let input = ContactInput {
            first_name: Some(String::new()),
            last_name: Some(" \u{200b}\t".to_owned()),
            email: Some("  ".to_owned()),
            notes: Some("x".to_owned()),
            custom: [("a".to_owned(), Some(CustomValue::Text(" ".to_owned())))].into(),
            ..good()
        };
        let details = Details { notes: Some("x".to_owned()), ..Details::default() };
        assert_eq!(input.checked(), Ok(CheckedContact { phone: person(), details }));
    }

    #[test]
    fn every_error_of_a_contact_is_reported() {
        let input = ContactInput {
            phone: "020 7946 0123".to_owned(),
            first_name: Some("x".repeat(101)),
            last_name: Some("a\0b".to_owned()),
            email: Some("nobody".to_owned()),
            notes: Some("x".repeat(2_001)),
            custom: [("Bad".to_owned(), None)].into(),
        };
        let fields = ["phone", "first_name", "last_name", "email", "notes", "custom"];
        let named: Vec<String> = mistakes(&input).into_iter().map(|(field, _)| field).collect();
        assert_eq!(named, fields);
    }

    #[test]
    fn a_contact_is_accepted_at_each_limit_and_refused_one_past_it() {
        let address = |length: usize| format!("{}@example.com", "x".repeat(length - 12));
        for (length, most) in [(100, true), (101, false)] {
            let name = || Some("é".repeat(length));
            assert_eq!(mistakes(&ContactInput { first_name: name(), ..good() }).is_empty(), most);
            assert_eq!(mistakes(&ContactInput { last_name: name(), ..good() }).is_empty(), most);
        }
        for (length, most) in [(254, true), (255, false)] {
            let input = ContactInput { email: Some(address(length)), ..good() };
            assert_eq!(mistakes(&input).is_empty(), most);
        }
        for (length, most) in [(2_000, true), (2_001, false)] {
            let input = ContactInput { notes: Some("é".repeat(length)), ..good() };
            assert_eq!(mistakes(&input).is_empty(), most);
        }
    }

    #[test]
    fn an_email_is_checked_for_form_only() {
        for fine in ["a@b", "a.b+c@example.co.uk", "ü@exämple.com", "\"x\"@example.com"] {
            assert!(is_email(fine), "{fine}");
        }
        for wrong in ["a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c", "a@.b", "a@b.", "a@b\n"] {
            assert!(!is_email(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_patch_changes_named_fields_clears_emptied_ones_and_keeps_the_others() {
        let details = Details {
            first_name: Some("Ann".to_owned()),
            last_name: Some("Lee".to_owned()),
            email: Some("ann@example.com".to_owned()),
            notes: Some("regular".to_owned()),
            ..Details::default()
        };
        let before = Contact { details, ..contact() };
        let patch = ContactPatch {
            phone: Some("07700 900124".to_owned()),
            first_name: Some(Some("Anne".to_owned())),
            last_name: Some(None),
            email: Some(Some(" ".to_owned())),
            ..ContactPatch::default()
        };
        let after = patch.checked().unwrap().apply(&before, seconds(5)).unwrap();
        let details = Details {
            first_name: Some("Anne".to_owned()),
            notes: Some("regular".to_owned()),
            ..Details::default()
        };
        let expected =
            Contact { phone: mobile(124), details, updated_at: seconds(5), ..before.clone() };
        assert_eq!(after, expected);
        let nothing = ContactPatch::default().checked().unwrap().apply(&before, seconds(5));
        assert_eq!(nothing, Ok(Contact { updated_at: seconds(5), ..before }));
    }

    #[test]
    fn a_patch_is_checked_like_a_new_contact() {
        let patch = ContactPatch {
            phone: Some("x".to_owned()),
            email: Some(Some("x".to_owned())),
            notes: Some(Some("x".repeat(2_001))),
            custom: CustomPatch::Merge([("A".to_owned(), None)].into()),
            ..ContactPatch::default()
        };
        let errors = patch.checked().unwrap_err();
        let named: Vec<&str> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(named, ["phone", "email", "notes", "custom"]);
    }

    #[test]
    fn a_patch_may_not_give_a_contact_more_than_fifty_fields() {
        let fields = |range: std::ops::Range<u32>| -> CustomInput {
            range.map(|n| (format!("f{n}"), Some(CustomValue::Boolean(true)))).collect()
        };
        let patch = |range| {
            let custom = CustomPatch::Merge(fields(range));
            ContactPatch { custom, ..ContactPatch::default() }.checked().unwrap()
        };
        let full = patch(0..50).apply(&contact(), seconds(0)).unwrap();
        assert!(patch(0..50).apply(&full, seconds(0)).is_ok());
        assert_eq!(patch(50..51).apply(&full, seconds(0)).unwrap_err()[0].code, "too_many");
    }
}
