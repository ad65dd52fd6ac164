//! Merge fields: filled as the rules say, and nobody's values in anybody else's text.
//!
//! An input is four lines (a contact's first name, last name, email and custom value), and the
//! body behind them.

use std::borrow::Cow;
use std::cell::RefCell;
use std::thread_local;

use futures_executor::block_on;
use sms_core::contact::ContactInput;
use sms_core::contact::custom::CustomValue;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::service::AccountHandle;
use sms_core::text::{self, MergeFields, NumberOnly, Template, custom_names, is_custom_name};

use crate::{refusal, service, text_of};

/// Tries the laws on a body and one contact's values.
pub fn check(input: &[u8]) {
    let mut lines = text_of(input).splitn(5, '\n');
    let mut line = || lines.next().unwrap_or_default().to_owned();
    let person = Person { first: line(), last: line(), email: line(), points: line() };
    let body = line();
    rendered_by_the_rules(&body, &person);
    what_has_no_fields_is_left_alone(&body, &person);
    names_are_those_in_braces(&body);
    // A body with U+0000 is refused, whoever is to get it.
    if text::is_within_characters(&body) && !body.is_empty() && !body.contains('\0') {
        sent_to_each_their_own(&body, &person);
    }
}

#[derive(Debug, Clone)]
struct Person {
    first: String,
    last: String,
    email: String,
    points: String,
}

const NUMBERS: [&str; 3] = ["+447700900101", "+447700900102", "+447700900103"];

impl MergeFields for Person {
    fn first_name(&self) -> Option<&str> {
        Some(&self.first)
    }

    fn last_name(&self) -> Option<&str> {
        Some(&self.last)
    }

    fn email(&self) -> Option<&str> {
        Some(&self.email)
    }

    fn phone(&self) -> E164 {
        NUMBERS[0].parse().expect("a number")
    }

    fn custom(&self, name: &str) -> Option<Cow<'_, str>> {
        (name == "points").then_some(Cow::Borrowed(&self.points))
    }
}

/// `[a-z][a-z0-9_]{0,39}`
fn is_name(name: &str) -> bool {
    let tail = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(tail) && name.len() <= 40
}

/// What stands after an opening brace, as a name, its fallback and the rest.
fn field_of(piece: &str) -> Option<(&str, Option<&str>, &str)> {
    let (inside, rest) = piece.split_once('}')?;
    let (name, fallback) = match inside.split_once('|') {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (inside, None),
    };
    let is_text = fallback.is_none_or(|text| !text.contains(['\n', '\r']));
    (is_name(name) && is_text).then_some((name, fallback, rest))
}

/// A body, each of its fields replaced by what `value` says, or by its fallback where that is
/// blank; a field that it does not know and that has no fallback stays.
pub(crate) fn filled(body: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut pieces = body.split('{');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let shown = field_of(piece).and_then(|(name, fallback, rest)| {
            let value = value(name);
            let is_missing = value.as_deref().is_none_or(text::is_blank);
            let fallback = fallback.filter(|_| is_missing).map(str::to_owned);
            Some((fallback.or(value)?, rest))
        });
        match shown {
            Some((shown, rest)) => whole.extend([shown.as_str(), rest]),
            None => whole.extend(["{", piece]),
        }
    }
    whole
}

fn value_of(person: &Person, number: &str, name: &str) -> Option<String> {
    Some(match name {
        "first_name" => person.first.clone(),
        "last_name" => person.last.clone(),
        "full_name" => {
            let names = [&person.first, &person.last].map(|name| name.trim());
            let names: Vec<&str> = names.into_iter().filter(|name| !text::is_blank(name)).collect();
            names.join(" ")
        }
        "email" => person.email.clone(),
        "phone" => number.to_owned(),
        "points" => person.points.clone(),
        _ => return None,
    })
}

fn rendered_by_the_rules(body: &str, person: &Person) {
    let template = Template::parse(body, |name| name == "points");
    let expected = filled(body, |name| value_of(person, NUMBERS[0], name));
    assert_eq!(template.render(person, usize::MAX).expect("no limit"), expected, "{body:?}");
    assert_eq!(template.body(), body);
    let is_field = |(name, fallback, _): (&str, Option<&str>, &str)| {
        fallback.is_some() || value_of(person, "", name).is_some()
    };
    let found = body.split('{').skip(1).filter_map(field_of).any(is_field);
    assert_eq!(template.has_fields(), found, "{body:?}");
    // Rendered again, a text in which no brace is left stays as it is.
    if !expected.contains('{') {
        let again = Template::parse(&expected, |_| true);
        assert_eq!(again.render(person, usize::MAX).expect("no limit"), expected);
    }
}

fn what_has_no_fields_is_left_alone(body: &str, person: &Person) {
    let broken = body.replace('{', "( ");
    for text in [broken.as_str(), &body.replace('}', ")")] {
        let template = Template::parse(text, |_| true);
        assert!(!template.has_fields());
        assert_eq!(template.render(person, usize::MAX).expect("no limit"), text);
    }
    let nobody = NumberOnly(person.phone());
    let known = Template::parse(body, |_| false);
    let expected = filled(body, |name| match name {
        "phone" => Some(NUMBERS[0].to_owned()),
        "first_name" | "last_name" | "full_name" | "email" => Some(String::new()),
        _ => None,
    });
    assert_eq!(known.render(&nobody, usize::MAX).expect("no limit"), expected, "{body:?}");
}

fn names_are_those_in_braces(body: &str) {
    let names = custom_names(body);
    for name in &names {
        assert!(is_custom_name(name) && is_name(name), "{name:?}");
        let opened = ["}", "|"].map(|end| format!("{{{name}{end}"));
        assert!(opened.iter().any(|begin| body.contains(begin)), "{name:?}");
    }
    let mut expected: Vec<&str> = Vec::new();
    for (name, ..) in body.split('{').skip(1).filter_map(field_of) {
        let built_in = ["first_name", "last_name", "full_name", "phone", "email"].contains(&name);
        if !built_in && !expected.contains(&name) {
            expected.push(name);
        }
    }
    assert_eq!(names, expected, "{body:?}");
    assert_eq!(is_custom_name(body), is_name(body), "{body:?}");
}

/// What the second contact is called; no input is likely to hold it.
const OTHER: &str = "Zz9Other";

struct Stage {
    sms: Sms,
    uses: u32,
}

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// How often a service is used: its texts are kept.
const MOST_USES: u32 = 2_000;

/// An account of its own, in a service that serves many inputs.
fn account() -> AccountHandle {
    STAGE.with_borrow_mut(|stage| {
        if stage.as_ref().is_none_or(|stage| stage.uses >= MOST_USES) {
            *stage = Some(Stage { sms: block_on(service::empty()), uses: 0 });
        }
        let stage = stage.as_mut().expect("just made");
        stage.uses += 1;
        block_on(service::account(&stage.sms, 1_000))
    })
}

/// The contact as it would be saved; `None` where the address book refuses it.
fn input(number: &str, person: &Person) -> Option<ContactInput> {
    let points = Some(CustomValue::Text(person.points.clone()));
    let input = ContactInput::new(number)
        .first_name(person.first.clone())
        .last_name(person.last.clone())
        .email(person.email.clone())
        .custom([("points".to_owned(), points)]);
    input.checked().is_ok().then_some(input)
}

/// What is kept of values: a blank one is none.
fn kept(person: &Person) -> Person {
    let kept = |value: &str| if text::is_blank(value) { String::new() } else { value.to_owned() };
    let Person { first, last, email, points } = person;
    Person { first: kept(first), last: kept(last), email: kept(email), points: kept(points) }
}

/// Three people get the body: the contact, another contact, and a number that is none. Each gets
/// it with their own values, and so with nobody else's.
fn sent_to_each_their_own(body: &str, person: &Person) {
    let other = Person {
        first: OTHER.to_owned(),
        last: OTHER.to_owned(),
        email: format!("{OTHER}@example.com"),
        points: OTHER.to_owned(),
    };
    let mut person = kept(person);
    if input(NUMBERS[0], &person).is_none() {
        person.email.clear();
    }
    let Some(first) = input(NUMBERS[0], &person) else { return };
    let second = input(NUMBERS[1], &other).expect("a good contact");
    let account = account();
    let request = SendRequest::new(body).to(NUMBERS.join(","));
    let sent = block_on(async {
        account.contact_create(first).await.expect("a good contact");
        account.contact_create(second).await.expect("a good contact");
        account.send(request).await.expect("a good request")
    });
    assert_eq!(sent.messages.len() + sent.rejected.len(), NUMBERS.len());
    let none = String::new;
    let nobody = Person { first: none(), last: none(), email: none(), points: none() };
    let people = [&person, &other, &nobody];
    let (mut texts, mut rejected) = (sent.messages.iter(), sent.rejected.iter());
    for (number, person) in NUMBERS.into_iter().zip(people) {
        let expected = filled(body, |name| value_of(person, number, name));
        if let Some(reason) = refusal::of(&expected, &expected) {
            let told = rejected.next().map(|told| (told.to.as_str(), told.reason));
            assert_eq!(told, Some((number, reason)), "{body:?}");
        } else {
            let message = texts.next().expect("whoever can get a text does");
            assert_eq!(message.to.to_string(), number);
            assert_eq!(message.body.as_str(), expected, "{body:?} to {number}");
        }
    }
}
