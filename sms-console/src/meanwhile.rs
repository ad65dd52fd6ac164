//! What others save while a person edits the same thing.
//!
//! A form that changes something carries the values that it showed at first. What the person did
//! not change stays as others have set it meanwhile. A field that both changed is never overwritten
//! unseen: the form is shown again and says what the field is now.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use sms_core::Error;
use sms_core::service::AccountHandle;
use sms_core::time::Timestamp;

use crate::form::{FieldTroubles, Form, label_of, sentence};
use crate::format::time;
use crate::part::notice::{Notice, notice};

/// The hidden field with what the form showed at first.
const WAS: &str = "was";

/// The form of something that several people may edit.
pub(crate) trait Edited: Sized {
    /// What it holds, as [`Edited::sent`] reads it.
    fn values(&self) -> Values;

    /// The values that a person sent with the form.
    fn sent(form: &Form) -> Self;
}

/// The texts of a form's fields by their names. Boxes that are not ticked are left out, as browsers
/// do. Each of several boxes with one name is a separate field: `events[message.sent]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Values(BTreeMap<String, String>);

/// A form that is shown: what it holds, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Shown<T> {
    pub(crate) form: T,
    /// What it showed at first.
    was: Option<Values>,
    pub(crate) problems: Markup,
    pub(crate) troubles: FieldTroubles,
}

impl<T: Edited> Shown<T> {
    /// The form of something as it is.
    pub(crate) fn first(form: T) -> Self {
        let was = Some(form.values());
        Self { form, was, problems: html! {}, troubles: FieldTroubles::none() }
    }

    /// The form as the person sent it, with what is wrong.
    pub(crate) fn again(
        form: T,
        sent: &Form,
        (problems, troubles): (Markup, FieldTroubles),
    ) -> Self {
        Self { form, was: Values::first_shown(sent), problems, troubles }
    }

    /// The form, with a note of what another person saved at `at`, and of the values `now`. If they
    /// send it again, they replace that.
    pub(crate) async fn clashing(
        Clashing { form, clashes }: Clashing<T>,
        now: &T,
        at: Timestamp,
        handle: Option<&AccountHandle>,
    ) -> Result<Self, Error> {
        let (problems, troubles) = told(handle, &clashes, at).await?;
        Ok(Self { form, was: Some(now.values()), problems, troubles })
    }

    /// The hidden field with what it showed at first.
    pub(crate) fn hidden(&self) -> Markup {
        self.was.as_ref().map(Values::hidden).unwrap_or_default()
    }
}

/// Fields that two people changed to different values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clashing<T> {
    /// The form with what the person changed in it, and otherwise as the other has set it.
    form: T,
    clashes: Vec<Clash>,
}

/// A field that two people changed, to different values.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Clash {
    field: String,
    /// What the other has set.
    now: String,
}

impl Values {
    /// Adds the text of a field.
    #[must_use]
    pub(crate) fn with(mut self, field: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.insert(field.into(), text.into());
        self
    }

    /// Adds a box, if it is ticked.
    #[must_use]
    pub(crate) fn ticked(self, field: &str, is_ticked: bool) -> Self {
        if is_ticked { self.with(field, "on") } else { self }
    }

    /// Adds a box of several, which is ticked.
    #[must_use]
    pub(crate) fn one_of(self, field: &str, chosen: &str) -> Self {
        self.with(format!("{field}[{chosen}]"), chosen)
    }

    /// What a form showed at first; `None` if it does not say.
    fn first_shown(form: &Form) -> Option<Self> {
        let was = form.raw(WAS);
        (!was.is_empty())
            .then(|| Self(form_urlencoded::parse(was.as_bytes()).into_owned().collect()))
    }

    /// The hidden field of a form that shows these values, or showed them at first.
    fn hidden(&self) -> Markup {
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(&self.0);
        html! { input type="hidden" name=(WAS) value=(pairs.finish()); }
    }

    fn get(&self, field: &str) -> &str {
        self.0.get(field).map(String::as_str).unwrap_or_default()
    }

    fn into_form(self) -> Form {
        // Only what `one_of` has added: people may type brackets into the name of a field.
        let name = |field: &str, text: &str| {
            let chosen = format!("[{text}]");
            field.strip_suffix(&chosen).unwrap_or(field).to_owned()
        };
        Form::of_fields(
            self.0.into_iter().map(|(field, text)| (name(&field, &text), text)).collect(),
        )
    }
}

/// What to save: what the person changed in the form, and what others have set meanwhile. A form
/// that does not say what it showed at first is saved as it is.
///
/// # Errors
///
/// The fields that both have changed.
pub(crate) fn joined<T: Edited>(sent: &Form, now: &T) -> Result<T, Clashing<T>> {
    let typed = T::sent(sent);
    let Some(was) = Values::first_shown(sent) else { return Ok(typed) };
    join(&was, &typed, now)
}

fn join<T: Edited>(was: &Values, typed: &T, now: &T) -> Result<T, Clashing<T>> {
    // As a browser sends it back: stored texts may have other line ends, or space around them.
    let sent_back = |shown: &Values| T::sent(&shown.clone().into_form()).values();
    let (was, typed, now) = (sent_back(was), typed.values(), sent_back(&now.values()));
    let fields: BTreeSet<&String> =
        was.0.keys().chain(typed.0.keys()).chain(now.0.keys()).collect();
    let (mut joined, mut clashes) = (Values::default(), Vec::new());
    for field in fields {
        let (before, own, theirs) = (was.get(field), typed.get(field), now.get(field));
        let saved = if own == before { &now } else { &typed };
        if own != before && theirs != before && theirs != own {
            clashes.push(Clash { field: field.clone(), now: theirs.to_owned() });
        }
        if let Some(text) = saved.0.get(field) {
            joined = joined.with(field, text);
        }
    }
    let form = T::sent(&joined.into_form());
    if clashes.is_empty() { Ok(form) } else { Err(Clashing { form, clashes }) }
}

/// What is said above a form whose fields another person has changed, and beside the fields. `at`
/// is when they saved.
async fn told(
    handle: Option<&AccountHandle>,
    clashes: &[Clash],
    at: Timestamp,
) -> Result<(Markup, FieldTroubles), Error> {
    let (mut lines, mut troubles) = (Vec::new(), FieldTroubles::none());
    for Clash { field, now } in clashes {
        let now = match handle {
            Some(handle) if field.ends_with("list_id") => list_name(handle, now).await?,
            _ => now.clone(),
        };
        let is_now = match &*now {
            "" => "now empty or off".to_owned(),
            "on" => "now on".to_owned(),
            text => format!("now “{text}”"),
        };
        lines.push(html! { li { (clashing_label(field)) " is " (is_now) } });
        troubles = troubles.with(field, sentence(&format!("it is {is_now}")));
    }
    let content = html! {
        p { "Somebody else saved this at " (time(at)) ". You both changed:" }
        ul { @for line in &lines { (line) } }
        p { "Nothing of yours is saved yet. Save again to replace what they set." }
    };
    Ok((html! { div.form-problems { (notice(Notice::Bad, &content)) } }, troubles))
}

fn clashing_label(field: &str) -> String {
    match field.strip_prefix("custom.") {
        Some(name) => name.to_owned(),
        None => label_of(field),
    }
}

async fn list_name(handle: &AccountHandle, id: &str) -> Result<String, Error> {
    let Ok(id) = id.parse() else { return Ok(String::new()) };
    match handle.list_get(id).await {
        Ok(list) => Ok(list.name),
        Err(Error::NotFound(_)) => Ok("a list that is gone".to_owned()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A form with a text, a box and several boxes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Two {
        text: String,
        is_on: bool,
        events: Vec<String>,
    }

    impl Edited for Two {
        fn values(&self) -> Values {
            let values = Values::default().with("text", &*self.text).ticked("on", self.is_on);
            self.events.iter().fold(values, |values, event| values.one_of("events", event))
        }

        fn sent(form: &Form) -> Self {
            let events = form.all("events").into_iter().map(str::to_owned).collect();
            Self { text: form.text("text").to_owned(), is_on: form.checked("on").is_yes(), events }
        }
    }

    fn two(text: &str, is_on: bool, events: &[&str]) -> Two {
        let events = events.iter().map(|&event| event.to_owned()).collect();
        Two { text: text.to_owned(), is_on, events }
    }

    #[test]
    fn what_one_did_not_touch_stays_as_the_other_set_it() {
        let was = two("a", false, &["x", "y"]);
        let cases = [
            // Typed, there now, and what is saved.
            (two("b", false, &["x", "y"]), two("a", true, &["y"]), two("b", true, &["y"])),
            (two("", false, &["x", "y"]), was.clone(), two("", false, &["x", "y"])),
            (was.clone(), two("", true, &[]), two("", true, &[])),
            (two("b", true, &["z"]), two("b", true, &["z"]), two("b", true, &["z"])),
            (
                two("a", false, &["x", "y", "z"]),
                two("c", false, &["x"]),
                two("c", false, &["x", "z"]),
            ),
        ];
        for (typed, now, saved) in cases {
            let shown = format!("{typed:?} over {now:?}");
            assert_eq!(join(&was.values(), &typed, &now), Ok(saved), "{shown}");
        }
    }

    #[test]
    fn space_that_a_form_does_not_send_back_is_no_change() {
        let (was, typed) = (two(" a ", false, &[]), two("a", true, &[]));
        let now = two("b", false, &[]);
        assert_eq!(join(&was.values(), &typed, &now), Ok(two("b", true, &[])));
        assert_eq!(join(&was.values(), &typed, &was), Ok(two("a", true, &[])));
    }

    #[test]
    fn brackets_in_the_name_of_a_field_are_part_of_it() {
        let form = Values::default()
            .with("custom.table", "4")
            .with("custom.table[1]", "5")
            .one_of("events", "message.sent")
            .into_form();
        assert_eq!((form.text("custom.table"), form.text("custom.table[1]")), ("4", "5"));
        assert_eq!(form.all("events"), ["message.sent"]);
    }

    #[test]
    fn a_field_that_both_changed_differently_is_not_saved() {
        let was = two("a", false, &["x"]).values();
        let clash = |form: Two, now: &str| {
            let clashes = vec![Clash { field: "text".to_owned(), now: now.to_owned() }];
            Err(Clashing { form, clashes })
        };
        for (typed, now, again) in [
            (two("b", true, &["x"]), two("c", false, &[]), two("b", true, &[])),
            (two("", false, &["x"]), two("c", true, &["x"]), two("", true, &["x"])),
            (two("b", false, &["x"]), two("", true, &["x"]), two("b", true, &["x"])),
        ] {
            assert_eq!(join(&was, &typed, &now), clash(again, &now.text));
        }
    }

    #[test]
    fn what_a_form_showed_at_first_comes_back_with_it() {
        for values in [two("", false, &[]), two("ä=&+ \n", true, &["x", "y"])].map(|it| it.values())
        {
            let hidden = values.hidden().into_string();
            let sent = hidden.split("value=\"").nth(1).and_then(|rest| rest.split('"').next());
            let sent = sent.unwrap().replace("&amp;", "&");
            let form = Form::of_fields(vec![(WAS.to_owned(), sent)]);
            assert_eq!(Values::first_shown(&form), Some(values));
        }
        assert_eq!(Values::first_shown(&Form::of_fields(Vec::new())), None);
        let form = Form::read(b"text=b&on=on").unwrap();
        assert_eq!(joined(&form, &two("c", false, &["x"])), Ok(two("b", true, &[])));
    }
}
