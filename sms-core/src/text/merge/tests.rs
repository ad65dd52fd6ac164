use std::cell::Cell;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Default)]
struct Values {
    first: Option<String>,
    last: Option<String>,
    email: Option<String>,
    custom: Vec<(&'static str, String)>,
    /// How often a custom value was asked for.
    looked_at: Cell<usize>,
}

impl MergeFields for Values {
    fn first_name(&self) -> Option<&str> {
        self.first.as_deref()
    }

    fn last_name(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn email(&self) -> Option<&str> {
        self.email.as_deref()
    }

    fn phone(&self) -> E164 {
        "+447700900123".parse().unwrap()
    }

    fn custom(&self, name: &str) -> Option<Cow<'_, str>> {
        self.looked_at.set(self.looked_at.get() + 1);
        let entry = self.custom.iter().find(|entry| entry.0 == name)?;
        Some(Cow::Borrowed(&entry.1))
    }
}

fn values() -> Values {
    Values {
        first: Some("First".to_owned()),
        last: Some("Last".to_owned()),
        email: Some("someone@example.com".to_owned()),
        custom: vec![("points", "12".to_owned()), ("phone", "hidden".to_owned())],
        looked_at: Cell::default(),
    }
}

fn rendered(body: &str, recipient: &Values) -> String {
    let known = |name: &str| ["points", "town", "phone"].contains(&name);
    Template::parse(body, known).render(recipient, usize::MAX).unwrap().into_owned()
}

#[test]
fn fields_are_filled() {
    let table = [
        ("", ""),
        ("no fields", "no fields"),
        ("Hi {first_name}!", "Hi First!"),
        ("{first_name}{last_name}", "FirstLast"),
        ("{full_name} <{email}>", "First Last <someone@example.com>"),
        ("{phone}", "+447700900123"),
        ("{points} points", "12 points"),
        ("from {town}.", "from ."),
        ("é{points}€{points}👋", "é12€12👋"),
        ("Hi {first_name|there}!", "Hi First!"),
        ("in {town|your town}", "in your town"),
        ("{town|}.", "."),
        ("{town|a|b, “c” \\ 👋}", "a|b, “c” \\ 👋"),
        ("{nosuch|friend}", "friend"),
        ("{phone|none}", "+447700900123"),
    ];
    for (body, expected) in table {
        assert_eq!(rendered(body, &values()), expected, "{body}");
    }
}

#[test]
fn text_that_is_not_a_field_stays_as_typed() {
    for body in [
        "{unknown}",
        "{First_name}",
        "{ first_name }",
        "{first_name",
        "first_name}",
        "{}",
        "{1st}",
        "{_a}",
        "{first name}",
        "{",
        "}",
        "{{",
        "{é}",
        "{first_name\n}",
        "{|there}",
        "{first name|there}",
        "{first_name|there",
        "{first_name |there}",
        "{first_name|there\n}",
        "{first_name|a{b|c",
    ] {
        assert_eq!(rendered(body, &values()), body);
        let template = Template::parse(body, |name| name != "unknown");
        assert_eq!((template.body(), template.has_fields()), (body, false));
    }
}

#[test]
fn braces_around_a_field_stay() {
    assert_eq!(rendered("{{points}}", &values()), "{12}");
    assert_eq!(rendered("{first_name{points}", &values()), "{first_name12");
    assert_eq!(rendered("{unknown}{points}", &values()), "{unknown}12");
    assert_eq!(rendered("{first_name|{points|none}}", &values()), "{first_name|12}");
}

#[test]
fn a_fallback_stands_for_what_is_missing_or_blank_and_is_not_filled() {
    for (first, expected) in [
        (None, "Hi there"),
        (Some(""), "Hi there"),
        (Some(" \t"), "Hi there"),
        (Some("\u{200b}"), "Hi there"),
        (Some("Ann"), "Hi Ann"),
        (Some("{points}"), "Hi {points}"),
    ] {
        let recipient = Values { first: first.map(str::to_owned), ..values() };
        assert_eq!(rendered("Hi {first_name|there}", &recipient), expected);
        let full = Values { last: None, ..recipient };
        assert_eq!(rendered("Hi {full_name|there}", &full), expected);
    }
}

#[test]
fn the_fields_without_a_value_are_those_that_leave_a_gap() {
    let body = "{first_name} {full_name} {town|here} {phone} {points} {first_name} {nosuch} {town}";
    let template = Template::parse(body, |name| name != "nosuch");
    let named: Vec<&str> = template.bare_fields().collect();
    assert_eq!(named, ["first_name", "full_name", "points", "town"]);
    let blanks = |recipient: &Values| template.blanks(recipient).collect::<Vec<_>>();
    assert_eq!(blanks(&values()), [false, false, false, true]);
    assert_eq!(blanks(&Values::default()), [true, true, true, true]);
    let no_first = Values { first: Some(" ".to_owned()), ..values() };
    assert_eq!(blanks(&no_first), [true, false, false, true]);
}

#[test]
fn a_full_name_joins_the_names_that_are_known() {
    let names = [
        (Some("First"), Some("Last"), "First Last"),
        (Some("First"), None, "First"),
        (None, Some("Last"), "Last"),
        (Some(""), Some(" Last "), "Last"),
        (Some("First "), Some(" Last"), "First Last"),
        (Some("First"), Some("\u{200b}"), "First"),
        (None, None, ""),
    ];
    for (first, last, expected) in names {
        let recipient = Values {
            first: first.map(str::to_owned),
            last: last.map(str::to_owned),
            ..Values::default()
        };
        assert_eq!(rendered("{full_name}", &recipient), expected);
    }
}

#[test]
fn a_value_that_looks_like_a_field_is_not_filled() {
    let recipient = Values { first: Some("{points}".to_owned()), ..values() };
    assert_eq!(rendered("{first_name}", &recipient), "{points}");
}

#[test]
fn names_have_1_to_40_characters() {
    let longest = format!("a{}", "9".repeat(39));
    let too_long = format!("{longest}9");
    for name in ["a", "a_1", "first_name", longest.as_str()] {
        assert!(is_custom_name(name), "{name}");
    }
    for name in ["", "_a", "1a", "A", "a-b", "a b", "é", "a}", too_long.as_str()] {
        assert!(!is_custom_name(name), "{name}");
    }
    let body = format!("{{{too_long}}}");
    assert!(!Template::parse(&body, |_| true).has_fields());
}

#[test]
fn a_body_without_fields_is_borrowed() {
    let template = Template::parse("plain {word}", |_| false);
    assert!(!template.has_fields());
    assert!(matches!(template.render(&values(), 12), Ok(Cow::Borrowed("plain {word}"))));
}

/// A recipient whose custom value `name` has 500 characters.
fn long(name: &'static str) -> Values {
    Values { custom: vec![(name, "é".repeat(500))], ..Values::default() }
}

#[test]
fn rendering_ends_at_the_first_value_that_does_not_fit() {
    let template = Template::parse(&"{a}".repeat(533), |_| true);
    let recipient = long("a");
    assert_eq!(template.render(&recipient, 1_600), Err(TooManyCharacters));
    assert_eq!(recipient.looked_at.get(), 4, "values that were looked at");
}

#[test]
fn a_text_is_rendered_up_to_its_limit_and_not_one_character_past_it() {
    for body in ["a{b}é", "a{b}{b}", "plain", "{b}", ""] {
        let template = Template::parse(body, |_| true);
        let recipient = long("b");
        let whole = template.render(&recipient, usize::MAX).unwrap();
        let length = whole.chars().count();
        assert_eq!(template.render(&recipient, length).as_ref(), Ok(&whole));
        if let Some(less) = length.checked_sub(1) {
            assert_eq!(template.render(&recipient, less), Err(TooManyCharacters));
        }
    }
}

proptest! {
    #[test]
    fn any_text_parses_and_renders(body in any::<String>(), value in any::<String>()) {
        let recipient = Values { first: Some(value), ..Values::default() };
        let template = Template::parse(&body, |_| true);
        let text = template.render(&recipient, usize::MAX).unwrap();
        if !template.has_fields() {
            prop_assert_eq!(&*text, &body);
        }
    }

    /// A field is reported as blank for a recipient exactly if it renders as nothing that can be
    /// seen, and then a fallback stands there instead.
    #[test]
    fn what_is_told_as_blank_is_what_renders_as_nothing(
        value in prop_oneof![Just(String::new()), " {0,3}", any::<String>()],
        fallback in "[^{}\r\n]{0,20}",
    ) {
        let recipient = Values { custom: vec![("town", value.clone())], ..Values::default() };
        let bare = Template::parse("{town}", |_| true);
        let blank: Vec<bool> = bare.blanks(&recipient).collect();
        let shown = bare.render(&recipient, usize::MAX).unwrap();
        prop_assert_eq!(&shown, &value);
        prop_assert_eq!(&blank, &[is_blank(&shown)]);
        let body = format!("{{town|{fallback}}}");
        let safe = Template::parse(&body, |_| true);
        let expected = if blank[0] { &fallback } else { &value };
        prop_assert_eq!(&safe.render(&recipient, usize::MAX).unwrap(), expected);
        prop_assert_eq!(safe.blanks(&recipient).count(), 0);
        let nowhere = Template::parse(&body, |_| false);
        prop_assert_eq!(&nowhere.render(&recipient, usize::MAX).unwrap(), &fallback);
    }

    #[test]
    fn a_text_without_braces_renders_to_itself(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..20),
    ) {
        let body: String = pieces.iter().map(|piece| piece.0).collect();
        let once = rendered(&body, &values());
        if !once.contains('{') {
            prop_assert_eq!(rendered(&once, &values()), once);
        }
    }

    #[test]
    fn a_body_of_pieces_renders_piece_by_piece(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..20),
    ) {
        let body: String = pieces.iter().map(|piece| piece.0).collect();
        let expected: String = pieces.iter().map(|piece| piece.1).collect();
        prop_assert_eq!(rendered(&body, &values()), expected);
    }
}

const PIECES: &[(&str, &str)] = &[
    ("{first_name}", "First"),
    ("{full_name}", "First Last"),
    ("{points}", "12"),
    ("{town}", ""),
    ("{unknown}", "{unknown}"),
    ("{unknown|that}", "that"),
    ("{first_name|there}", "First"),
    ("{town|your town}", "your town"),
    ("{town|}", ""),
    ("{ ", "{ "),
    ("}", "}"),
    ("text ", "text "),
    ("👋", "👋"),
];
