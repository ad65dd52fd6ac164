//! Live or test mode.

use std::fmt;

/// Whether a request or a message is live or a test. Live messages cost credits and go to a
/// network; test messages do neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Made with a `cc_live_` key.
    Live,
    /// Made with a `cc_test_` key.
    Test,
}

impl Mode {
    /// Every value. Stores may keep one as its index here: a new value goes to the end.
    pub const ALL: [Self; 2] = [Self::Live, Self::Test];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// Whether the mode is [`Mode::Test`].
    pub fn is_test(self) -> bool {
        self == Self::Test
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
