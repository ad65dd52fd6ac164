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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{compact, now, person};

    #[test]
    fn an_opt_out_is_written_exactly_as_the_golden_file_shows() {
        let opt_out = OptOut {
            phone: person(),
            source: OptOutSource::Api,
            note: Some("asked on the phone".to_owned()),
            created_at: now(),
        };
        let golden = compact(include_str!("../tests/golden/opt_out.json"));
        assert_eq!(serde_json::to_string(&opt_out).unwrap(), golden);
    }

    #[test]
    fn a_number_opts_out_by_text_by_the_api_or_in_the_dashboard() {
        for (source, name) in [
            (OptOutSource::Sms, "sms"),
            (OptOutSource::Api, "api"),
            (OptOutSource::Dashboard, "dashboard"),
        ] {
            assert_eq!(source.to_string(), name);
            assert_eq!(serde_json::to_value(source).unwrap(), name);
        }
    }
}
