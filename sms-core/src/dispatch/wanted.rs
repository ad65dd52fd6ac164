//! Which of the due messages a claim takes.

use super::queue::QueueEntry;
use crate::lane::RouteLane;
use crate::time::Timestamp;

/// Which of the due messages a claim takes. Each kind reads only the messages that it takes,
/// however many others wait. Only the second kind, which is rare, may read more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Messages of all lanes except these, whose routes have no room for them now.
    AllBut(Vec<RouteLane>),
    /// Expired messages of these lanes, which no other claim takes while the routes have no room.
    ExpiredOf(Vec<RouteLane>),
}

impl Wanted {
    /// Whether a message of this lane can be among them.
    pub fn concerns(&self, lane: &RouteLane) -> bool {
        match self {
            Self::AllBut(left) => !left.contains(lane),
            Self::ExpiredOf(of) => of.contains(lane),
        }
    }

    /// Whether a claim at `at` takes a due message of a lane that this [concerns](Self::concerns).
    pub fn takes(&self, entry: &QueueEntry, at: Timestamp) -> bool {
        match self {
            Self::AllBut(_) => true,
            Self::ExpiredOf(_) => entry.expires_at <= at,
        }
    }
}
