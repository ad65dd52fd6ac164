//! Merge fields that a message cannot show: named while it is written, and confirmed before it is
//! sent.

use maud::{Markup, html};
use sms_core::sending::{BlankField, FieldGaps};

use super::field::Field;
use super::notice::{Notice, notice};
use crate::form::Form;
use crate::format::{counted_as, whole};

/// The box to tick to send a message with these gaps.
const AGREED: &str = "fields_agreed";

/// How many fields are named.
const MOST: usize = 8;

/// The gaps in a sentence each; nothing if there are none.
pub fn gaps(gaps: &FieldGaps) -> Markup {
    let FieldGaps { unknown, blank } = gaps;
    html! {
        @for name in unknown.iter().take(MOST) {
            p.gap { "No contact has a field " code { "{" (name) "}" } "." }
        }
        @for BlankField { field, recipients } in blank.iter().take(MOST) {
            p.gap {
                (people(*recipients)) " no value for " code { "{" (field) "}" } "."
            }
        }
        @let more = unknown.len().saturating_sub(MOST) + blank.len().saturating_sub(MOST);
        @if more > 0 { p.gap { "So it is with " (whole(more as u64)) " more." } }
        @if let Some(BlankField { field, .. }) = blank.first() {
            p.faint {
                "Write " code { "{" (field) "|there}" } " to say “there” to people without a value."
            }
        }
    }
}

/// The gaps on a page that asks before a message goes, with the box to tick; nothing if there are
/// none.
pub fn agreement(shown: &FieldGaps) -> Markup {
    if shown.is_empty() {
        return html! {};
    }
    notice(Notice::Warn, &html! { (gaps(shown)) (box_to_tick(shown)) })
}

/// The box alone; nothing if there are no gaps.
pub fn box_to_tick(shown: &FieldGaps) -> Markup {
    if shown.is_empty() {
        return html! {};
    }
    html! { (Field::check(AGREED, "Send it like this").value(named(shown)).required()) }
}

/// Whether a form agrees to these gaps, or there are none. Those of another text are no agreement.
pub fn is_agreed(form: &Form, shown: &FieldGaps) -> bool {
    shown.is_empty() || form.text(AGREED) == named(shown)
}

/// What the page says if the box was not ticked.
pub const NOT_AGREED: &str =
    "Nothing was sent: some fields cannot be filled in. Change the text, or agree below.";

/// The gaps, as the box sends them.
fn named(gaps: &FieldGaps) -> String {
    let FieldGaps { unknown, blank } = gaps;
    let blank = blank.iter().map(|one| format!("{} {}", one.field, one.recipients));
    let all: Vec<String> = unknown.iter().cloned().chain(blank).collect();
    all.join(", ")
}

fn people(count: u64) -> String {
    let have = if count == 1 { "has" } else { "have" };
    format!("{} {have}", counted_as(count, "person", "people"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> FieldGaps {
        let blank = |field: &str, recipients| BlankField { field: field.to_owned(), recipients };
        FieldGaps {
            unknown: vec!["nosuch".to_owned()],
            blank: vec![blank("first_name", 1), blank("town", 1_200)],
        }
    }

    #[test]
    fn each_gap_is_named_with_the_people_that_it_concerns() {
        let shown = gaps(&some()).into_string();
        for words in [
            "No contact has a field <code>{nosuch}</code>.",
            "1 person has no value for <code>{first_name}</code>.",
            "1,200 people have no value for <code>{town}</code>.",
            "<code>{first_name|there}</code>",
        ] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert_eq!(gaps(&FieldGaps::default()).into_string(), "");
        assert_eq!(agreement(&FieldGaps::default()).into_string(), "");
    }

    #[test]
    fn only_the_gaps_that_were_shown_are_agreed_to() {
        let form = |body: &str| Form::read(body.as_bytes()).unwrap();
        let agreed = form("fields_agreed=nosuch%2C+first_name+1%2C+town+1200");
        assert!(is_agreed(&agreed, &some()));
        assert!(!is_agreed(&form(""), &some()));
        let more = FieldGaps { unknown: vec!["nosuch".to_owned(), "other".to_owned()], ..some() };
        assert!(!is_agreed(&agreed, &more), "another field is missing since");
        assert!(is_agreed(&form(""), &FieldGaps::default()));
    }
}
