//! The secrets that sign an endpoint's deliveries.

use std::fmt;

use crate::random::Random;

/// The secret that signs an endpoint's deliveries: `whsec_` and 32 random bytes in standard Base64,
/// as Standard Webhooks asks for. Endpoints that are older keep `whsec_` and 43 base64url
/// characters. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Secret {
    /// Draws a new secret.
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 33];
        random.fill(&mut bytes[..32]);
        // 32 bytes are 43 characters of six bits; the 44th is padding.
        let characters = bytes.chunks_exact(3).flat_map(|chunk| {
            let bits = chunk.iter().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte));
            [18, 12, 6, 0].map(|shift| char::from(BASE64[(bits >> shift) as usize & 63]))
        });
        Self("whsec_".chars().chain(characters.take(43)).chain(['=']).collect())
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
    fn a_secret_is_whsec_and_32_bytes_of_padded_base64_and_debug_hides_it() {
        let secret = Secret::generate(&SeededRandom::new(9));
        let rest = secret.reveal().strip_prefix("whsec_").unwrap();
        let characters = rest.strip_suffix('=').unwrap();
        assert_eq!(characters.len(), 43);
        assert!(characters.bytes().all(|byte| BASE64.contains(&byte)));
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
        assert_eq!(secret.reveal(), "whsec_4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=");
    }
}
