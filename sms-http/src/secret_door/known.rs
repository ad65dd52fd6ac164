//! Secrets that were seen before, in a fixed amount of memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many secrets are recognised. One that another displaces counts as new.
const PLACES: usize = 16_384;

/// A part of each secret's hash, at a place that another part of it names.
#[derive(Debug)]
pub(super) struct Known(Box<[AtomicU64]>);

impl Known {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }

    pub(super) fn has(&self, hash: &[u8; 32]) -> bool {
        let (place, mark) = self.place(hash);
        place.load(Ordering::Relaxed) == mark
    }

    pub(super) fn add(&self, hash: &[u8; 32]) {
        let (place, mark) = self.place(hash);
        // Most requests find it there, and then share the memory without writing to it.
        if place.load(Ordering::Relaxed) != mark {
            place.store(mark, Ordering::Relaxed);
        }
    }

    pub(super) fn forget(&self, hash: &[u8; 32]) {
        let (place, mark) = self.place(hash);
        // Another secret may have taken the place meanwhile.
        let _ = place.compare_exchange(mark, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn place(&self, hash: &[u8; 32]) -> (&AtomicU64, u64) {
        let (words, _) = hash.as_chunks::<8>();
        let [place, mark] = [0, 1].map(|word| u64::from_le_bytes(words[word]));
        // A remainder below the number of places fits.
        let place = usize::try_from(place % PLACES as u64).unwrap_or_default();
        (&self.0[place], mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_key_is_recognised_until_it_is_forgotten_or_displaced() {
        let known = Known::new();
        let hash = |first: u8, rest: u8| {
            let mut bytes = [rest; 32];
            bytes[0] = first;
            bytes
        };
        let (one, displacing, elsewhere) = (hash(1, 7), hash(1, 7 ^ 0x40), hash(2, 7));
        known.add(&one);
        assert!(known.has(&one) && !known.has(&displacing) && !known.has(&elsewhere));
        known.forget(&elsewhere);
        assert!(known.has(&one));
        known.forget(&one);
        assert!(!known.has(&one));
        known.add(&one);
        known.add(&displacing);
        // Both have the same place if only the bits beyond it differ.
        assert!(known.has(&displacing));
    }
}
