//! Merge fields such as `{first_name}`, filled for each recipient.
//!
//! A body is parsed once into a [`Template`] and rendered for many recipients, each time only as
//! far as a limit. A body without fields is borrowed, not copied. The caller supplies values as
//! text and knows which custom names the account uses; [`custom_names`] lists the names to look up.
//! `{first_name|there}` has a fallback, which stands where the recipient has no value.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use super::blank::is_blank;
use super::full_name::full_name;
use crate::phone::E164;

/// The values that one recipient has for merge fields. `None` and an empty value render as nothing,
/// or as the fallback of the field.
pub trait MergeFields {
    /// The value of `{first_name}`.
    fn first_name(&self) -> Option<&str>;
    /// The value of `{last_name}`.
    fn last_name(&self) -> Option<&str>;
    /// The value of `{email}`.
    fn email(&self) -> Option<&str>;
    /// The value of `{phone}`, which renders in E.164.
    fn phone(&self) -> E164;
    /// The value of a custom field as text. Numbers and booleans are formatted already. `None` if
    /// the recipient has no value under this name.
    fn custom(&self, name: &str) -> Option<Cow<'_, str>>;
}

/// A recipient who is not a saved contact: a number, and no other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberOnly(pub E164);

impl MergeFields for NumberOnly {
    fn first_name(&self) -> Option<&str> {
        None
    }

    fn last_name(&self) -> Option<&str> {
        None
    }

    fn email(&self) -> Option<&str> {
        None
    }

    fn phone(&self) -> E164 {
        self.0
    }

    fn custom(&self, _name: &str) -> Option<Cow<'_, str>> {
        None
    }
}

/// A body whose merge fields are found.
///
/// A field is a name in braces: the built-in `first_name`, `last_name`, `full_name`, `phone` and
/// `email`, or a custom name of the account. A built-in field hides a custom field of the same
/// name. Any other `{word}` stays as typed, as do braces that hold spaces or capitals. Values are
/// inserted as they are; a value that looks like a field is not filled again.
///
/// After a name, `|` begins a fallback. It ends at the closing brace, and is text: it may be empty
/// and may hold anything but braces and line ends. It stands in place of a value that is missing or
/// blank, and in place of a name that no contact has.
///
/// ```
/// use sms_core::text::{NumberOnly, Template};
///
/// let template = Template::parse("Hi {first_name|there}, {phone} has {points} {pints}", |name| {
///     name == "points"
/// });
/// let recipient = NumberOnly("+447700900123".parse()?);
/// assert_eq!(template.render(&recipient, 1_600)?, "Hi there, +447700900123 has  {pints}");
/// assert!(template.render(&recipient, 20).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    body: String,
    fields: Vec<Field>,
    /// The places in `fields` of those that may leave a gap.
    bare: Vec<usize>,
}

impl Template {
    /// Finds the fields of a body. `is_custom` says whether any contact of the account has a custom
    /// field of this name; it is not asked about built-in names.
    pub fn parse(body: &str, is_custom: impl Fn(&str) -> bool) -> Self {
        let value = |name: &str, fallback: Option<&Range<usize>>| match built_in(name) {
            Some(value) => Some(value),
            None if is_custom(name) => Some(Value::Custom),
            // Its fallback says what to do without a value.
            None => fallback.map(|_| Value::Unknown),
        };
        let fields: Vec<Field> = Names::of(body)
            .filter_map(|Found { place, name, fallback }| {
                let value = value(&body[name.clone()], fallback.as_ref())?;
                Some(Field { place, name, value, fallback })
            })
            .collect();
        let mut seen = BTreeSet::new();
        let mut leaves_gaps = |field: &Field| {
            let may_be_blank = field.value != Value::Phone && field.fallback.is_none();
            may_be_blank && seen.insert(&body[field.name.clone()])
        };
        let bare = (0..fields.len()).filter(|place| leaves_gaps(&fields[*place])).collect();
        Self { body: body.to_owned(), fields, bare }
    }

    /// The body as typed.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Whether the text may differ between recipients. If not, render and measure it once.
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The names of the fields that leave a gap for a recipient without a value, because they have
    /// no fallback: each once, in order of appearance.
    pub fn bare_fields(&self) -> impl Iterator<Item = &str> {
        self.bare.iter().map(|place| &self.body[self.fields[*place].name.clone()])
    }

    /// For each of the [`bare_fields`](Self::bare_fields), whether this recipient has no value.
    pub fn blanks(&self, recipient: &(impl MergeFields + ?Sized)) -> impl Iterator<Item = bool> {
        let fields = self.bare.iter().map(|place| &self.fields[*place]);
        fields.map(|field| is_blank(&field.value_of(&self.body, recipient)))
    }

    /// How many characters the text may have for a recipient with the longest values.
    pub fn most_characters(&self) -> usize {
        let longest = |field: &Field| match field.value {
            Value::Custom => LONGEST_CUSTOM,
            _ => LONGEST_BUILT_IN,
        };
        self.body.len() + self.fields.iter().map(longest).sum::<usize>()
    }

    /// The text for one recipient, borrowed from the template if there are no fields to fill.
    ///
    /// # Errors
    ///
    /// [`TooManyCharacters`] as soon as the text has more than `most` characters. The rest is not
    /// rendered, and no more than `most` characters are ever held.
    pub fn render(
        &self,
        recipient: &(impl MergeFields + ?Sized),
        most: usize,
    ) -> Result<Cow<'_, str>, TooManyCharacters> {
        let mut text = Bounded { text: String::new(), room: most };
        if self.fields.is_empty() {
            text.take(&self.body)?;
            return Ok(Cow::Borrowed(&self.body));
        }
        let typical = self.body.len() + TYPICAL_VALUE * self.fields.len();
        text.text.reserve(typical.min(most));
        let mut copied = 0;
        for field in &self.fields {
            text.push(&self.body[copied..field.place.start])?;
            field.fill(&self.body, recipient, &mut text)?;
            copied = field.place.end;
        }
        text.push(&self.body[copied..])?;
        Ok(Cow::Owned(text.text))
    }
}

/// The text has more characters than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the text has too many characters")]
pub struct TooManyCharacters;

/// A text that takes only as many characters as there is room for.
struct Bounded {
    text: String,
    room: usize,
}

impl Bounded {
    fn push(&mut self, piece: &str) -> Result<(), TooManyCharacters> {
        self.take(piece)?;
        self.text.push_str(piece);
        Ok(())
    }

    /// Takes the room of a piece.
    fn take(&mut self, piece: &str) -> Result<(), TooManyCharacters> {
        let length = piece.chars().count();
        self.room = self.room.checked_sub(length).ok_or(TooManyCharacters)?;
        Ok(())
    }
}

/// The names in braces that are not built in, each once, in order of appearance. For these the
/// custom fields of an account matter.
///
/// ```
/// use sms_core::text::custom_names;
///
/// assert_eq!(custom_names("{first_name}: {points} of {total}, {points}"), ["points", "total"]);
/// ```
pub fn custom_names(body: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    field_names(body).filter(|name| built_in(name).is_none() && seen.insert(*name)).collect()
}

/// Every name in braces, built-in or not, as often as it occurs.
pub fn field_names(body: &str) -> impl Iterator<Item = &str> {
    Names::of(body).map(|found| &body[found.name])
}

/// Whether a custom field may have this name: `[a-z][a-z0-9_]{0,39}`. A built-in name is allowed,
/// but its merge field shows the built-in value.
pub fn is_custom_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    name_length(bytes) == bytes.len() && !bytes.is_empty()
}

/// Bytes reserved for a value; names and numbers are rarely longer.
const TYPICAL_VALUE: usize = 16;

/// The maximum length of the value of a custom field, in characters.
pub const LONGEST_CUSTOM: usize = 500;

/// The maximum length of the value of a built-in field, in characters: that of an email address.
const LONGEST_BUILT_IN: usize = 254;

/// The maximum length of a name, in characters.
const LONGEST_NAME: usize = 40;

/// A merge field in a body, found by the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    /// Its byte range, braces included.
    place: Range<usize>,
    /// That of its name.
    name: Range<usize>,
    value: Value,
    /// That of its fallback.
    fallback: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    FirstName,
    LastName,
    FullName,
    Phone,
    Email,
    Custom,
    /// No contact of the account has a field of this name: the fallback stands for all.
    Unknown,
}

impl Field {
    fn fill(
        &self,
        body: &str,
        recipient: &(impl MergeFields + ?Sized),
        text: &mut Bounded,
    ) -> Result<(), TooManyCharacters> {
        let value = self.value_of(body, recipient);
        match &self.fallback {
            Some(fallback) if is_blank(&value) => text.push(&body[fallback.clone()]),
            _ => text.push(&value),
        }
    }

    fn value_of<'a>(&self, body: &str, recipient: &'a (impl MergeFields + ?Sized)) -> Cow<'a, str> {
        let known = |value: Option<&'a str>| Cow::Borrowed(value.unwrap_or_default());
        match self.value {
            Value::FirstName => known(recipient.first_name()),
            Value::LastName => known(recipient.last_name()),
            Value::Email => known(recipient.email()),
            Value::Phone => Cow::Owned(recipient.phone().to_string()),
            Value::FullName => {
                let name = full_name(recipient.first_name(), recipient.last_name());
                Cow::Owned(name.unwrap_or_default())
            }
            Value::Custom => recipient.custom(&body[self.name.clone()]).unwrap_or_default(),
            Value::Unknown => Cow::Borrowed(""),
        }
    }
}

fn built_in(name: &str) -> Option<Value> {
    match name {
        "first_name" => Some(Value::FirstName),
        "last_name" => Some(Value::LastName),
        "full_name" => Some(Value::FullName),
        "phone" => Some(Value::Phone),
        "email" => Some(Value::Email),
        _ => None,
    }
}

/// A name in braces, as byte ranges.
struct Found {
    /// The byte range of the braces and all between them.
    place: Range<usize>,
    name: Range<usize>,
    fallback: Option<Range<usize>>,
}

/// Iterates over every well-formed name in braces.
struct Names<'a> {
    body: &'a str,
    at: usize,
}

impl<'a> Names<'a> {
    fn of(body: &'a str) -> Self {
        Self { body, at: 0 }
    }
}

impl Iterator for Names<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        while let Some(found) = self.body[self.at..].find('{') {
            let open = self.at + found;
            let length = name_length(&self.body.as_bytes()[open + 1..]);
            let name = open + 1..open + 1 + length;
            // After a brace that opens no field, another may open one: `{{phone}`.
            self.at = name.end;
            if length == 0 {
                continue;
            }
            let (fallback, end) = match self.body.as_bytes().get(name.end) {
                Some(b'}') => (None, name.end),
                Some(b'|') => {
                    let begin = name.end + 1;
                    let end = self.body[begin..].find(['{', '}', '\n', '\r']);
                    let end = end.map(|end| begin + end);
                    match end.filter(|end| self.body.as_bytes()[*end] == b'}') {
                        Some(end) => (Some(begin..end), end),
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.at = end + 1;
            return Some(Found { place: open..self.at, name, fallback });
        }
        None
    }
}

/// How many of the first bytes could be a name; 0 if none could.
fn name_length(bytes: &[u8]) -> usize {
    if !bytes.first().is_some_and(u8::is_ascii_lowercase) {
        return 0;
    }
    bytes
        .iter()
        .take(LONGEST_NAME)
        .take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
        .count()
}

#[cfg(test)]
mod tests;
