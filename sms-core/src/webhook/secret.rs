//! The secrets that sign an endpoint's deliveries, and their rotation.

use std::fmt;
use std::time::Duration;

use crate::random::Random;
use crate::time::Timestamp;

/// How long an old secret stays valid after a rotation: 24 hours.
pub const OLD_SECRET_VALID_FOR: Duration = Duration::from_hours(24);

/// The secret that signs an endpoint's deliveries: `whsec_` and 43 base64url characters with 256
/// random bits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Secret {
    /// Draws a new secret.
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 33];
        random.fill(&mut bytes[..32]);
        // 32 bytes are 43 characters of six bits; the 44th would be padding.
        let characters = bytes.chunks_exact(3).flat_map(|chunk| {
            let bits = chunk.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| char::from(BASE64URL[(bits >> shift) as usize & 63]))
        });
        Self("whsec_".chars().chain(characters.take(43)).collect())
    }

    /// A secret as a store kept it.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The secret in plain text, to be shown once or to sign with.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The secret before the last rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSecret {
    /// The secret.
    pub secret: Secret,
    /// Until when deliveries are signed with it too.
    pub until: Timestamp,
}

/// The secrets that sign a delivery. A receiver accepts it with any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecrets {
    /// The secret that was shown last.
    pub current: Secret,
    /// The one before it, while it is valid.
    pub old: Option<Secret>,
}

impl SigningSecrets {
    /// The secrets that are valid at `at`.
    pub fn at(current: &Secret, old: Option<&OldSecret>, at: Timestamp) -> Self {
        let old = old.filter(|old| at < old.until).map(|old| old.secret.clone());
        Self { current: current.clone(), old }
    }

    /// The secrets in plain text, the current one first.
    pub fn reveal(&self) -> Vec<&str> {
        std::iter::once(&self.current).chain(&self.old).map(Secret::reveal).collect()
    }
}

/// A change of an endpoint's secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretChange {
    /// A new secret. The one before it stays valid for [`OLD_SECRET_VALID_FOR`]; one that is older
    /// still ends.
    Replace(Secret),
    /// A new secret, and no other is valid.
    ReplaceAtOnce(Secret),
    /// The secret stays. An old one that is still valid ends.
    EndOld,
}

impl SecretChange {
    /// The secret and the old one after the change at `at`.
    pub(super) fn apply(self, present: Secret, at: Timestamp) -> (Secret, Option<OldSecret>) {
        match self {
            Self::Replace(new) => {
                let until = at.plus(OLD_SECRET_VALID_FOR);
                (new, Some(OldSecret { secret: present, until }))
            }
            Self::ReplaceAtOnce(new) => (new, None),
            Self::EndOld => (present, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;
    use crate::samples::{now, seconds};

    #[test]
    fn a_secret_is_whsec_and_43_characters_of_base64url_and_debug_hides_it() {
        let secret = Secret::generate(&SeededRandom::new(9));
        let rest = secret.reveal().strip_prefix("whsec_").unwrap();
        assert_eq!(rest.len(), 43);
        assert!(rest.bytes().all(|byte| BASE64URL.contains(&byte)));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn a_secret_is_all_of_the_256_bits_that_were_drawn() {
        #[derive(Debug)]
        struct Counted;
        impl Random for Counted {
            fn fill(&self, bytes: &mut [u8]) {
                for (byte, number) in bytes.iter_mut().zip(224..=255) {
                    *byte = number;
                }
            }
        }
        let secret = Secret::generate(&Counted);
        assert_eq!(secret.reveal(), "whsec_4OHi4-Tl5ufo6err7O3u7_Dx8vP09fb3-Pn6-_z9_v8");
    }

    #[test]
    fn an_old_secret_is_valid_for_a_day_unless_it_is_ended() {
        let named = |name: &str| Secret::from_stored(name.to_owned());
        let old = |name| Some(OldSecret { secret: named(name), until: seconds(86_400) });
        for (change, expected) in [
            (SecretChange::Replace(named("new")), (named("new"), old("present"))),
            (SecretChange::ReplaceAtOnce(named("new")), (named("new"), None)),
            (SecretChange::EndOld, (named("present"), None)),
        ] {
            assert_eq!(change.apply(named("present"), now()), expected);
        }
        let valid = |seconds_| {
            let secrets =
                SigningSecrets::at(&named("new"), old("present").as_ref(), seconds(seconds_));
            secrets.reveal().join(" ")
        };
        assert_eq!(valid(0), "new present");
        assert_eq!(valid(86_399), "new present");
        assert_eq!(valid(86_400), "new");
        assert_eq!(SigningSecrets::at(&named("new"), None, now()).reveal(), ["new"]);
    }
}
