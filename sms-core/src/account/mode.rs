//! Live or test.

use std::fmt;

/// Whether a request or a text is real. Live texts cost credits and leave; test texts do neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// With a `cc_live_` key.
    Live,
    /// With a `cc_test_` key.
    Test,
}

impl Mode {
    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// Whether it is [`Mode::Test`].
    pub fn is_test(self) -> bool {
        self == Self::Test
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
