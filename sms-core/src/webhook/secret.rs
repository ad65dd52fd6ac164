//! The secrets that sign an endpoint's deliveries.

use std::fmt;

use crate::random::Random;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

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
}
