//! What a form sends, and what the service says is wrong with it.

use bytes::Bytes;
use form_urlencoded::parse;
use sms_core::Error;

pub use crate::multipart::SentFile;
use crate::multipart::{self, MOST_FIELDS, Parts};

/// The fields of a form, in their order.
///
/// Handlers of places get one only if it brought the token of their session.
#[derive(Clone, Default)]
pub struct Form {
    fields: Vec<(String, String)>,
    files: Vec<(String, SentFile)>,
}

/// Whether a box was ticked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The box was in the form, so it was ticked.
    Yes,
    /// The box was not in the form: browsers leave out those that are not ticked.
    No,
}

/// What is wrong with which field, in words for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldTroubles(Vec<(String, String)>);

impl Form {
    /// Reads the body of a form; `None` if it is no text, or has more than 10,000 fields.
    pub fn read(body: &[u8]) -> Option<Self> {
        std::str::from_utf8(body).ok()?;
        let fields: Vec<_> = parse(body).into_owned().take(MOST_FIELDS + 1).collect();
        (fields.len() <= MOST_FIELDS).then_some(Self { fields, files: Vec::new() })
    }

    /// Reads the body of a form that may bring files; `None` if it cannot be read.
    pub(crate) async fn of(body: &Bytes) -> Option<Self> {
        if !multipart::is_multipart(body) {
            return Self::read(body);
        }
        let Parts { fields, files } = multipart::parts_of(body).await?;
        Some(Self { fields, files })
    }

    /// A form with these fields.
    pub(crate) fn of_fields(fields: Vec<(String, String)>) -> Self {
        Self { fields, files: Vec::new() }
    }

    /// The file that a field brought; `None` if none was chosen.
    pub fn file(&self, name: &str) -> Option<&SentFile> {
        let mut files = self.files.iter();
        files.find(|(own, file)| own == name && !file.name.is_empty()).map(|(_, file)| file)
    }

    /// The text of a field, trimmed, with the line ends of texts; empty if it was not sent.
    pub fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The text of a field as it was typed, such as one in which spaces count.
    pub fn raw(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        fields.find(|(own, _)| own == name).map(|(_, value)| &**value).unwrap_or_default()
    }

    /// The text of a text box as it was typed: browsers send CR and LF for each line end, and
    /// people type one character.
    pub fn body(&self, name: &str) -> String {
        self.raw(name).replace("\r\n", "\n")
    }

    /// The text of a field, trimmed; `None` if it is missing or empty.
    pub fn optional(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// All values that a field has, trimmed, without those that are empty.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let own = self.fields.iter().filter(|(own, _)| own == name);
        own.map(|(_, value)| value.trim()).filter(|value| !value.is_empty()).collect()
    }

    /// Whether a box was ticked.
    pub fn checked(&self, name: &str) -> Choice {
        if self.fields.iter().any(|(own, _)| own == name) { Choice::Yes } else { Choice::No }
    }

    /// The fields whose names begin with `prefix`, with the rest of their names.
    pub fn beginning_with<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let own = self.fields.iter();
        own.filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.trim())))
    }
}

/// Shows the names, never what was typed.
impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.fields.iter().map(|(name, _)| name)).finish()
    }
}

impl Choice {
    /// Whether it is yes.
    pub fn is_yes(self) -> bool {
        self == Self::Yes
    }
}

impl FieldTroubles {
    /// No field is wrong: the form is shown for the first time.
    pub fn none() -> Self {
        Self::default()
    }

    /// What an error says of fields. Other errors say nothing of them.
    pub fn of(error: &Error) -> Self {
        let Error::Invalid(fields) = error else { return Self::default() };
        let words = fields.iter().map(|one| (one.field.clone(), sentence(&one.message)));
        Self(words.collect())
    }

    /// Adds what is wrong with a field.
    #[must_use]
    pub fn with(mut self, field: &str, words: impl Into<String>) -> Self {
        self.0.push((field.to_owned(), words.into()));
        self
    }

    /// What is wrong with this field, or with a part of it such as `fields.town`.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| is_part(field, own)).map(|(_, words)| &**words)
    }

    /// What is wrong with fields that are none of these, such as those the form does not show.
    pub fn besides<'a>(&'a self, shown: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let others = self.0.iter().filter(|(own, _)| !shown.iter().any(|it| is_part(it, own)));
        others.map(|(field, words)| (&**field, &**words))
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What people call a field of the service.
pub fn label_of(field: &str) -> String {
    let name = field.strip_prefix("settings.").unwrap_or(field);
    let name = name.split(['.', '[']).next().unwrap_or_default();
    let words = match name {
        "to" | "phones" => "Numbers",
        "contact_ids" => "Contacts",
        "list_id" | "add_to_list_id" => "List",
        "body" => "Message",
        "schedule_at" => "Send at",
        "template_id" => "Template",
        "append_opt_out" => "Opt-out line",
        "sender" => "Send from",
        "url" => "Address",
        "phone" | "phone_number" => "Number",
        "custom" => "Custom fields",
        "description" => "About",
        "enabled" => "On or off",
        "quiet_hours_start" => "Quiet hours begin",
        "quiet_hours_end" => "Quiet hours end",
        "ignore_quiet_hours" => "Send during quiet hours",
        other => return sentence(&other.replace('_', " ")).trim_end_matches('.').to_owned(),
    };
    words.to_owned()
}

/// Whether a trouble with `path` is shown at `field`.
fn is_part(field: &str, path: &str) -> bool {
    path.strip_prefix(field)
        .is_some_and(|rest| matches!(rest.bytes().next(), None | Some(b'.' | b'[')))
}

/// The message of an error as a sentence.
pub fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let mut text: String =
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_what_was_typed_without_the_space_around_it() {
        let form =
            Form::read(b"to=+07700+900123+&to=&to=b&body=a%0D%0Ab&shorten=on&note=").unwrap();
        assert_eq!(form.text("to"), "07700 900123");
        assert_eq!(form.all("to"), ["07700 900123", "b"]);
        assert_eq!(form.body("body"), "a\nb");
        assert_eq!((form.optional("note"), form.optional("none")), (None, None));
        assert_eq!((form.checked("shorten"), form.checked("none")), (Choice::Yes, Choice::No));
        assert!(Form::read(b"\xff").is_none());
    }

    #[test]
    fn fields_have_the_names_that_people_see() {
        for (field, words) in [
            ("schedule_at", "Send at"),
            ("custom.town", "Custom fields"),
            ("contact_ids[3]", "Contacts"),
            ("client_ref", "Client ref"),
        ] {
            assert_eq!(label_of(field), words);
        }
    }

    #[test]
    fn the_words_of_an_error_belong_to_its_field() {
        let error =
            Error::invalid("fields.town", "too_long", "town must have at most 5 characters");
        let troubles = FieldTroubles::of(&error);
        assert_eq!(troubles.get("fields"), Some("Town must have at most 5 characters."));
        assert_eq!(troubles.get("field"), None);
        assert_eq!(troubles.besides(&["name"]).count(), 1);
        assert_eq!(troubles.besides(&["fields"]).count(), 0);
        assert!(FieldTroubles::of(&Error::Busy).is_empty());
    }

    const BODY: &str = "--x1\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nabc\r\n\
                        --x1\r\nContent-Disposition: form-data; name=\"file\"; \
                        filename=\"people.csv\"\r\nContent-Type: text/csv\r\n\r\n\
                        a,b\r\n1,2\r\n\r\n--x1\r\nContent-Disposition: form-data; \
                        name=\"none\"; filename=\"\"\r\n\r\n\r\n--x1--\r\n";

    fn read_any(body: &str) -> Option<Form> {
        futures_util::FutureExt::now_or_never(Form::of(&Bytes::from(body.to_owned())))?
    }

    #[test]
    fn a_form_is_read_with_its_fields_and_files() {
        let form = read_any(BODY).unwrap();
        assert_eq!(form.text("csrf"), "abc");
        let file = SentFile { name: "people.csv".to_owned(), bytes: "a,b\r\n1,2\r\n".into() };
        assert_eq!(form.file("file"), Some(&file));
        assert_eq!((form.file("none"), form.file("other")), (None, None));
        assert_eq!(read_any("csrf=abc").unwrap().text("csrf"), "abc");
    }

    #[test]
    fn a_form_has_at_most_10_000_fields() {
        let of = |count| Form::read("a&".repeat(count).as_bytes());
        assert!(of(MOST_FIELDS).is_some() && of(MOST_FIELDS + 1).is_none());
        let part = "--x1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n";
        let of = |count| read_any(&format!("{}--x1--\r\n", part.repeat(count)));
        assert!(of(MOST_FIELDS).is_some() && of(MOST_FIELDS + 1).is_none());
    }

    #[test]
    fn an_incomplete_form_is_refused() {
        for body in ["--x1\r\n", "--x1", "--", &BODY[..BODY.len() - 30]] {
            assert!(read_any(body).is_none(), "{body:?}");
        }
    }
}
