//! Secrets as stores keep them: in plain text, or sealed with a key that the store does not have.
//!
//! A [`SecretSealer`] seals and opens. A sealed secret names its key, so that keys can be rotated,
//! and belongs to one endpoint of one account: moved to another row it cannot be opened.

use std::fmt;

use super::secret::Secret;
use crate::ids::{AccountId, EndpointId};
use crate::random::Random;

/// The most characters of a key's id.
const LONGEST_KEY_ID: usize = 32;
/// How a store recognises a sealed secret: no other begins so.
const SEALED: &str = "sealed:";

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The name of a key: 1 to 32 of `[A-Za-z0-9_-]`. It is no secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SealingKeyId(String);

impl SealingKeyId {
    /// A key's id; `None` if the text cannot be one.
    pub fn new(text: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let fits = (1..=LONGEST_KEY_ID).contains(&text.len()) && text.bytes().all(is_allowed);
        fits.then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for SealingKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A secret as a store keeps it. `Debug` shows neither the secret nor what it was sealed into.
#[derive(Clone, PartialEq, Eq)]
pub enum StoredSecret {
    /// In plain text: there was no sealing key when it was stored.
    Plain(Secret),
    /// Sealed with a key that the store does not have.
    Sealed {
        /// The key that opens it.
        key: SealingKeyId,
        /// What the sealer made of it.
        bytes: Vec<u8>,
    },
}

impl From<Secret> for StoredSecret {
    fn from(secret: Secret) -> Self {
        Self::Plain(secret)
    }
}

impl fmt::Debug for StoredSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(secret) => secret.fmt(f),
            Self::Sealed { key, bytes: _ } => write!(f, "Sealed(with {key})"),
        }
    }
}

impl StoredSecret {
    /// A secret as [`to_stored`](Self::to_stored) gave it to a store; `None` if it is damaged.
    pub fn from_stored(text: String) -> Option<Self> {
        let Some(sealed) = text.strip_prefix(SEALED) else {
            return Some(Self::Plain(Secret::from_stored(text)));
        };
        let (key, hex) = sealed.split_once(':')?;
        Some(Self::Sealed { key: SealingKeyId::new(key)?, bytes: bytes_of(hex)? })
    }

    /// The text to keep: the secret itself, or `sealed:`, the key's id, a colon and hex digits.
    pub fn to_stored(&self) -> String {
        match self {
            Self::Plain(secret) => secret.reveal().to_owned(),
            Self::Sealed { key, bytes } => {
                let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
                let digits = digits.map(|bits| char::from(HEX[usize::from(bits)]));
                let mut text = format!("{SEALED}{key}:");
                text.extend(digits);
                text
            }
        }
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|bits| u8::try_from(bits).ok());
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4) | digit(*low)?);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

/// Whose secret it is. A sealer binds a sealed secret to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretPlace {
    /// The account of the endpoint.
    pub account: AccountId,
    /// The endpoint that it signs deliveries of.
    pub endpoint: EndpointId,
}

impl SecretPlace {
    /// The place as bytes: the data to authenticate beside a secret.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.account.as_u128().to_be_bytes());
        bytes[16..].copy_from_slice(&self.endpoint.as_u128().to_be_bytes());
        bytes
    }
}

/// Why a secret could not be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The key is not among those that the program was given.
    #[error("a webhook secret is sealed with key `{0}`, which is not among the keys given: add it")]
    UnknownKey(SealingKeyId),
    /// The key does not open it.
    #[error(
        "key `{0}` does not open a webhook secret that was sealed with a key of that id: either \
         the key has another value than it had then, or what was stored is damaged"
    )]
    WrongKey(SealingKeyId),
    /// It could not be sealed.
    #[error("a webhook secret could not be sealed with key `{0}`")]
    NotSealed(SealingKeyId),
}

/// Seals secrets before a store gets them, and opens them.
pub trait SecretSealer: Send + Sync + fmt::Debug {
    /// Seals a secret with the current key, so that only the same place opens it.
    fn seal(
        &self,
        place: SecretPlace,
        secret: &Secret,
        random: &dyn Random,
    ) -> Result<StoredSecret, SealError>;

    /// Opens a secret. Fails if its key is unknown or it was sealed for another place.
    fn open(&self, place: SecretPlace, stored: &StoredSecret) -> Result<Secret, SealError>;

    /// Whether [`seal`](Self::seal) would seal it with the same key again.
    fn is_current(&self, stored: &StoredSecret) -> bool;
}

/// Keeps secrets in plain text.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainSecrets;

impl SecretSealer for PlainSecrets {
    fn seal(
        &self,
        _place: SecretPlace,
        secret: &Secret,
        _random: &dyn Random,
    ) -> Result<StoredSecret, SealError> {
        Ok(secret.clone().into())
    }

    fn open(&self, _place: SecretPlace, stored: &StoredSecret) -> Result<Secret, SealError> {
        match stored {
            StoredSecret::Plain(secret) => Ok(secret.clone()),
            StoredSecret::Sealed { key, bytes: _ } => Err(SealError::UnknownKey(key.clone())),
        }
    }

    fn is_current(&self, _stored: &StoredSecret) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> StoredSecret {
        Secret::from_stored(text.to_owned()).into()
    }

    fn sealed(key: &str, bytes: &[u8]) -> StoredSecret {
        StoredSecret::Sealed { key: SealingKeyId::new(key).unwrap(), bytes: bytes.to_vec() }
    }

    #[test]
    fn a_secret_is_kept_as_text_and_read_back() {
        for (secret, text) in
            [(plain("whsec_abc"), "whsec_abc"), (sealed("id1", &[0, 255, 16]), "sealed:id1:00ff10")]
        {
            assert_eq!(secret.to_stored(), text);
            assert_eq!(StoredSecret::from_stored(text.to_owned()), Some(secret));
        }
        for damaged in ["sealed:", "sealed:id1", "sealed::00", "sealed:id1:0", "sealed:id1:zz"] {
            assert_eq!(StoredSecret::from_stored(damaged.to_owned()), None, "{damaged}");
        }
    }

    #[test]
    fn debug_shows_nothing_of_a_secret() {
        let shown = format!("{:?} {:?}", plain("whsec_abc"), sealed("id1", b"abc"));
        assert_eq!(shown, "Secret(…) Sealed(with id1)");
    }

    #[test]
    fn a_keys_id_has_1_to_32_plain_characters() {
        for (text, fits) in
            [("a", true), ("2026-11_A", true), ("", false), ("a:b", false), ("é", false)]
        {
            assert_eq!(SealingKeyId::new(text).is_some(), fits, "{text}");
        }
        assert!(SealingKeyId::new(&"a".repeat(32)).is_some());
        assert!(SealingKeyId::new(&"a".repeat(33)).is_none());
    }

    #[test]
    fn without_a_key_a_sealed_secret_is_an_error() {
        let (account, endpoint) = (AccountId::from_u128(1), EndpointId::from_u128(1));
        let place = SecretPlace { account, endpoint };
        let opened = PlainSecrets.open(place, &plain("whsec_abc"));
        assert_eq!(opened, Ok(Secret::from_stored("whsec_abc".to_owned())));
        let key = SealingKeyId::new("id1").unwrap();
        let refused = PlainSecrets.open(place, &sealed("id1", b"c"));
        assert_eq!(refused, Err(SealError::UnknownKey(key)));
    }
}
