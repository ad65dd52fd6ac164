//! The source of randomness for ids, keys, secrets, codes and jitter.

use std::cell::RefCell;
use std::fmt;
use std::sync::Mutex;

/// A source of random bytes. Keys and secrets are drawn from it, so that outside tests it must be
/// cryptographically secure, as [`SystemRandom`] is.
pub trait Random: Send + Sync + fmt::Debug {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// Eight random bytes as a number.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The operating system's random number generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
        let filled = getrandom::fill(bytes);
        // Without randomness every key could be guessed, so stopping is the only safe choice.
        filled.expect("the operating system gives random bytes");
    }

    /// Asks the system for many numbers at once. A message takes about seven, most of them for ids,
    /// and a system call for each would cost more than making the ids.
    fn next_u64(&self) -> u64 {
        thread_local! {
            static DRAWN: RefCell<Drawn> = const { RefCell::new(Drawn::EMPTY) };
        }
        DRAWN.with_borrow_mut(|drawn| drawn.next(*self))
    }
}

/// Numbers drawn ahead, as bytes. Each is given out once, and erased.
struct Drawn {
    bytes: [u8; 512],
    /// How many bytes are left, counted from the start.
    left: usize,
}

impl Drawn {
    const EMPTY: Self = Self { bytes: [0; 512], left: 0 };

    fn next(&mut self, system: SystemRandom) -> u64 {
        if self.left == 0 {
            system.fill(&mut self.bytes);
            self.left = self.bytes.len();
        }
        self.left -= 8;
        let mut number = [0; 8];
        number.swap_with_slice(&mut self.bytes[self.left..self.left + 8]);
        u64::from_le_bytes(number)
    }
}

/// Returns the same bytes for the same seed. For tests and simulations only, never for keys.
#[derive(Debug)]
pub struct SeededRandom(Mutex<SplitMix>);

impl SeededRandom {
    /// A source whose bytes are determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(SplitMix::new(seed)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let word = state.next_u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// SplitMix64: a small generator that expands one seed into many numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator whose numbers are determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, from the full range of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number less than `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next_u64() % bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes_and_another_seed_gives_others() {
        let drawn = |seed| {
            let random = SeededRandom::new(seed);
            let mut bytes = [0; 13];
            random.fill(&mut bytes);
            (bytes, random.next_u64())
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let (bytes, _) = drawn(1);
        assert!(bytes[8..].iter().any(|byte| *byte != 0), "the last piece is filled too");
    }

    #[test]
    fn the_systems_randomness_does_not_repeat() {
        let drawn = [(); 2].map(|()| {
            let mut bytes = [0; 32];
            SystemRandom.fill(&mut bytes);
            bytes
        });
        assert_ne!(drawn[0], drawn[1]);
    }

    #[test]
    fn numbers_drawn_ahead_are_given_out_once_and_erased() {
        let mut drawn = Drawn::EMPTY;
        let numbers: std::collections::HashSet<u64> =
            (0..130).map(|_| drawn.next(SystemRandom)).collect();
        assert_eq!(numbers.len(), 130, "two draws gave the same number");
        assert_eq!(drawn.left, 512 - 2 * 8, "the third portion was just begun");
        assert!(drawn.bytes[drawn.left..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn splitmix_is_the_published_generator() {
        let mut numbers = SplitMix::new(0);
        assert_eq!(numbers.next_u64(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(numbers.next_u64(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn a_number_below_a_bound_is_below_it() {
        let mut numbers = SplitMix::new(1);
        assert_eq!((numbers.below(0), numbers.below(1)), (0, 0));
        assert!((0..1_000).all(|_| numbers.below(7) < 7));
    }
}
