//! Finds the URLs in a text and replaces them by short ones.
//!
//! A URL is what a phone would turn into a link: `http://` or `https://` in any case and what
//! follows, without the punctuation that ends a sentence and without a closing bracket whose
//! opening one precedes the URL.

use std::collections::BTreeMap;
use std::ops::Range;

/// The length of a short URL's code, in characters.
pub const CODE_LENGTH: usize = 10;

/// Stands in for a code in a text that is only quoted. It is as wide as any code in either
/// encoding, so that the quoted text takes as many segments as the text that is sent.
pub const CODE_PLACEHOLDER: &str = "xxxxxxxxxx";

/// The maximum length of a URL to shorten, in bytes. Longer URLs stay as they are, because they are
/// too long for the redirect.
pub const LONGEST_URL: usize = 2_048;

/// The byte ranges of the URLs in a text, in order.
///
/// ```
/// use sms_core::text::find_urls;
///
/// let text = "Menu (HTTPS://example.com/menu), map: https://example.com/map_(new).";
/// let urls: Vec<&str> = find_urls(text).into_iter().map(|place| &text[place]).collect();
/// assert_eq!(urls, ["HTTPS://example.com/menu", "https://example.com/map_(new)"]);
/// ```
pub fn find_urls(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(colon) = text[from..].find("://").map(|at| from + at) {
        from = colon + "://".len();
        let Some(start) = scheme_before(text, colon) else { continue };
        let end = from + rest_of_url(&text[from..]);
        if end > from {
            found.push(start..end);
            from = end;
        }
    }
    found
}

/// A text whose URLs are replaced by short ones: `prefix` and a code for each URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortText {
    /// The text, with [`CODE_PLACEHOLDER`] in place of every code.
    pub text: String,
    /// The URLs that were replaced: each once, in order of first appearance.
    pub destinations: Vec<Destination>,
}

/// A URL that was replaced.
#[derive(Clone, PartialEq, Eq)]
pub struct Destination {
    /// The URL as written in the text.
    pub url: String,
    /// Where its code goes: byte offsets in [`ShortText::text`], one per occurrence.
    pub places: Vec<usize>,
}

/// Shows the length of the URL, never the URL, so that it does not reach a log.
impl std::fmt::Debug for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Destination({} bytes, {:?})", self.url.len(), self.places)
    }
}

impl ShortText {
    /// Replaces the URLs of a text; `None` if it has none to replace.
    ///
    /// ```
    /// use sms_core::text::ShortText;
    ///
    /// let short = ShortText::of("Book: https://example.com/tables/42", "https://sms.example/l/");
    /// let text = short.map(|short| short.text);
    /// assert_eq!(text.as_deref(), Some("Book: https://sms.example/l/xxxxxxxxxx"));
    /// ```
    pub fn of(text: &str, prefix: &str) -> Option<Self> {
        let mut short = Self { text: String::with_capacity(text.len()), destinations: Vec::new() };
        let mut known = BTreeMap::new();
        let mut copied = 0;
        for place in find_urls(text).into_iter().filter(|place| place.len() <= LONGEST_URL) {
            short.text.push_str(&text[copied..place.start]);
            short.text.push_str(prefix);
            let at = short.text.len();
            short.text.push_str(CODE_PLACEHOLDER);
            copied = place.end;
            let url = &text[place];
            let number = *known.entry(Url(url)).or_insert(short.destinations.len());
            match short.destinations.get_mut(number) {
                Some(destination) => destination.places.push(at),
                None => {
                    short.destinations.push(Destination { url: url.to_owned(), places: vec![at] });
                }
            }
        }
        if short.destinations.is_empty() {
            return None;
        }
        short.text.push_str(&text[copied..]);
        Some(short)
    }
}

/// A URL as the key by which it is found again. Tests count how often two are compared.
#[derive(PartialEq, Eq)]
struct Url<'a>(&'a str);

impl Ord for Url<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        #[cfg(test)]
        tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
        self.0.cmp(other.0)
    }
}

impl PartialOrd for Url<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Where the scheme that ends at `colon` starts. `None` if it is not `http` or `https`, or is the
/// end of a longer word.
fn scheme_before(text: &str, colon: usize) -> Option<usize> {
    let start = ["https", "http"].into_iter().find_map(|scheme| {
        let start = colon.checked_sub(scheme.len())?;
        let is_it = text.as_bytes()[start..colon].eq_ignore_ascii_case(scheme.as_bytes());
        is_it.then_some(start)
    })?;
    let before = text.as_bytes()[..start].last();
    (!before.is_some_and(u8::is_ascii_alphanumeric)).then_some(start)
}

/// The length in bytes of what follows a URL's `://`; 0 if it has no host.
fn rest_of_url(rest: &str) -> usize {
    if !rest.starts_with(|first: char| first.is_alphanumeric() || first == '[') {
        return 0;
    }
    let mut open = Vec::new();
    let mut end = 0;
    for (at, character) in rest.char_indices() {
        let goes_on = match character {
            '(' | '[' | '{' => {
                open.push(character);
                true
            }
            // A bracket opened before the URL does not belong to it.
            ')' => open.pop() == Some('('),
            ']' => open.pop() == Some('['),
            '}' => open.pop() == Some('{'),
            // A separator, if another URL follows.
            ',' | ';' | '|' => !begins_with_scheme(&rest[at + 1..]),
            '<' | '>' | '"' | '\\' | '`' => false,
            other => other.is_ascii_graphic() || other.is_alphanumeric(),
        };
        if !goes_on {
            break;
        }
        end = at + character.len_utf8();
    }
    let url = rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '(', '[', '{']);
    url.len()
}

fn begins_with_scheme(text: &str) -> bool {
    ["http://", "https://"].into_iter().any(|scheme| {
        text.as_bytes()
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{measure, split};

    fn urls(text: &str) -> Vec<&str> {
        find_urls(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn a_url_goes_as_far_as_a_phone_would_take_it() {
        for (text, url) in [
            ("https://example.com", "https://example.com"),
            ("http://example.com", "http://example.com"),
            ("HtTpS://EXAMPLE.com/A", "HtTpS://EXAMPLE.com/A"),
            ("Menu: https://example.com/menu today", "https://example.com/menu"),
            ("https://example.com/\nBye", "https://example.com/"),
            ("https://example.com/a\u{a0}b", "https://example.com/a"),
            ("https://example.com/a\u{200b}b", "https://example.com/a"),
            ("https://example.com:8443/a?b=c&d=%20#e", "https://example.com:8443/a?b=c&d=%20#e"),
            ("https://ann@example.com/~ann/$5+1;v=1,2", "https://ann@example.com/~ann/$5+1;v=1,2"),
            ("http://[2001:db8::1]:80/", "http://[2001:db8::1]:80/"),
            ("http://localhost", "http://localhost"),
            ("https://example.com/{table}|x^y", "https://example.com/{table}|x^y"),
            ("https://bücher.example/straße", "https://bücher.example/straße"),
            ("https://example.com/👋", "https://example.com/"),
            ("见https://example.com/a。谢谢", "https://example.com/a"),
            ("see:https://example.com", "https://example.com"),
            ("…https://example.com…", "https://example.com"),
            (
                "https://example.com/?to=https://example.org",
                "https://example.com/?to=https://example.org",
            ),
            ("https://example.com/it's", "https://example.com/it's"),
            ("https://example.com/a=", "https://example.com/a="),
            ("https://example.com/a-", "https://example.com/a-"),
            ("https://example.com/a_", "https://example.com/a_"),
        ] {
            assert_eq!(urls(text), [url], "{text}");
        }
    }

    #[test]
    fn punctuation_and_brackets_around_a_url_are_left_out() {
        for end in
            [".", ",", ";", ":", "!", "?", "'", "\"", ")", "]", "}", ">", "?!", "...", ").", "!)"]
        {
            let text = format!("https://example.com/a{end}");
            assert_eq!(urls(&text), ["https://example.com/a"], "{text}");
            let text = format!("({text} and so on");
            assert_eq!(urls(&text), ["https://example.com/a"], "{text}");
        }
        for (text, url) in [
            ("(https://example.com/a)", "https://example.com/a"),
            ("(see https://example.com/a.)", "https://example.com/a"),
            ("https://example.com/a_(b)", "https://example.com/a_(b)"),
            ("(https://example.com/a_(b))", "https://example.com/a_(b)"),
            ("https://example.com/(a", "https://example.com/(a"),
            ("https://example.com/a(", "https://example.com/a"),
            ("https://example.com/a[1](2){3}", "https://example.com/a[1](2){3}"),
            ("https://example.com/(a]b", "https://example.com/(a"),
            ("<https://example.com/a>", "https://example.com/a"),
            ("\"https://example.com/a\"", "https://example.com/a"),
            ("'https://example.com/a'", "https://example.com/a"),
            ("`https://example.com/a`", "https://example.com/a"),
            ("https://example.com?", "https://example.com"),
        ] {
            assert_eq!(urls(text), [url], "{text}");
        }
    }

    #[test]
    fn text_that_only_resembles_a_url_is_not_one() {
        for text in [
            "",
            "example.com",
            "www.example.com",
            "http:/example.com",
            "http//example.com",
            "https://",
            "https:// example.com",
            "https://.",
            "https:///a",
            "https://?a",
            "://example.com",
            "ftp://example.com",
            "xhttp://example.com",
            "5https://example.com",
            "http ://example.com",
            "mailto:ann@example.com",
        ] {
            assert_eq!(urls(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn several_urls_are_found_in_order() {
        for (text, found) in [
            ("https://a.example https://b.example", vec!["https://a.example", "https://b.example"]),
            ("https://a.example,https://b.example", vec!["https://a.example", "https://b.example"]),
            ("https://a.example/;HTTP://b.example", vec!["https://a.example/", "HTTP://b.example"]),
            ("https://a.example|http://b.example.", vec!["https://a.example", "http://b.example"]),
            (
                "[https://a.example](https://b.example)",
                vec!["https://a.example", "https://b.example"],
            ),
            ("https:// https://b.example", vec!["https://b.example"]),
            ("https://https://b.example", vec!["https://https://b.example"]),
            ("ftp://a.example/ http://b.example", vec!["http://b.example"]),
        ] {
            assert_eq!(urls(text), found, "{text}");
        }
    }

    const PREFIX: &str = "https://sms.example/l/";

    /// The text with each code filled in.
    fn filled(short: &ShortText, code: impl Fn(usize) -> String) -> String {
        let mut text = short.text.clone();
        for (number, destination) in short.destinations.iter().enumerate() {
            for place in &destination.places {
                text.replace_range(*place..*place + CODE_LENGTH, &code(number));
            }
        }
        text
    }

    #[test]
    fn a_url_that_occurs_several_times_gets_one_short_url() {
        let text = "https://example.com/a, https://example.com/b! https://example.com/a";
        let short = ShortText::of(text, PREFIX).unwrap();
        let urls: Vec<&str> = short.destinations.iter().map(|one| one.url.as_str()).collect();
        assert_eq!(urls, ["https://example.com/a", "https://example.com/b"]);
        let shown = filled(&short, |number| number.to_string().repeat(CODE_LENGTH));
        assert_eq!(
            shown,
            "https://sms.example/l/0000000000, https://sms.example/l/1111111111! \
             https://sms.example/l/0000000000"
        );
        let other = ShortText::of("https://example.com/a HTTPS://example.com/a", PREFIX).unwrap();
        assert_eq!(other.destinations.len(), 2, "what differs is another URL");
    }

    thread_local! {
        pub(super) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn a_url_is_found_among_a_thousand_others_in_a_few_comparisons() {
        let urls: Vec<String> = (0..1_000).map(|n| format!("https://example.com/{n}")).collect();
        let text = urls.join(" ") + " " + &urls.join(" ");
        COMPARED.set(0);
        let short = ShortText::of(&text, PREFIX).unwrap();
        assert_eq!(short.destinations.len(), 1_000);
        assert!(short.destinations.iter().all(|one| one.places.len() == 2));
        let each = COMPARED.get() / 2_000;
        assert!(each <= 30, "{each} comparisons for a URL");
    }

    #[test]
    fn a_text_without_urls_or_with_overlong_ones_stays_as_it_is() {
        assert_eq!(ShortText::of("Your table is ready", PREFIX), None);
        let long = |bytes| format!("https://example.com/{}", "a".repeat(bytes - 20));
        assert_eq!(ShortText::of(&long(LONGEST_URL + 1), PREFIX), None);
        let longest = ShortText::of(&long(LONGEST_URL), PREFIX).unwrap();
        assert_eq!(longest.text, format!("{PREFIX}{CODE_PLACEHOLDER}"));
        let both = format!("{} https://example.com/b", long(LONGEST_URL + 1));
        let short = ShortText::of(&both, PREFIX).unwrap();
        assert_eq!(short.destinations.len(), 1);
        assert!(short.text.starts_with("https://example.com/aaa"));
    }

    #[test]
    fn debug_does_not_show_where_a_link_leads() {
        let short = ShortText::of("https://example.com/ann", PREFIX).unwrap();
        assert!(!format!("{:?}", short.destinations).contains("ann"));
    }

    /// Enough text to continue in another segment.
    const SEVENTY: &str = "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg";

    /// Texts made of the pieces that matter to this module.
    fn any_text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "https://",
            "HTTP://",
            "http://example.com",
            "https://example.org/a_(b)",
            "://",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ".",
            ",",
            ";",
            "|",
            "'",
            "\"",
            "<",
            " ",
            "\n",
            "a",
            "é",
            "д",
            "👋",
            "。",
            "\u{200b}",
            "?",
            "&",
            "=",
            "€",
            SEVENTY,
        ]);
        prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
    }

    fn any_code() -> impl Strategy<Value = String> {
        "[0-9A-Za-z]{10}"
    }

    proptest! {
        #[test]
        fn urls_do_not_overlap_and_look_like_urls(text in any_text()) {
            let mut last = 0;
            for place in find_urls(&text) {
                prop_assert!(last <= place.start && place.start < place.end);
                last = place.end;
                let url = &text[place];
                prop_assert!(begins_with_scheme(url), "{}", url);
                prop_assert!(!url.contains(char::is_whitespace));
                prop_assert!(!url.ends_with(['.', ',', ';', ':', '!', '?', '\'', '(']));
                let host = url.split_once("://").unwrap().1;
                prop_assert!(host.starts_with(|c: char| c.is_alphanumeric() || c == '['));
                // Alone, it is found again as a whole.
                prop_assert_eq!(find_urls(url), vec![0..url.len()]);
            }
        }

        #[test]
        fn a_url_between_spaces_is_found_whole(
            before in any_text(),
            path in "[A-Za-z0-9/_=-]{0,30}",
            after in any_text(),
        ) {
            let url = format!("https://example.net/{path}");
            let text = format!("{before} {url} {after}");
            prop_assert!(urls(&text).contains(&url.as_str()), "{}", text);
        }

        #[test]
        fn a_text_takes_the_same_segments_whatever_the_codes_are(
            text in any_text(),
            codes in prop::collection::vec(any_code(), 31),
        ) {
            let Some(short) = ShortText::of(&text, PREFIX) else { return Ok(()) };
            let sent = filled(&short, |number| codes[number].clone());
            prop_assert_eq!(measure(&sent), measure(&short.text));
            let cuts = |text: &str| -> Vec<usize> {
                split(text).iter().map(|part| part.text().len()).collect()
            };
            prop_assert_eq!(cuts(&sent), cuts(&short.text));
        }

        #[test]
        fn putting_the_urls_back_restores_the_text(text in any_text()) {
            let Some(short) = ShortText::of(&text, PREFIX) else { return Ok(()) };
            let mut places: Vec<(usize, &str)> = short
                .destinations
                .iter()
                .flat_map(|one| one.places.iter().map(|place| (*place, one.url.as_str())))
                .collect();
            places.sort_unstable();
            let mut whole = short.text.clone();
            for (place, url) in places.into_iter().rev() {
                whole.replace_range(place - PREFIX.len()..place + CODE_LENGTH, url);
            }
            prop_assert_eq!(whole, text);
        }
    }
}
