//! Links: found where the rules say, replaced there and nowhere else.

use sms_core::text::{CODE_LENGTH, CODE_PLACEHOLDER, LONGEST_URL, ShortText, find_urls, measure};

use crate::text_of;

/// Tries the laws on a text.
pub fn check(input: &[u8]) {
    let text = text_of(input);
    found_by_the_rules(text);
    for prefix in ["https://sms.example.com/l/", "http://127.0.0.1:8080/l/", "http://[::1]/l/"] {
        nothing_else_is_replaced(text, prefix);
    }
}

/// The URLs by the rules of the decisions, character by character.
fn reference(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let in_word = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
        let length = if in_word { None } else { url_at(rest) };
        if let Some(length) = length {
            found.push(&rest[..length]);
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found
}

/// How long the URL is that a text begins with.
fn url_at(text: &str) -> Option<usize> {
    let scheme = scheme(text)?;
    let host = &text[scheme..];
    if !host.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        return None;
    }
    let mut open = String::new();
    let mut length = scheme;
    for c in host.chars() {
        let after = length + c.len_utf8();
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => {
                let opening = ['(', '[', '{'][")]}".find(c).unwrap_or_default()];
                if open.pop() != Some(opening) {
                    break;
                }
            }
            ',' | ';' | '|' if scheme_of(&text[after..]) => break,
            '<' | '>' | '"' | '\\' | '`' => break,
            '!'..='~' => {}
            _ if c.is_alphanumeric() => {}
            _ => break,
        }
        length = after;
    }
    while text[..length].ends_with(|c| ".,;:!?'([{".contains(c)) {
        length -= 1;
    }
    (length > scheme).then_some(length)
}

fn scheme_of(text: &str) -> bool {
    scheme(text).is_some()
}

/// The bytes of `http://` or `https://` that a text begins with.
fn scheme(text: &str) -> Option<usize> {
    let begins = |scheme: &&str| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    ["http://", "https://"].iter().find(|it| begins(it)).map(|scheme| scheme.len())
}

fn found_by_the_rules(text: &str) {
    let places = find_urls(text);
    let found: Vec<&str> = places.iter().map(|place| &text[place.clone()]).collect();
    assert_eq!(found, reference(text), "{text:?}");
    assert!(places.windows(2).all(|pair| pair[0].end <= pair[1].start));
    for url in found {
        assert_eq!(find_urls(url), vec![0..url.len()], "found again by itself: {url:?}");
    }
}

fn nothing_else_is_replaced(text: &str, prefix: &str) {
    let urls = find_urls(text);
    let replaced: Vec<_> = urls.iter().filter(|place| place.len() <= LONGEST_URL).collect();
    let Some(short) = ShortText::of(text, prefix) else {
        assert!(replaced.is_empty(), "{text:?}");
        return;
    };
    let mut places: Vec<(usize, &str)> = Vec::new();
    for destination in &short.destinations {
        assert!(!destination.places.is_empty());
        places.extend(destination.places.iter().map(|place| (*place, destination.url.as_str())));
    }
    places.sort_unstable();
    // Each replaced URL has its place, in order, and leads to where it led.
    let leads: Vec<&str> = places.iter().map(|(_, url)| *url).collect();
    let led: Vec<&str> = replaced.iter().map(|place| &text[(*place).clone()]).collect();
    assert_eq!(leads, led);
    let mut distinct = led.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(short.destinations.len(), distinct.len(), "each URL once");
    // With the URLs put back, it is the text.
    let (mut whole, mut copied) = (String::new(), 0);
    for (place, url) in &places {
        let start = place - prefix.len();
        assert_eq!(&short.text[start..*place], prefix);
        assert_eq!(&short.text[*place..place + CODE_LENGTH], CODE_PLACEHOLDER);
        whole.extend([&short.text[copied..start], url]);
        copied = place + CODE_LENGTH;
    }
    whole.push_str(&short.text[copied..]);
    assert_eq!(whole, text);
    // A phone finds as many URLs in it, each where a short one stands.
    let found = find_urls(&short.text);
    assert_eq!(found.len(), urls.len(), "{:?}", short.text);
    for (place, _) in &places {
        let expected = place - prefix.len()..place + CODE_LENGTH;
        assert!(found.contains(&expected), "{:?}", short.text);
    }
    // Whatever the code, it takes the same parts.
    let mut sent = short.text.clone();
    for (place, _) in &places {
        sent.replace_range(*place..place + CODE_LENGTH, "0aZ9zA5bY1");
    }
    assert_eq!(measure(&sent), measure(&short.text));
}
