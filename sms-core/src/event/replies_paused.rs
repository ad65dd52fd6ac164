//! The data of a `replies.paused` event. [`keyword`](crate::keyword) decides when replies pause.

use serde::{Deserialize, Serialize};

use crate::ids::KeywordId;
use crate::time::Timestamp;

/// Which bound on automatic replies was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// The replies of a minute are used up.
    PerMinute,
    /// The replies of an hour are used up.
    PerHour,
    /// Replies have spent their share of the balance.
    Balance,
}

impl PauseReason {
    /// Every value, for reading names.
    pub const ALL: [Self; 3] = [Self::PerMinute, Self::PerHour, Self::Balance];

    /// The name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerMinute => "per_minute",
            Self::PerHour => "per_hour",
            Self::Balance => "balance",
        }
    }
}

/// A pause of automatic replies: the data of a `replies.paused` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepliesPaused {
    /// The keyword whose replies pause; `None` for all keywords of the account.
    pub keyword_id: Option<KeywordId>,
    /// The word of that keyword when replies paused; `None` together with `keyword_id`.
    pub keyword: Option<String>,
    /// Which bound was reached.
    pub reason: PauseReason,
    /// The bound: a number of replies, or of credits for [`PauseReason::Balance`].
    pub limit: u64,
    /// When replies go on. Where the balance is short, this is the latest; they go on as soon as it
    /// is large enough.
    pub paused_until: Timestamp,
}
