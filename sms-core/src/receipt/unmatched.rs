//! Receipts that match no message: a network's reports that have waited for longer than it takes to
//! record a hand-over.
//!
//! They are the early reports that are still there, so a report leaves them once its message is
//! recorded after all. They are kept for [`KEPT_FOR`](super::report::KEPT_FOR), and bounded for
//! each route.

use std::time::Duration;

use super::ReceiptStatus;
use super::report::NetworkId;
use crate::phone::E164;
use crate::time::Timestamp;

/// How long a report waits for its message before it counts as unmatched: 30 s.
pub const UNMATCHED_AFTER: Duration = Duration::from_secs(30);

/// How many unmatched reports of a route are kept and counted: 10,000. Those that came within
/// [`EARLY_FOR`](super::report::EARLY_FOR) are kept beyond that, because their messages may still
/// be recorded.
pub const UNMATCHED_MOST: usize = 10_000;

/// How many of them one answer shows.
pub const UNMATCHED_SHOWN: usize = 100;

/// A report that matches no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedReport {
    /// The id under which it waits.
    pub id: NetworkId,
    /// That the segment was delivered, or why it was not.
    pub status: ReceiptStatus,
    /// When it arrived at the route.
    pub at: Timestamp,
    /// The numbers that it names.
    pub numbers: Vec<E164>,
}

/// How many digits of a number the operator sees.
const DIGITS_SHOWN: usize = 4;

impl UnmatchedReport {
    /// The last four digits of the number that is most likely its recipient; `None` if it names
    /// none.
    pub fn recipient_ends(&self) -> Option<String> {
        let digits = self.numbers.first()?.digits().to_string();
        Some(digits[digits.len().saturating_sub(DIGITS_SHOWN)..].to_owned())
    }
}

/// The reports of a route that match no message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unmatched {
    /// How many there are, counted up to [`UNMATCHED_MOST`].
    pub count: usize,
    /// The newest ones, newest first.
    pub newest: Vec<UnmatchedReport>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteName;
    use crate::samples::now;

    #[test]
    fn no_more_than_the_last_digits_of_a_number_are_shown() {
        let of = |numbers: &[&str]| UnmatchedReport {
            id: NetworkId::new(RouteName::new("main"), "7"),
            status: ReceiptStatus::Delivered,
            at: now(),
            numbers: numbers.iter().map(|number| number.parse().unwrap()).collect(),
        };
        let both = of(&["+447700900123", "+447700900456"]);
        assert_eq!(both.recipient_ends().as_deref(), Some("0123"));
        assert_eq!(of(&[]).recipient_ends(), None);
    }
}
