//! API keys: their form, their checksum, and the hash that is stored in their place.
//!
//! A key is `cc_live_` or `cc_test_`, 32 random base62 characters (190 bits) and 6 checksum
//! characters. The checksum rejects a mistyped or invented key without asking the store.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::ids::{AccountId, ApiKeyId};
use crate::mode::Mode;
use crate::random::Random;
use crate::time::Timestamp;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_LENGTH: usize = 32;
const CHECKSUM_LENGTH: usize = 6;

/// A complete key, as its owner holds it. It is shown once, never stored, and never printed by
/// `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    text: String,
    mode: Mode,
}

/// The text cannot be a key: its prefix, length, alphabet or checksum is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid API key")]
pub struct NotAKey;

/// The SHA-256 hash of a key, which stores keep and look up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash([u8; 32]);

impl ApiKey {
    /// Draws a new key.
    pub fn generate(mode: Mode, random: &dyn Random) -> Self {
        let mut text = String::with_capacity(8 + RANDOM_LENGTH + CHECKSUM_LENGTH);
        text.push_str(prefix(mode));
        push_random_base62(&mut text, RANDOM_LENGTH, random);
        let checksum = checksum(&text);
        text.push_str(&checksum);
        Self { text, mode }
    }

    /// Parses a key and checks its form and checksum, not whether it exists.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let mode = [Mode::Live, Mode::Test]
            .into_iter()
            .find(|mode| text.starts_with(prefix(*mode)))
            .ok_or(NotAKey)?;
        let rest = &text.as_bytes()[prefix(mode).len()..];
        let well_formed = rest.len() == RANDOM_LENGTH + CHECKSUM_LENGTH
            && rest.iter().all(u8::is_ascii_alphanumeric);
        if !well_formed {
            return Err(NotAKey);
        }
        let (body, given) = text.split_at(text.len() - CHECKSUM_LENGTH);
        if checksum(body) == given {
            Ok(Self { text: text.to_owned(), mode })
        } else {
            Err(NotAKey)
        }
    }

    /// Whether the key is a live or a test key.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The key in full, to show to its owner once.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// The hash that a store keeps in place of the key.
    pub fn hash(&self) -> KeyHash {
        KeyHash(Sha256::digest(self.text.as_bytes()).into())
    }

    /// The last four characters, which help to recognise a key in a list.
    pub fn last_four(&self) -> &str {
        &self.text[self.text.len() - 4..]
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({}…)", prefix(self.mode))
    }
}

impl KeyHash {
    /// The hash with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

/// A key as a store keeps it and a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    /// The id of the record. It is not secret.
    pub id: ApiKeyId,
    /// The account that the key belongs to.
    pub account: AccountId,
    /// Whether it is a live or a test key.
    pub mode: Mode,
    /// A name that helps people recognise the key; `None` if it has none.
    pub name: Option<String>,
    /// The hash by which the key is found.
    pub hash: KeyHash,
    /// The last four characters of the key.
    pub last_four: String,
    /// When the key was created.
    pub created_at: Timestamp,
    /// When the key was last used, to about a minute; `None` if never.
    pub last_used_at: Option<Timestamp>,
    /// When the key was revoked; `None` while it is valid.
    pub revoked_at: Option<Timestamp>,
}

/// The prefix of every key of this mode.
pub fn prefix(mode: Mode) -> &'static str {
    match mode {
        Mode::Live => "cc_live_",
        Mode::Test => "cc_test_",
    }
}

/// Appends `count` base62 characters, each equally likely.
fn push_random_base62(text: &mut String, count: usize, random: &dyn Random) {
    let wanted = text.len() + count;
    let mut bytes = [0; 64];
    while text.len() < wanted {
        random.fill(&mut bytes);
        // 248 is the largest multiple of 62 in a byte; higher values would favour some characters.
        let fair = bytes.iter().filter(|byte| **byte < 248).take(wanted - text.len());
        text.extend(fair.map(|byte| char::from(BASE62[usize::from(byte % 62)])));
    }
}

/// Six base62 characters computed from the text before them.
fn checksum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let first = digest[..8].iter().fold(0u64, |value, byte| (value << 8) | u64::from(*byte));
    let digits = (0..CHECKSUM_LENGTH).scan(first, |rest, _| {
        let digit = BASE62[(*rest % 62) as usize];
        *rest /= 62;
        Some(char::from(digit))
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;
    use crate::random::SeededRandom;

    #[test]
    fn a_key_parses_back_and_is_shown_only_on_request() {
        for mode in [Mode::Live, Mode::Test] {
            let key = ApiKey::generate(mode, &SeededRandom::new(4));
            assert_eq!(key.reveal().len(), 46);
            let read = ApiKey::parse(key.reveal()).unwrap();
            assert_eq!(read, key);
            assert_eq!(read.mode(), mode);
            assert_eq!(read.hash(), key.hash());
            assert!(!format!("{key:?} {:?}", key.hash()).contains(&key.reveal()[8..]));
        }
    }

    #[test]
    fn an_issued_key_stays_valid_and_a_list_shows_its_last_characters() {
        let out = "cc_live_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef4ZbDGk";
        let key = ApiKey::parse(out).unwrap();
        assert_eq!((key.reveal(), key.mode()), (out, Mode::Live));
        assert_eq!(key.last_four(), "bDGk");
        assert_eq!(KeyHash::from_bytes(*key.hash().as_bytes()), key.hash());
        assert_eq!(key.hash().as_bytes(), &<[u8; 32]>::from(Sha256::digest(out)));
    }

    /// Returns every byte in turn, repeatedly.
    #[derive(Debug, Default)]
    struct Turns(AtomicU8);

    impl Random for Turns {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        }
    }

    #[test]
    fn every_character_of_a_key_is_equally_likely() {
        let mut text = String::new();
        push_random_base62(&mut text, 2 * 248, &Turns::default());
        assert_eq!(text.len(), 2 * 248);
        for character in BASE62 {
            let times = text.bytes().filter(|byte| byte == character).count();
            assert_eq!(times, 8, "{}", char::from(*character));
        }
    }

    #[test]
    fn a_key_with_one_character_changed_is_refused() {
        let key = ApiKey::generate(Mode::Live, &SeededRandom::new(5));
        for position in 0..key.reveal().len() {
            let mut changed = key.reveal().to_owned().into_bytes();
            changed[position] = if changed[position] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(ApiKey::parse(&changed), Err(NotAKey), "{position}");
        }
        for bad in ["", "cc_live_", "cc_live_é", &key.reveal()[..45], &format!("{}0", key.reveal())]
        {
            assert_eq!(ApiKey::parse(bad), Err(NotAKey), "{bad}");
        }
        // Invented keys with a correct checksum that are too long or have other characters.
        for made_up in ["x".repeat(31) + "-", "x".repeat(33), "x".repeat(30) + "é"] {
            let text = format!("cc_live_{made_up}");
            let text = format!("{text}{}", checksum(&text));
            assert_eq!(ApiKey::parse(&text), Err(NotAKey), "{text}");
        }
        let other_kind = key.reveal().replace("cc_live_", "cc_test_");
        assert_eq!(ApiKey::parse(&other_kind), Err(NotAKey));
    }
}
