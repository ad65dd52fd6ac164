//! Background upkeep of a store: the chores that workers give it, and when work falls due.

use crate::route_name::RouteName;
use crate::time::Timestamp;

pub mod store;

/// Something to tidy, with what it takes. Chores that remove what is old remove what is from before
/// `before`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chore {
    /// Adds the deltas of counts that commits have left to their campaigns. This changes no count
    /// that is read. A store that keeps no deltas has none to add.
    CampaignCounts,
    /// Removes deliveries by their creation, and what is left of deleted and disabled endpoints.
    Deliveries {
        /// Later deliveries stay.
        before: Timestamp,
    },
    /// Removes rows whose events were all raised before then, the oldest first.
    Events {
        /// Later events stay.
        before: Timestamp,
    },
    /// Removes the idempotency keys of all owners by when they were accepted.
    IdempotencyKeys {
        /// Later keys stay.
        before: Timestamp,
    },
    /// Removes records of who last sent a message to whom.
    LastContacts {
        /// Later records stay.
        before: Timestamp,
    },
    /// Removes segments and early reports.
    Reports {
        /// Later ones stay.
        before: Timestamp,
    },
    /// Prepares searches for words. Each call continues a round through the accounts. It changes no
    /// result of a search, only its speed. It counts accounts and messages, and 0 if the round has
    /// ended or if another caller continues it. A store that needs no preparation has none to do.
    Search {
        /// Only messages that were created earlier are prepared. By now, all of them are
        /// [settled](crate::message::filter::SETTLED_AFTER).
        before: Timestamp,
    },
    /// Removes sessions that ended by themselves, the oldest first.
    Sessions {
        /// Sessions that end later stay.
        before: Timestamp,
    },
    /// Adds the differences that commits have left to the totals. This changes no answer, only how
    /// fast it comes. A store that updates its totals in each commit has none to add.
    Statistics,
    /// Removes records of sends with test keys. Accepting a send may remove records of its account
    /// that are [old enough](crate::sending::settle::TEST_MESSAGES_KEPT), and no later ones.
    TestSends {
        /// Later records stay.
        before: Timestamp,
    },
    /// Removes early reports of one route, except its newest ones from before `before`.
    UnmatchedReports {
        /// The route.
        route: RouteName,
        /// Later reports stay, and do not count among those that are kept.
        before: Timestamp,
        /// How many of the newest stay.
        keep: usize,
    },
}

/// Work that falls due by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// A message that can be claimed.
    Messages,
    /// A follow-up of a simulated network.
    FollowUps,
    /// A delivery that can be claimed. Those of a paused endpoint wait until the pause ends.
    Deliveries,
    /// A portion of a replay. Those of a paused endpoint wait until the pause ends.
    Replays,
    /// Rent to charge or to try again.
    Rents,
}
