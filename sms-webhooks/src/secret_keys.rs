//! Seals webhook secrets with ChaCha20-Poly1305, under keys that only the program has.
//!
//! A sealed secret is a random nonce of 12 bytes, the ciphertext, and a tag of 16 bytes. The ids of
//! the account and of the endpoint are authenticated with it.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sms_core::random::Random;
use sms_core::webhook::sealing::{
    SealError, SealingKeyId, SecretPlace, SecretSealer, StoredSecret,
};
use sms_core::webhook::secret::Secret;

/// Keys that seal webhook secrets: the first one seals, and all of them open. Written as
/// `id:BASE64`, separated by commas. What is stored in plain text opens too.
///
/// ```
/// use sms_webhooks::SecretKeys;
///
/// let keys: SecretKeys = "2026-11:QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=".parse()?;
/// assert_eq!(keys.current().to_string(), "2026-11");
/// # Ok::<(), sms_webhooks::KeysRefused>(())
/// ```
pub struct SecretKeys {
    current: Key,
    others: Vec<Key>,
}

struct Key {
    id: SealingKeyId,
    key: LessSafeKey,
}

/// Why keys were refused. Says nothing of their values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeysRefused {
    /// There is no colon, or what stands before it cannot be an id.
    #[error(
        "write each key as id:BASE64, with commas between keys; an id has 1 to 32 letters, digits, \
         hyphens and underscores"
    )]
    Form,
    /// A key does not have 32 bytes.
    #[error("key `{0}` must be 32 bytes in Base64, as `openssl rand -base64 32` prints them")]
    Value(SealingKeyId),
    /// Two keys have the same id.
    #[error("key `{0}` is given twice; each key needs an id of its own")]
    Repeated(SealingKeyId),
}

impl SecretKeys {
    /// The id of the key that seals.
    pub fn current(&self) -> &SealingKeyId {
        &self.current.id
    }

    fn all(&self) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.current).chain(&self.others)
    }
}

impl FromStr for SecretKeys {
    type Err = KeysRefused;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut keys = text.split(',').map(|key| key.trim().parse());
        let current = keys.next().ok_or(KeysRefused::Form)??;
        let mut read = Self { current, others: Vec::new() };
        for key in keys {
            let key: Key = key?;
            if read.all().any(|other| other.id == key.id) {
                return Err(KeysRefused::Repeated(key.id));
            }
            read.others.push(key);
        }
        Ok(read)
    }
}

impl FromStr for Key {
    type Err = KeysRefused;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, value) = text.split_once(':').ok_or(KeysRefused::Form)?;
        let id = SealingKeyId::new(id).ok_or(KeysRefused::Form)?;
        let key = STANDARD.decode(value).ok();
        let key = key.and_then(|bytes| UnboundKey::new(&CHACHA20_POLY1305, &bytes).ok());
        match key {
            Some(key) => Ok(Self { id, key: LessSafeKey::new(key) }),
            None => Err(KeysRefused::Value(id)),
        }
    }
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|key| &key.id)).finish()
    }
}

impl SecretSealer for SecretKeys {
    fn seal(
        &self,
        place: SecretPlace,
        secret: &Secret,
        random: &dyn Random,
    ) -> Result<StoredSecret, SealError> {
        let Key { id, key } = &self.current;
        let mut nonce = [0; NONCE_LEN];
        random.fill(&mut nonce);
        let mut sealed = secret.reveal().as_bytes().to_vec();
        let nonce_of_key = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce_of_key, Aad::from(place.to_bytes()), &mut sealed)
            .map_err(|_| SealError::NotSealed(id.clone()))?;
        let bytes = [&nonce[..], &sealed].concat();
        Ok(StoredSecret::Sealed { key: id.clone(), bytes })
    }

    fn open(&self, place: SecretPlace, stored: &StoredSecret) -> Result<Secret, SealError> {
        let (id, bytes) = match stored {
            StoredSecret::Plain(secret) => return Ok(secret.clone()),
            StoredSecret::Sealed { key, bytes } => (key, bytes),
        };
        let key = self.all().find(|key| key.id == *id);
        let key = key.ok_or_else(|| SealError::UnknownKey(id.clone()))?;
        key.open(place, bytes).ok_or_else(|| SealError::WrongKey(id.clone()))
    }

    fn is_current(&self, stored: &StoredSecret) -> bool {
        matches!(stored, StoredSecret::Sealed { key, bytes: _ } if *key == self.current.id)
    }
}

impl Key {
    fn open(&self, place: SecretPlace, bytes: &[u8]) -> Option<Secret> {
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.open_in_place(nonce, Aad::from(place.to_bytes()), &mut sealed);
        let text = str::from_utf8(opened.ok()?).ok()?;
        Some(Secret::from_stored(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use sms_core::ids::{AccountId, EndpointId};
    use sms_core::random::SeededRandom;

    use super::*;

    fn base64_of(byte: u8) -> String {
        STANDARD.encode([byte; 32])
    }

    fn keys(ids: &[(&str, u8)]) -> SecretKeys {
        let keys = ids.iter().map(|(id, byte)| format!("{id}:{}", base64_of(*byte)));
        keys.collect::<Vec<_>>().join(",").parse().unwrap()
    }

    fn place(account: u128, endpoint: u128) -> SecretPlace {
        let account = AccountId::from_u128(account);
        SecretPlace { account, endpoint: EndpointId::from_u128(endpoint) }
    }

    fn secret() -> Secret {
        Secret::generate(&SeededRandom::new(1))
    }

    fn id(text: &str) -> SealingKeyId {
        SealingKeyId::new(text).unwrap()
    }

    fn sealed(keys: &SecretKeys, seed: u64) -> StoredSecret {
        keys.seal(place(1, 2), &secret(), &SeededRandom::new(seed)).unwrap()
    }

    #[test]
    fn what_the_first_key_seals_opens_with_that_key_wherever_it_stands() {
        let one = sealed(&keys(&[("old", 1)]), 2);
        let text = one.to_stored();
        assert!(text.starts_with("sealed:old:") && !text.contains(secret().reveal()), "{text}");
        let read = StoredSecret::from_stored(text).unwrap();
        let both = keys(&[("new", 2), ("old", 1)]);
        for keys in [&keys(&[("old", 1)]), &both] {
            assert_eq!(keys.open(place(1, 2), &read), Ok(secret()));
        }
        let again = sealed(&both, 2);
        assert!(again.to_stored().starts_with("sealed:new:"));
        let is_current = [&one, &again, &secret().into()].map(|stored| both.is_current(stored));
        assert_eq!(is_current, [false, true, false]);
        assert_eq!(both.open(place(1, 2), &secret().into()), Ok(secret()));
    }

    #[test]
    fn each_sealing_has_a_nonce_of_its_own() {
        let keys = keys(&[("a", 1)]);
        let random = SeededRandom::new(2);
        let [one, two] = [(); 2].map(|()| keys.seal(place(1, 2), &secret(), &random).unwrap());
        assert_ne!(one, two);
    }

    #[test]
    fn another_key_another_endpoint_and_every_changed_byte_open_nothing() {
        let keys_of = keys(&[("a", 1)]);
        let stored = sealed(&keys_of, 2);
        let wrong = Err(SealError::WrongKey(id("a")));
        assert_eq!(keys(&[("a", 9)]).open(place(1, 2), &stored), wrong);
        let unknown = Err(SealError::UnknownKey(id("a")));
        assert_eq!(keys(&[("b", 1)]).open(place(1, 2), &stored), unknown);
        assert_eq!(keys_of.open(place(1, 3), &stored), wrong);
        assert_eq!(keys_of.open(place(3, 2), &stored), wrong);
        let StoredSecret::Sealed { key, bytes } = stored else { panic!("not sealed") };
        for place_of_byte in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[place_of_byte] ^= 1;
            let changed = StoredSecret::Sealed { key: key.clone(), bytes };
            assert_eq!(keys_of.open(place(1, 2), &changed), wrong, "{place_of_byte}");
        }
        for length in [0, NONCE_LEN, bytes.len() - 1] {
            let bytes = bytes[..length].to_vec();
            let cut = StoredSecret::Sealed { key: key.clone(), bytes };
            assert_eq!(keys_of.open(place(1, 2), &cut), wrong, "{length}");
        }
    }

    #[test]
    fn keys_that_cannot_be_used_are_refused_without_showing_them() {
        let value = base64_of(7);
        for (text, refused) in [
            (String::new(), KeysRefused::Form),
            (value.clone(), KeysRefused::Form),
            (format!("a b:{value}"), KeysRefused::Form),
            (format!("a:{value},"), KeysRefused::Form),
            ("a:".to_owned(), KeysRefused::Value(id("a"))),
            (format!("a:{}", STANDARD.encode([7; 31])), KeysRefused::Value(id("a"))),
            (format!("a:{value},b:?{value}"), KeysRefused::Value(id("b"))),
            (format!("a:{value}, a:{value}"), KeysRefused::Repeated(id("a"))),
        ] {
            let error = text.parse::<SecretKeys>().unwrap_err();
            assert_eq!(error, refused, "{text}");
            assert!(!error.to_string().contains(&value[..8]), "{error}");
        }
        let shown = format!("{:?}", keys(&[("a", 7), ("b", 8)]));
        assert!(shown.contains('a') && !shown.contains(&value[..8]), "{shown}");
    }
}
