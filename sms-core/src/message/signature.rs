//! A Bloom filter over the runs of characters in the bodies of some messages, for stores that
//! search for words. It may report words that are absent, but never misses words that are present.
//!
//! ```
//! use sms_core::message::signature::{Signature, bits_of, has_all};
//!
//! let mut signature = Signature::new();
//! signature.take_in("Your table is ready");
//! assert!(has_all(&signature.into_bytes(), &bits_of("table")));
//! ```

/// How many bits a signature has. Stored signatures depend on it and on everything below.
const BITS: usize = 1_920 * 8;
/// A signature with this many bits set excludes too little to add more bodies.
const FULL: usize = BITS / 2;
/// The lengths of the runs, in characters: short ones for short words, long ones because they are
/// rare.
const RUNS: [usize; 4] = [1, 2, 3, 5];

/// The signature of the bodies added so far.
#[derive(Debug, Clone)]
pub struct Signature {
    bytes: Vec<u8>,
    set: usize,
}

impl Signature {
    /// The signature of no body.
    pub fn new() -> Self {
        Self { bytes: vec![0; BITS / 8], set: 0 }
    }

    /// Adds the runs of a body.
    pub fn take_in(&mut self, body: &str) {
        for bit in bits(&body.to_lowercase()) {
            let (byte, mask) = (bit / 8, 1 << (bit % 8));
            if self.bytes[byte] & mask == 0 {
                self.bytes[byte] |= mask;
                self.set += 1;
            }
        }
    }

    /// Whether no more bodies should be added: it would exclude too little.
    pub fn is_full(&self) -> bool {
        self.set >= FULL
    }

    /// The signature as it is stored, 1,920 bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Default for Signature {
    fn default() -> Self {
        Self::new()
    }
}

/// The bits that are set wherever a body has these words, which are in lower case. Each bit once,
/// those of the longest runs first, because they are set the least often.
pub fn bits_of(words: &str) -> Vec<usize> {
    let mut asked = Vec::new();
    for bit in bits(words) {
        if !asked.contains(&bit) {
            asked.push(bit);
        }
    }
    asked
}

/// Whether a stored signature has all these bits.
pub fn has_all(signature: &[u8], bits: &[usize]) -> bool {
    bits.iter().all(|bit| signature.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0))
}

/// Two bits for each run of characters, the longest runs first.
fn bits(text: &str) -> impl Iterator<Item = usize> {
    let characters: Vec<u32> = text.chars().map(u32::from).collect();
    let lengths = RUNS.iter().rev().copied();
    lengths.flat_map(move |length| {
        let runs: Vec<[usize; 2]> = characters.windows(length).map(two_bits).collect();
        runs.into_iter().flatten()
    })
}

/// FNV-1a over the characters, then mixed so that each half is independent.
fn two_bits(run: &[u32]) -> [usize; 2] {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for character in run {
        hash = (hash ^ u64::from(*character)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    [hash >> 32, hash & 0xffff_ffff].map(|half| usize::try_from(half).unwrap_or(0) % BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says_yes(signature: &[u8], words: &str) -> bool {
        has_all(signature, &bits_of(words))
    }

    fn of(bodies: &[&str]) -> Vec<u8> {
        let mut signature = Signature::new();
        for body in bodies {
            signature.take_in(body);
        }
        signature.into_bytes()
    }

    #[test]
    fn every_piece_of_every_body_is_found_in_any_case() {
        let bodies = ["Your TABLE is ready", "Soirée au CAFÉ", "Ваш СТОЛ готов", "ΟΔΟΣ", "İ"];
        let signature = of(&bodies);
        for body in bodies.map(str::to_lowercase) {
            let starts: Vec<usize> = body.char_indices().map(|(at, _)| at).collect();
            for from in &starts {
                for to in starts.iter().chain([&body.len()]).filter(|to| *to > from) {
                    let part = &body[*from..*to];
                    assert!(says_yes(&signature, part), "{part}");
                }
            }
        }
    }

    #[test]
    fn a_signature_excludes_absent_words_of_any_length() {
        let signature = of(&["your table is ready", "see you at noon"]);
        for words in ["q", "zz", "xyz", "qqqq", "wednesday", "583920"] {
            assert!(!says_yes(&signature, words), "{words}");
        }
    }

    #[test]
    fn a_signature_is_full_when_half_of_it_is_set() {
        let mut signature = Signature::new();
        let mut count = 0;
        while !signature.is_full() {
            count += 1;
            signature.take_in(&format!("{count} is {} and {}", count * 7_919, count * 104_729));
        }
        let set: u32 = signature.bytes.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(set as usize, signature.set);
        assert!(count > 50 && signature.set < FULL + 200, "{count} bodies, {} bits", signature.set);
    }

    #[test]
    fn signatures_stay_compatible_with_stored_ones() {
        assert_eq!(bits_of("a"), KNOWN);
    }

    const KNOWN: [usize; 2] = [7_390, 589];
}
