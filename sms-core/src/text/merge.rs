//! Merge fields such as `{first_name}`, filled for each recipient.
//!
//! A body is parsed once into a [`Template`] and rendered for many recipients, each time only as
//! far as a limit. A body without fields is borrowed, not copied. The caller supplies values as
//! text and knows which custom names the account uses; [`custom_names`] lists the names to look up.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::phone::E164;

/// The values that one recipient has for merge fields. `None` and an empty value render as nothing.
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
/// ```
/// use sms_core::text::{NumberOnly, Template};
///
/// let template = Template::parse("Hi {first_name}, {phone} has {points} {pints}", |name| {
///     name == "points"
/// });
/// let recipient = NumberOnly("+447700900123".parse()?);
/// assert_eq!(template.render(&recipient, 1_600)?, "Hi , +447700900123 has  {pints}");
/// assert!(template.render(&recipient, 20).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    body: String,
    fields: Vec<Field>,
}

impl Template {
    /// Finds the fields of a body. `is_custom` says whether any contact of the account has a custom
    /// field of this name; it is not asked about built-in names.
    pub fn parse(body: &str, is_custom: impl Fn(&str) -> bool) -> Self {
        let fields = Names::of(body)
            .filter_map(|(place, name)| {
                let value = match built_in(name) {
                    Some(value) => value,
                    None if is_custom(name) => Value::Custom,
                    None => return None,
                };
                Some(Field { place, value })
            })
            .collect();
        Self { body: body.to_owned(), fields }
    }

    /// The body as typed.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Whether the text may differ between recipients. If not, render and measure it once.
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty()
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
    let names = Names::of(body).map(|(_, name)| name);
    names.filter(|name| built_in(name).is_none() && seen.insert(*name)).collect()
}

/// Every name in braces, built-in or not, as often as it occurs.
pub fn field_names(body: &str) -> impl Iterator<Item = &str> {
    Names::of(body).map(|(_, name)| name)
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

/// A merge field and its byte range, braces included.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    place: Range<usize>,
    value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    FirstName,
    LastName,
    FullName,
    Phone,
    Email,
    Custom,
}

impl Field {
    fn fill(
        &self,
        body: &str,
        recipient: &(impl MergeFields + ?Sized),
        text: &mut Bounded,
    ) -> Result<(), TooManyCharacters> {
        match self.value {
            Value::FirstName => text.push(recipient.first_name().unwrap_or_default()),
            Value::LastName => text.push(recipient.last_name().unwrap_or_default()),
            Value::Email => text.push(recipient.email().unwrap_or_default()),
            Value::Phone => text.push(&recipient.phone().to_string()),
            Value::FullName => {
                let first = recipient.first_name().unwrap_or_default();
                let last = recipient.last_name().unwrap_or_default();
                text.push(format!("{first} {last}").trim())
            }
            Value::Custom => {
                let name = &body[self.place.start + 1..self.place.end - 1];
                text.push(&recipient.custom(name).unwrap_or_default())
            }
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

/// Iterates over every well-formed name in braces, with its byte range.
struct Names<'a> {
    body: &'a str,
    at: usize,
}

impl<'a> Names<'a> {
    fn of(body: &'a str) -> Self {
        Self { body, at: 0 }
    }
}

impl<'a> Iterator for Names<'a> {
    type Item = (Range<usize>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(found) = self.body[self.at..].find('{') {
            let open = self.at + found;
            let inside = &self.body[open + 1..];
            let length = name_length(inside.as_bytes());
            // After a brace that opens no field, another may open one: `{{phone}`.
            self.at = open + 1 + length;
            if length > 0 && inside.as_bytes().get(length) == Some(&b'}') {
                self.at += 1;
                return Some((open..self.at, &inside[..length]));
            }
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
