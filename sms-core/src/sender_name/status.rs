//! The status of a sender name's review.

use std::fmt;
use std::str::FromStr;

use crate::unknown_name::UnknownName;

/// The status of a sender name's review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewStatus {
    /// The operator has not decided.
    Pending,
    /// The account may send with the name.
    Approved,
    /// The account may not send with the name. It may request the name again.
    Rejected,
}

impl ReviewStatus {
    /// Every status, in the order of the API's documentation.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Approved, Self::Rejected];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for ReviewStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReviewStatus {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or(UnknownName::of("review status"))
    }
}
