//! Opt-outs: numbers that an account must not text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use crate::idempotency::Answer;
use crate::message::filter::Search;
use crate::phone::E164;
use crate::time::Timestamp;
use crate::unknown_name::UnknownName;

pub mod import;
pub mod store;

/// The maximum length of a note, in characters.
pub const MAX_NOTE: usize = 500;

/// How a number came to be opted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OptOutSource {
    /// The number texted STOP or a similar word.
    Sms,
    /// The account added it through the API.
    Api,
    /// A person added it in the dashboard.
    Dashboard,
}

impl OptOutSource {
    /// Every value, in the order in which the API lists them.
    pub const ALL: [Self; 3] = [Self::Sms, Self::Api, Self::Dashboard];

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

impl FromStr for OptOutSource {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        [Self::Sms, Self::Api, Self::Dashboard]
            .into_iter()
            .find(|source| source.as_str() == text)
            .ok_or(UnknownName::of("opt-out source"))
    }
}

impl Serialize for OptOutSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How an account itself opts out a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// One of its programs did, through the API.
    Api,
    /// One of its people did, in the dashboard.
    Dashboard,
}

impl From<Via> for OptOutSource {
    fn from(via: Via) -> Self {
        match via {
            Via::Api => Self::Api,
            Via::Dashboard => Self::Dashboard,
        }
    }
}

/// A number that the account must not text. Serialises to the opt-out of the API and of the event
/// `opt_out.created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OptOut {
    /// The number, in E.164, that must not be texted.
    pub phone: E164,
    /// How the number came to be opted out.
    pub source: OptOutSource,
    /// The account's note, at most 500 characters; `None` if there is none.
    pub note: Option<String>,
    /// When the number opted out.
    pub created_at: Timestamp,
}

impl OptOut {
    /// Adds this opt-out unless its number already has one; an existing opt-out stays as it is.
    pub fn settle(self, existing: Option<OptOut>) -> Added {
        existing.map_or(Added::New(self), Added::Existing)
    }

    /// Whether a search finds this opt-out: by its number, or by words of its note.
    pub fn is_found_by(&self, search: &Search) -> bool {
        match search {
            Search::Number(number) => self.phone == *number,
            Search::Words(words) => {
                self.note.as_ref().is_some_and(|note| note.to_lowercase().contains(words))
            }
        }
    }
}

/// The result of adding an opt-out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// The opt-out is new and was written.
    New(OptOut),
    /// The number already had this opt-out; nothing was written.
    Existing(OptOut),
}

/// A repetition returns the opt-out as the first answer showed it.
impl Answer for Added {
    type Kept = KeptOptOut;

    fn kept(&self) -> KeptOptOut {
        let (existing, opt_out) = match self {
            Self::New(opt_out) => (false, opt_out),
            Self::Existing(opt_out) => (true, opt_out),
        };
        let OptOut { phone: _, source, note, created_at } = opt_out;
        let (source, note) = (source.as_str().to_owned(), note.clone());
        KeptOptOut { existing, source, note, created_at: *created_at }
    }
}

/// What is kept of an added opt-out besides its number.
#[derive(Clone, Serialize, Deserialize)]
pub struct KeptOptOut {
    existing: bool,
    source: String,
    note: Option<String>,
    created_at: Timestamp,
}

/// Shows no personal data.
impl fmt::Debug for KeptOptOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptOptOut").field("existing", &self.existing).finish_non_exhaustive()
    }
}

impl KeptOptOut {
    /// The answer for the number of the request.
    pub fn added(self, phone: E164) -> Added {
        let Self { existing, source, note, created_at } = self;
        let source = source.parse().unwrap_or(OptOutSource::Api);
        let opt_out = OptOut { phone, source, note, created_at };
        if existing { Added::Existing(opt_out) } else { Added::New(opt_out) }
    }
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
    fn a_number_opts_out_by_message_by_the_api_or_in_the_dashboard() {
        for (source, name) in [
            (OptOutSource::Sms, "sms"),
            (OptOutSource::Api, "api"),
            (OptOutSource::Dashboard, "dashboard"),
        ] {
            assert_eq!(source.to_string(), name);
            assert_eq!(serde_json::to_value(source).unwrap(), name);
            assert_eq!(name.parse(), Ok(source));
        }
    }

    fn noted(note: Option<&str>) -> OptOut {
        let note = note.map(str::to_owned);
        OptOut { phone: person(), source: OptOutSource::Api, note, created_at: now() }
    }

    #[test]
    fn the_first_opt_out_of_a_number_stays() {
        assert_eq!(noted(None).settle(None), Added::New(noted(None)));
        let first = noted(Some("first"));
        assert_eq!(noted(None).settle(Some(first.clone())), Added::Existing(first));
    }

    #[test]
    fn an_opt_out_is_found_by_its_number_in_any_format_and_by_words_of_its_note() {
        let opt_out = noted(Some("Asked on the PHONE, Straße 5"));
        for (q, found) in [
            ("07700 900123", true),
            ("+44 7700 900123", true),
            ("07700 900124", false),
            ("on the phone", true),
            ("STRASSE", false),
            ("straße", true),
            ("900123", false),
        ] {
            let search = Search::parse(q).unwrap();
            assert_eq!(opt_out.is_found_by(&search), found, "{q}");
            let by_number = matches!(search, Search::Number(_));
            assert_eq!(noted(None).is_found_by(&search), found && by_number, "{q}");
        }
    }
}
