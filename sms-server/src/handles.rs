//! File handles: how many the process may have, and how many of them connections may take.
//!
//! Without a bound, connections take every handle, and then the server can reach neither webhook
//! endpoints nor the database. So the soft limit is raised to the hard limit at startup, and a part
//! is kept for what the server itself opens.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most connections, however many handles there are.
const MOST_CONNECTIONS: u64 = 10_000;

/// The fewest connections, however few handles there are.
const FEWEST_CONNECTIONS: u64 = 16;

/// The least and the most handles that are kept for the database, webhooks, SMPP and the operator's
/// own listener.
const RESERVE: std::ops::RangeInclusive<u64> = 192..=2_048;

/// The most connections of the operator's own listener. They come out of the reserve.
pub const OPERATOR_CONNECTIONS: usize = 64;

/// The file handles of this process; `None` if their number has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handles(Option<u64>);

/// How many connections the server holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionPlan {
    handles: Handles,
    reserve: u64,
    /// The most connections in all.
    pub connections: usize,
    /// The most connections of one client address; `None` for no bound.
    pub per_address: Option<usize>,
}

impl Handles {
    /// Raises the soft limit to the hard limit. If that fails, the soft limit stays.
    pub fn raise() -> Self {
        let found = getrlimit(Resource::Nofile);
        let wanted = Rlimit { current: found.maximum, maximum: found.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, wanted) {
            tracing::warn!(%error, "the limit of file handles could not be raised");
        }
        Self(getrlimit(Resource::Nofile).current)
    }

    /// Divides the handles. `per_address` is the setting: zero for no bound, and by default a
    /// quarter of all connections.
    pub fn plan(self, per_address: Option<usize>) -> ConnectionPlan {
        let all = self.0.unwrap_or(u64::MAX);
        let reserve = (all / 4).clamp(*RESERVE.start(), *RESERVE.end());
        let left = all.saturating_sub(reserve).clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        let connections = usize::try_from(left).unwrap_or(usize::MAX);
        let per_address = match per_address {
            Some(0) => None,
            Some(most) => Some(most),
            None => Some(connections / 4),
        };
        ConnectionPlan { handles: self, reserve, connections, per_address }
    }
}

impl fmt::Display for ConnectionPlan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "up to {} connections, ", self.connections)?;
        match self.per_address {
            Some(most) => write!(formatter, "{most} of one client address; ")?,
            None => write!(formatter, "with no bound per client address; ")?,
        }
        match self.handles.0 {
            Some(handles) => write!(formatter, "{handles} file handles")?,
            None => write!(formatter, "file handles without limit")?,
        }
        write!(formatter, ", {} kept for the database, webhooks and SMPP", self.reserve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_handles_is_kept_and_an_address_gets_a_quarter_of_the_rest() {
        for (handles, reserve, connections, per_address) in [
            (Some(64), 192, 16, 4),
            (Some(256), 192, 64, 16),
            (Some(1_024), 256, 768, 192),
            (Some(4_096), 1_024, 3_072, 768),
            (Some(1_048_576), 2_048, 10_000, 2_500),
            (None, 2_048, 10_000, 2_500),
        ] {
            let plan = Handles(handles).plan(None);
            assert_eq!((plan.reserve, plan.connections), (reserve, connections), "{handles:?}");
            assert_eq!(plan.per_address, Some(per_address));
        }
        assert_eq!(Handles(None).plan(Some(0)).per_address, None);
        assert_eq!(Handles(None).plan(Some(7)).per_address, Some(7));
    }

    #[test]
    fn the_plan_is_told_in_one_line() {
        assert_eq!(
            Handles(Some(1_024)).plan(None).to_string(),
            "up to 768 connections, 192 of one client address; 1024 file handles, 256 kept for \
             the database, webhooks and SMPP"
        );
    }
}
