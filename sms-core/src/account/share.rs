//! How an account's messages are weighted against those of other accounts while both wait.

use std::fmt;

/// The weight of an account among those whose messages wait: 1 to 100, by default 1. An account
/// with a share of 3 gets three times what an account with a share of 1 gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u16);

/// The number is no share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a share is a whole number from 1 to 100")]
pub struct NotAShare;

impl Share {
    /// The largest weight. The smallest is 1.
    pub const MAX: u16 = 100;

    /// A share of `weight`.
    pub const fn new(weight: u16) -> Result<Self, NotAShare> {
        if weight >= 1 && weight <= Self::MAX { Ok(Self(weight)) } else { Err(NotAShare) }
    }

    /// The weight, 1 to 100.
    pub fn get(self) -> u16 {
        self.0
    }
}

impl Default for Share {
    fn default() -> Self {
        Self(1)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_from_1_to_100() {
        for weight in [1, 3, 100] {
            assert_eq!(Share::new(weight).map(Share::get), Ok(weight));
        }
        assert_eq!([0, 101].map(Share::new), [Err(NotAShare); 2]);
        assert_eq!(Share::default().to_string(), "1");
    }
}
