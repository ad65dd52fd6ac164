//! What no log may contain: phone numbers, keys, secrets and credentials, recognised by their form,
//! and words that tests have registered.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use crate::words::{SHORTEST, Words};

/// Words of messages, and secrets, that several tests use.
pub const WORDS: &[&str] =
    &["our table is ready", "menu is here", "operator-token-of-", "a-very-long-secret-token"];

/// The words that tests have registered.
static TOLD: RwLock<Words> = RwLock::new(Words::none());

/// What a log contained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leak {
    /// A phone number.
    PhoneNumber(String),
    /// An API key, or a part of one that is longer than its prefix.
    ApiKey,
    /// The secret of a webhook endpoint.
    WebhookSecret,
    /// An `Authorization` header's value.
    Authorization,
    /// A URL with a password.
    Password,
    /// Words or a secret that a test registered.
    Words(String),
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PhoneNumber(number) => write!(f, "a phone number ({number})"),
            Self::ApiKey => f.write_str("an API key"),
            Self::WebhookSecret => f.write_str("a webhook's secret"),
            Self::Authorization => f.write_str("an Authorization header"),
            Self::Password => f.write_str("a password in an address"),
            Self::Words(words) => write!(f, "{words:?}"),
        }
    }
}

/// Registers words that must not be logged from now on. Ignores words that are too short or too
/// common: they need eight bytes, and a space, a digit or a character that is not ASCII.
pub fn secret(words: &str) {
    let distinct = |c: char| c == ' ' || !c.is_ascii() || c.is_ascii_digit();
    if words.len() < SHORTEST || !words.contains(distinct) || words.trim().len() < SHORTEST {
        return;
    }
    let known = TOLD.read().unwrap_or_else(PoisonError::into_inner).contains(words);
    if !known {
        TOLD.write().unwrap_or_else(PoisonError::into_inner).insert(words);
    }
}

/// The first leak in a string, if any.
pub fn leak(text: &str) -> Option<Leak> {
    leak_as_is(text)
        .or_else(|| percent_decoded(text).and_then(|text| leak_as_is(&text)))
        .or_else(|| bytes_listed(text).iter().find_map(|text| leak_as_is(text)))
}

fn leak_as_is(text: &str) -> Option<Leak> {
    if let Some(number) = phone_number(text) {
        return Some(Leak::PhoneNumber(number));
    }
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let secret_character = |c: char| c.is_ascii_alphanumeric() || "-_+/=.~".contains(c);
    if follows(text, "cc_live_", 6, alphanumeric) || follows(text, "cc_test_", 6, alphanumeric) {
        return Some(Leak::ApiKey);
    }
    if follows(text, "whsec_", 6, secret_character) {
        return Some(Leak::WebhookSecret);
    }
    if ["Bearer ", "bearer ", "Basic "].iter().any(|kind| follows(text, kind, 6, secret_character))
    {
        return Some(Leak::Authorization);
    }
    if has_password(text) {
        return Some(Leak::Password);
    }
    let words = WORDS.iter().find(|words| text.contains(**words));
    if let Some(words) = words {
        return Some(Leak::Words((*words).to_owned()));
    }
    let told = TOLD.read().unwrap_or_else(PoisonError::into_inner);
    told.found_in(text).map(|words| Leak::Words(words.to_owned()))
}

/// Whether at least `least` characters that satisfy `is` follow a prefix.
fn follows(text: &str, prefix: &str, least: usize, is: impl Fn(char) -> bool) -> bool {
    text.match_indices(prefix).any(|(at, _)| {
        text[at + prefix.len()..].chars().take_while(|c| is(*c)).take(least).count() == least
    })
}

/// `scheme://user:password@host`
fn has_password(text: &str) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let rest = &text[at + 3..];
        let end = rest.find(|c: char| c == '/' || c == '"' || c.is_whitespace());
        let authority = &rest[..end.unwrap_or(rest.len())];
        authority.split_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

/// A UK mobile number in any common spelling, or any number with a plus.
fn phone_number(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (start, first) in bytes.iter().enumerate() {
        if !first.is_ascii_digit() {
            continue;
        }
        let before = start.checked_sub(1).map(|before| bytes[before]);
        let has_plus = before == Some(b'+');
        // This is within an id, a hash or a decimal fraction.
        if before.is_some_and(|b| b.is_ascii_hexdigit() || b"-_.".contains(&b)) {
            continue;
        }
        let (digits, end) = digits_from(bytes, start);
        let after = bytes.get(end);
        if after.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            continue;
        }
        let mobile = [("07", 11), ("447", 12), ("4407", 13), ("00447", 14)];
        let is_mobile = mobile
            .iter()
            .any(|(prefix, length)| digits.len() == *length && digits.starts_with(prefix));
        if is_mobile || has_plus && (8..=15).contains(&digits.len()) {
            return Some(text[start - usize::from(has_plus)..end].to_owned());
        }
    }
    None
}

/// The digits at this position and where they end, without single spaces, hyphens and brackets.
/// At most as many digits as the longest number has, so that a time after a number is not included.
fn digits_from(bytes: &[u8], start: usize) -> (String, usize) {
    let mut digits = String::new();
    let (mut at, mut end) = (start, start);
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            digits.push(char::from(*byte));
            end = at + 1;
        } else if !b" -()".contains(byte) || at >= end + 2 {
            break;
        }
        at += 1;
    }
    (digits, end)
}

/// The string with percent-encoding decoded, or `None` if it has none.
fn percent_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut decoded = pieces.next()?.as_bytes().to_vec();
    let mut any = false;
    for piece in pieces {
        if let Some(byte) = piece.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            any = true;
            decoded.push(byte);
            decoded.extend_from_slice(&piece.as_bytes()[2..]);
        } else {
            decoded.push(b'%');
            decoded.extend_from_slice(piece.as_bytes());
        }
    }
    any.then(|| String::from_utf8_lossy(&decoded).into_owned())
}

/// The strings written as `[72, 101, 108]`, which is how `Debug` shows bytes.
fn bytes_listed(text: &str) -> Vec<String> {
    let list = |piece: &str| {
        let (inside, _) = piece.split_once(']')?;
        let bytes: Option<Vec<u8>> = inside.split(", ").map(|byte| byte.parse().ok()).collect();
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    text.split('[').skip(1).filter_map(list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phone_numbers_are_known_in_every_form() {
        for text in [
            "07700 900123",
            "to 07700900123.",
            "+447700900123",
            "\"+44 7700 900 123\"",
            "447700900123",
            "to=447700900123, body",
            "0044 7700 900123",
            "+44 (0)7700 900123",
            "(07700) 900-123",
            "/messages/%2B447700900123",
            "+15551234567",
            "b\"\\0\\x01+447700900123\\0\"",
            "[43, 52, 52, 55, 55, 48, 48, 57, 48, 48, 49, 50, 51]",
        ] {
            assert!(matches!(leak(text), Some(Leak::PhoneNumber(_))), "{text}");
        }
    }

    #[test]
    fn times_ids_and_counts_are_no_phone_numbers() {
        for text in [
            "2026-11-21T07:07:10.123Z",
            "2026-11-21 07:07:10.447700900 +0000",
            "1795244830123",
            "0190f1a2-447700900123-07700900123",
            "018f3c07-7009-7012-8345-447700900123",
            "msg_07700900123a",
            "elapsed_secs=0.07700900123",
            "127.0.0.1:54321 took 12 ms of 30000",
            "[1, 2, 3]",
        ] {
            assert_eq!(leak(text), None, "{text}");
        }
    }

    #[test]
    fn keys_secrets_and_credentials_are_known_by_their_form() {
        for (text, what) in [
            ("key cc_live_a1B2c3D4", Leak::ApiKey),
            ("cc_test_000000", Leak::ApiKey),
            ("whsec_MDEyMzQ1", Leak::WebhookSecret),
            ("\"authorization\": \"Bearer abcdef123\"", Leak::Authorization),
            ("postgres://sms:canary@127.0.0.1/sms", Leak::Password),
        ] {
            assert_eq!(leak(text), Some(what), "{text}");
        }
        for text in
            ["cc_live_…", "whsec_", "Bearer ", "postgres://sms@127.0.0.1/sms", "http://x:80/a@b"]
        {
            assert_eq!(leak(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_known_once_they_were_told() {
        let words = "the goose is in the oven";
        let shown = format!("body: {words:?}");
        assert_eq!(leak(&shown), None);
        secret(words);
        assert_eq!(leak(&shown), Some(Leak::Words(words.to_owned())));
        assert_eq!(leak(&format!("{:?}", shown.as_bytes())), Some(Leak::Words(words.to_owned())));
    }

    #[test]
    fn words_that_stand_anywhere_are_not_taken_for_a_leak() {
        for words in ["x", "Hello", "menu here", "delivered", "        "] {
            secret(words);
        }
        assert_eq!(leak("ClientHello: the message is delivered,        x"), None);
        assert_eq!(leak("the menu here"), Some(Leak::Words("menu here".to_owned())));
    }
}
