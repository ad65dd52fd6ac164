//! `ETag`: the version of a resource.

use std::fmt;

/// The version of a resource, as its answer showed it. Two are equal if nothing that a request can
/// set differs between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(String);

impl ETag {
    /// The tag as the server wrote it, in its quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tag that was kept, in its quotes.
impl From<String> for ETag {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
