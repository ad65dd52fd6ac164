//! The signature of Standard Webhooks (<https://www.standardwebhooks.com>), which every delivery
//! carries beside [`SIGNATURE_HEADER`](crate::SIGNATURE_HEADER), so that the project's libraries
//! verify it. Unlike the other signature, it covers the delivery's id.
//!
//! Pure: no clock, no I/O. Receivers verify with a `standardwebhooks` library of their language.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, PAD, STANDARD};
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header that carries the delivery's id (`whd_…`), the same on every retry.
pub const STANDARD_ID_HEADER: &str = "webhook-id";

/// The header that carries the time of sending, in seconds since 1970-01-01 UTC.
pub const STANDARD_TIMESTAMP_HEADER: &str = "webhook-timestamp";

/// The header that carries `v1,<Base64>`; with two secrets, two such values and a space between.
pub const STANDARD_SIGNATURE_HEADER: &str = "webhook-signature";

const ANY_PADDING: GeneralPurposeConfig =
    PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent);
/// Base64 with `+` and `/`, in which today's secrets are written.
const STANDARD_ALPHABET: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_PADDING);
/// Secrets of older endpoints.
const URL_ALPHABET: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY_PADDING);

/// Signs a delivery with each of `secrets` and returns the value of
/// [`STANDARD_SIGNATURE_HEADER`], in their order.
///
/// The key is what the Base64 after `whsec_` stands for: standard Base64 or, in secrets of older
/// endpoints, base64url without padding. Text that is neither is the key itself.
///
/// ```
/// let secret = "whsec_4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=";
/// let header = sms_webhooks::sign_standard(&[secret], "whd_1", 1_700_000_000, b"{}");
/// assert!(header.starts_with("v1,"));
/// ```
pub fn sign_standard(
    secrets: &[&str],
    delivery_id: &str,
    at_unix_seconds: i64,
    body: &[u8],
) -> String {
    let head = format!("{delivery_id}.{at_unix_seconds}.");
    let signatures = secrets.iter().map(|secret| signature(secret, &head, body));
    signatures.collect::<Vec<_>>().join(" ")
}

fn signature(secret: &str, head: &str, body: &[u8]) -> String {
    let key = key_of(secret);
    let mut code = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    code.update(head.as_bytes());
    code.update(body);
    format!("v1,{}", STANDARD.encode(code.finalize().into_bytes()))
}

/// The key that a secret stands for.
fn key_of(secret: &str) -> Vec<u8> {
    let text = secret.strip_prefix("whsec_").unwrap_or(secret);
    let decoded = STANDARD_ALPHABET.decode(text).or_else(|_| URL_ALPHABET.decode(text));
    decoded.unwrap_or_else(|_| text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    /// The same 32 bytes, as today's secrets and those of older endpoints write them.
    const TODAYS: &str = "whsec_4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=";
    const OLDER: &str = "whsec_4OHi4-Tl5ufo6err7O3u7_Dx8vP09fb3-Pn6-_z9_v8";

    #[test]
    fn signatures_equal_those_of_another_implementation() {
        // Made with the package `standardwebhooks` of PyPI, except the last one, which has no
        // Base64 to decode: it was made with Python's `hmac`.
        for (secret, code) in [
            (TODAYS, "wFiu8/V5TqNOgLJgafpPECyugx74sFhRgbQX4+F0v1c="),
            (
                "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
                "wxghqUo2hYeys9ccQpdx+nCu9ASIsjfRAxh5oLmkekU=",
            ),
            ("not base64!", "WPobwKQ9mF4023vM8Ws41whYrc1seexf3G+S2YjcpS4="),
        ] {
            assert_eq!(sign_standard(&[secret], "whd_1", AT, BODY), format!("v1,{code}"));
        }
    }

    #[test]
    fn the_key_of_an_older_secret_is_the_bytes_that_its_base64url_stands_for() {
        assert_eq!(key_of(OLDER), (224..=255).collect::<Vec<u8>>());
        let [older, todays] = [OLDER, TODAYS].map(|it| sign_standard(&[it], "whd_1", AT, BODY));
        assert_eq!(older, todays);
    }

    #[test]
    fn each_secret_adds_a_signature_and_each_part_changes_it() {
        let other = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let [one, two] = [TODAYS, other].map(|it| sign_standard(&[it], "whd_1", AT, BODY));
        assert_eq!(sign_standard(&[TODAYS, other], "whd_1", AT, BODY), format!("{one} {two}"));
        assert_ne!(sign_standard(&[TODAYS], "whd_2", AT, BODY), one);
        assert_ne!(sign_standard(&[TODAYS], "whd_1", AT + 1, BODY), one);
        assert_ne!(sign_standard(&[TODAYS], "whd_1", AT, b"{}"), one);
    }
}
