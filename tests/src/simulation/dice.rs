//! The seeded choices of a simulation: every decision is drawn here.

use sms_core::random::SplitMix;

/// A source of choices that follow from its seed.
#[derive(Debug, Clone)]
pub struct Dice(SplitMix);

impl Dice {
    /// Choices that follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix::new(seed))
    }

    /// Another source, whose choices follow from this one's.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::new(self.0.next_u64())
    }

    /// A seed for something else.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.below(bound as u64)).unwrap_or_default()
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high.saturating_sub(low) + 1)
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.0.below(100) < chance
    }

    /// True with this probability in thousandths.
    pub fn permille(&mut self, chance: u64) -> bool {
        self.0.below(1_000) < chance
    }

    /// One of `items`; `None` when there is none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len())).copied()
    }

    /// One of `items`, with a probability proportional to its weight.
    ///
    /// # Panics
    ///
    /// If no weight is above 0.
    pub fn weighted<T: Copy>(&mut self, items: &[(u64, T)]) -> T {
        let total = items.iter().map(|(weight, _)| weight).sum();
        let mut rest = self.0.below(total);
        for (weight, item) in items {
            if rest < *weight {
                return *item;
            }
            rest -= weight;
        }
        panic!("one weight at least is above 0")
    }
}
