//! The signature of a webhook: how the sender makes it and how a receiver checks it.
//!
//! Pure: no clock, no I/O. The signature covers the time and the body, not the other headers, so
//! a receiver that wants to recognise repeats must use the `id` inside the body.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// The header that carries the event's type, such as `message.sent`.
pub const EVENT_HEADER: &str = "X-Connect-Event";

/// The header that carries the delivery's id (`whd_…`), the same on every retry.
pub const DELIVERY_HEADER: &str = "X-Connect-Delivery";

/// The header that carries `t=<unix seconds>,v1=<hex>`; with two secrets, `v1` twice.
pub const SIGNATURE_HEADER: &str = "X-Connect-Signature";

/// How far a signature's time may be from the receiver's, either way, in seconds (inclusive).
pub const TOLERANCE_SECONDS: i64 = 300;

/// Why a signature was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// The header is not `t=<digits>,v1=<64 lower-case hex digits>`.
    #[error("the signature header is malformed")]
    Malformed,
    /// No `v1` value matches this secret, time and body.
    #[error("the signature does not match")]
    Mismatch,
    /// The signature is genuine but more than [`TOLERANCE_SECONDS`] old.
    #[error("the signature is too old")]
    TooOld,
    /// The signature is genuine but more than [`TOLERANCE_SECONDS`] ahead of the receiver's time.
    #[error("the signature is from the future")]
    FromTheFuture,
}

/// Signs `body` and returns the value of [`SIGNATURE_HEADER`].
///
/// The key is the whole secret as the customer sees it, `whsec_` included. `at_unix_seconds` is
/// the time of sending, in seconds since 1970-01-01 UTC; a new attempt signs with a new time.
///
/// ```
/// let header = sms_webhooks::sign("whsec_example", 1_700_000_000, b"{}");
/// assert!(header.starts_with("t=1700000000,v1="));
/// ```
pub fn sign(secret: &str, at_unix_seconds: i64, body: &[u8]) -> String {
    sign_with_each(&[secret], at_unix_seconds, body)
}

/// Signs `body` with each of `secrets`, such as a new one and the one before it, and returns the
/// value of [`SIGNATURE_HEADER`]: one `v1` for each secret, in their order.
///
/// ```
/// use sms_webhooks::{sign_with_each, verify};
///
/// let header = sign_with_each(&["whsec_new", "whsec_old"], 1_700_000_000, b"{}");
/// for secret in ["whsec_new", "whsec_old"] {
///     assert_eq!(verify(secret, &header, b"{}", 1_700_000_000), Ok(()));
/// }
/// ```
pub fn sign_with_each(secrets: &[&str], at_unix_seconds: i64, body: &[u8]) -> String {
    let time_text = at_unix_seconds.to_string();
    let codes = secrets.iter().map(|secret| {
        let code = authentication_code(secret, &time_text, body).finalize();
        format!(",v1={}", hex_from_bytes(&code.into_bytes()))
    });
    codes.fold(format!("t={time_text}"), |header, code| header + &code)
}

/// Checks the value of [`SIGNATURE_HEADER`] against the body exactly as received.
///
/// The comparison takes the same time wherever the first difference is. Several `v1` values may
/// be present (a sender may sign with an old and a new secret); one match is enough. Fields with
/// other names are ignored. `now_unix_seconds` is the receiver's own time.
///
/// # Errors
///
/// [`VerifyError::Malformed`] when the header cannot be read, [`VerifyError::Mismatch`] when it
/// was not made with this secret for this body, and [`VerifyError::TooOld`] or
/// [`VerifyError::FromTheFuture`] when a genuine signature is outside the tolerance.
///
/// ```
/// use sms_webhooks::{VerifyError, sign, verify};
///
/// let header = sign("whsec_example", 1_700_000_000, b"{}");
/// assert_eq!(verify("whsec_example", &header, b"{}", 1_700_000_300), Ok(()));
/// assert_eq!(verify("whsec_example", &header, b"{}", 1_700_000_301), Err(VerifyError::TooOld));
/// assert_eq!(verify("whsec_other", &header, b"{}", 1_700_000_000), Err(VerifyError::Mismatch));
/// ```
pub fn verify(
    secret: &str,
    header: &str,
    body: &[u8],
    now_unix_seconds: i64,
) -> Result<(), VerifyError> {
    let fields = parse_header(header)?;
    let code = authentication_code(secret, fields.time_text, body);
    let matches = fields.codes.iter().any(|claimed| code.clone().verify_slice(claimed).is_ok());
    if !matches {
        return Err(VerifyError::Mismatch);
    }
    if now_unix_seconds.saturating_sub(fields.at_unix_seconds) > TOLERANCE_SECONDS {
        return Err(VerifyError::TooOld);
    }
    if fields.at_unix_seconds.saturating_sub(now_unix_seconds) > TOLERANCE_SECONDS {
        return Err(VerifyError::FromTheFuture);
    }
    Ok(())
}

/// The bytes of a SHA-256 code.
const CODE_BYTES: usize = 32;

struct Fields<'a> {
    /// The digits exactly as in the header, because these were signed.
    time_text: &'a str,
    at_unix_seconds: i64,
    codes: Vec<[u8; CODE_BYTES]>,
}

fn parse_header(header: &str) -> Result<Fields<'_>, VerifyError> {
    let mut time_text = None;
    let mut codes = Vec::new();
    for field in header.split(',') {
        let (name, value) = field.split_once('=').ok_or(VerifyError::Malformed)?;
        match name {
            "t" if time_text.is_some() => return Err(VerifyError::Malformed),
            "t" => time_text = Some(value),
            "v1" => codes.push(bytes_from_hex(value).ok_or(VerifyError::Malformed)?),
            _ => {}
        }
    }
    let time_text = time_text.ok_or(VerifyError::Malformed)?;
    if codes.is_empty() || !time_text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(VerifyError::Malformed);
    }
    let at_unix_seconds = time_text.parse().map_err(|_| VerifyError::Malformed)?;
    Ok(Fields { time_text, at_unix_seconds, codes })
}

fn authentication_code(secret: &str, time_text: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut code =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    code.update(time_text.as_bytes());
    code.update(b".");
    code.update(body);
    code
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex_from_bytes(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        hex.push(char::from(HEX_DIGITS[usize::from(byte >> 4)]));
        hex.push(char::from(HEX_DIGITS[usize::from(byte & 0x0f)]));
    }
    hex
}

fn bytes_from_hex(hex: &str) -> Option<[u8; CODE_BYTES]> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    if pairs.len() != CODE_BYTES || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; CODE_BYTES];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (hex_digit_value(*high)? << 4) | hex_digit_value(*low)?;
    }
    Some(bytes)
}

fn hex_digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE";
    const AT: i64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;

    /// Made with another implementation of HMAC-SHA256, not with this crate.
    const VECTORS: [(&str, i64, &[u8], &str); 4] = [
        (SECRET, AT, BODY, "4656802adc2165749f87bac97db456d4439d7c53fb8d15d8da7d4b563fec6e6d"),
        (SECRET, 0, b"", "e87ea91e6383d09821f76461bf806cee67aab19eebbb83ce6bc515e1ffb030b7"),
        (
            // A key longer than the hash's block is hashed first.
            "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\
             kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk",
            1_790_000_000,
            "{\"text\":\"h\u{e9}llo \u{1f44b}\"}".as_bytes(),
            "11f32a460adf6d3caedd7ab113a862188340877358fb55f6a36a6a66869750df",
        ),
        ("", 1, b"\x00\xff\n", "d1286019eb8278f1f627c0031e0af952bd1172747f56b6a1fb54702eab710426"),
    ];

    #[test]
    fn signatures_equal_those_of_another_implementation() {
        for (secret, at, body, hex) in VECTORS {
            let header = sign(secret, at, body);
            assert_eq!(header, format!("t={at},v1={hex}"));
            assert_eq!(verify(secret, &header, body, at), Ok(()));
        }
    }

    #[test]
    fn the_tolerance_is_300_seconds_either_way_inclusive() {
        let header = sign(SECRET, AT, BODY);
        let table = [
            (AT, Ok(())),
            (AT + 300, Ok(())),
            (AT - 300, Ok(())),
            (AT + 301, Err(VerifyError::TooOld)),
            (AT - 301, Err(VerifyError::FromTheFuture)),
            (i64::MAX, Err(VerifyError::TooOld)),
            (i64::MIN, Err(VerifyError::FromTheFuture)),
        ];
        for (now, verdict) in table {
            assert_eq!(verify(SECRET, &header, BODY, now), verdict, "now = {now}");
        }
    }

    #[test]
    fn a_forged_time_is_a_mismatch_whatever_its_age() {
        let hex = VECTORS[0].3;
        let header = format!("t={},v1={hex}", AT + 1);
        assert_eq!(verify(SECRET, &header, BODY, AT), Err(VerifyError::Mismatch));
        assert_eq!(verify(SECRET, &header, BODY, AT + 9_000), Err(VerifyError::Mismatch));
    }

    #[test]
    fn one_of_several_values_is_enough_and_unknown_fields_are_ignored() {
        let good = VECTORS[0].3;
        let bad = "0".repeat(64);
        let accepted = [
            format!("t={AT},v1={bad},v1={good}"),
            format!("t={AT},v1={good},v1={bad}"),
            format!("v1={good},t={AT}"),
            format!("t={AT},v0=old,v1={good},v2=,note=a=b"),
        ];
        for header in accepted {
            assert_eq!(verify(SECRET, &header, BODY, AT), Ok(()), "{header}");
        }
        let none_matches = format!("t={AT},v1={bad},v1={bad}");
        assert_eq!(verify(SECRET, &none_matches, BODY, AT), Err(VerifyError::Mismatch));
        let other_version = format!("t={AT},v1={bad},v2={good}");
        assert_eq!(verify(SECRET, &other_version, BODY, AT), Err(VerifyError::Mismatch));
    }

    #[test]
    fn what_is_not_a_signature_header_is_malformed() {
        let good = VECTORS[0].3;
        let malformed = [
            String::new(),
            "t".to_owned(),
            format!("t={AT}"),
            format!("v1={good}"),
            format!("t=,v1={good}"),
            format!("t=-1,v1={good}"),
            format!("t=+{AT},v1={good}"),
            format!("t={AT}.0,v1={good}"),
            format!("t=99999999999999999999,v1={good}"),
            format!("t={AT},t={AT},v1={good}"),
            format!("t={AT},v1={}", good.to_uppercase()),
            format!("t={AT},v1={}", &good[1..]),
            format!("t={AT},v1={good}0"),
            format!("t={AT},v1={good}00"),
            format!("t={AT},v1={}", "\u{e9}".repeat(32)),
            format!("t={AT},v1={good},"),
            format!("t={AT}, v1={good}"),
            format!("t={AT};v1={good}"),
        ];
        for header in malformed {
            assert_eq!(verify(SECRET, &header, BODY, AT), Err(VerifyError::Malformed), "{header}");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_never_verifies(
            body in proptest::collection::vec(any::<u8>(), 1..200),
            position in any::<proptest::sample::Index>(),
            change in 1..=255_u8,
        ) {
            let header = sign(SECRET, AT, &body);
            prop_assert_eq!(verify(SECRET, &header, &body, AT), Ok(()));
            let mut changed = body.clone();
            changed[position.index(body.len())] ^= change;
            prop_assert_eq!(verify(SECRET, &header, &changed, AT), Err(VerifyError::Mismatch));
        }

        #[test]
        fn no_header_panics(header in "\\PC{0,200}") {
            prop_assert!(verify(SECRET, &header, BODY, AT).is_err());
        }

        #[test]
        fn nearly_right_headers_do_not_panic(
            header in "(t|v1|=|,|[0-9a-f]|[0-9]{9}){0,40}",
        ) {
            prop_assert!(verify(SECRET, &header, BODY, AT).is_err());
        }
    }
}
