//! Opt-outs: numbers that an account must not text.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::phone::E164;
use crate::time::Timestamp;

pub mod store;

/// How a number came to be opted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OptOutSource {
    /// It texted STOP or a similar word.
    Sms,
    /// The account's own program said so.
    Api,
    /// Somebody said so in the dashboard.
    Dashboard,
}

impl OptOutSource {
    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sms => "sms",
            Self::Api => "api",
            Self::Dashboard => "dashboard",
        }
    }
}

impl fmt::Display for OptOutSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for OptOutSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A number that the account must not text. Serialises to the opt-out of the API and of the event
/// `opt_out.created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OptOut {
    /// The number.
    pub phone: E164,
    /// How it came to be opted out.
    pub source: OptOutSource,
    /// A note of the account's.
    pub note: Option<String>,
    /// Since when.
    pub created_at: Timestamp,
}
