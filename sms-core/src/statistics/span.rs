//! Totals per hour, minute and millisecond, of which a few make up any period exactly.
//!
//! The inside of a period consists of whole hours, its edges of up to an hour of whole minutes
//! each, and their edges of up to a minute of milliseconds each. Days in London start on the hour,
//! so that they need hours only. A year has at most 8,784 hours, and an hour in which nothing
//! happened has no total. A minute has at most 60,000 milliseconds, however much an account sends.

use std::collections::BTreeMap;

use super::{Count, Counts, Period};
use crate::time::Timestamp;

/// The length of time that a total covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// One millisecond: the finest time that anything counts at.
    Moment,
    /// One whole minute, which starts at second 0.
    Minute,
    /// One whole hour, which starts at minute 0.
    Hour,
}

impl Span {
    /// All spans, shortest first.
    pub const ALL: [Self; 3] = [Self::Moment, Self::Minute, Self::Hour];

    /// The name used by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Moment => "moment",
            Self::Minute => "minute",
            Self::Hour => "hour",
        }
    }

    fn millis(self) -> i64 {
        match self {
            Self::Moment => 1,
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
        }
    }

    /// The start of the span that contains a moment.
    pub fn beginning(self, at: Timestamp) -> Timestamp {
        let millis = at.as_millis();
        Timestamp::from_millis(millis - millis.rem_euclid(self.millis()))
    }

    /// The first start of such a span at or after a moment.
    fn first_from(self, at: Timestamp) -> Timestamp {
        let beginning = self.beginning(at);
        let next = Timestamp::from_millis(beginning.as_millis() + self.millis());
        if beginning == at { at } else { next }
    }
}

/// A part of a period that consists of totals of one span: all those that start in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The span of the totals.
    pub span: Span,
    /// The earliest start, included.
    pub from: Timestamp,
    /// The latest start, excluded.
    pub to: Timestamp,
}

impl Period {
    /// The pieces that make up the period, at most five.
    pub fn pieces(self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        cover(self, Span::Hour, &mut pieces);
        pieces
    }
}

/// Covers a period with spans of this length, and its edges with shorter ones.
fn cover(period: Period, span: Span, pieces: &mut Vec<Piece>) {
    let Period { from, to } = period;
    if from >= to {
        return;
    }
    let shorter = match span {
        Span::Moment => {
            pieces.push(Piece { span, from, to });
            return;
        }
        Span::Minute => Span::Moment,
        Span::Hour => Span::Minute,
    };
    let (begin, end) = (span.first_from(from), span.beginning(to));
    if begin >= end {
        return cover(period, shorter, pieces);
    }
    cover(Period { from, to: begin }, shorter, pieces);
    pieces.push(Piece { span, from: begin, to: end });
    cover(Period { from: end, to }, shorter, pieces);
}

/// The totals of one account, or differences to add to stored totals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals(BTreeMap<(Span, Timestamp), Counts>);

impl Totals {
    /// Adds a difference to the total of every span that contains its time.
    pub fn add(&mut self, count: Count) {
        let Count { account: _, at, counted, amount } = count;
        for span in Span::ALL {
            let counts = self.0.entry((span, span.beginning(at))).or_default();
            counts.add(counted, amount);
        }
    }

    /// Every total, by span and start.
    pub fn iter(&self) -> impl Iterator<Item = (Span, Timestamp, Counts)> {
        self.0.iter().map(|((span, at), counts)| (*span, *at, *counts))
    }

    /// The counts within a period.
    pub fn within(&self, period: Period) -> Counts {
        let mut sum = Counts::default();
        for Piece { span, from, to } in period.pieces() {
            for (_, counts) in self.0.range((span, from)..(span, to)) {
                sum += *counts;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::account_id;
    use crate::statistics::Counted;
    use crate::time::london;

    fn period(from: &str, to: &str) -> Period {
        Period { from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    fn shown(period: Period) -> Vec<String> {
        let clock = |at: Timestamp| at.to_string()[11..23].to_owned();
        let line = |piece: &Piece| {
            format!("{} {}-{}", piece.span.as_str(), clock(piece.from), clock(piece.to))
        };
        period.pieces().iter().map(line).collect()
    }

    #[test]
    fn a_period_is_hours_with_minutes_and_milliseconds_at_its_edges() {
        let cases: [(&str, &str, &[&str]); 7] = [
            ("07:00:00Z", "07:00:00Z", &[]),
            ("08:00:00Z", "07:00:00Z", &[]),
            ("07:00:00Z", "09:00:00Z", &["hour 07:00:00.000-09:00:00.000"]),
            ("07:00:00.001Z", "07:00:59.999Z", &["moment 07:00:00.001-07:00:59.999"]),
            (
                "07:00:59.999Z",
                "07:02:00.001Z",
                &[
                    "moment 07:00:59.999-07:01:00.000",
                    "minute 07:01:00.000-07:02:00.000",
                    "moment 07:02:00.000-07:02:00.001",
                ],
            ),
            ("07:59:00Z", "08:01:00Z", &["minute 07:59:00.000-08:01:00.000"]),
            (
                "07:58:30Z",
                "10:01:00.500Z",
                &[
                    "moment 07:58:30.000-07:59:00.000",
                    "minute 07:59:00.000-08:00:00.000",
                    "hour 08:00:00.000-10:00:00.000",
                    "minute 10:00:00.000-10:01:00.000",
                    "moment 10:01:00.000-10:01:00.500",
                ],
            ),
        ];
        for (from, to, expected) in cases {
            let period = period(&format!("2026-11-21T{from}"), &format!("2026-11-21T{to}"));
            assert_eq!(shown(period), expected, "{from} to {to}");
        }
    }

    #[test]
    fn days_in_london_need_hours_only() {
        for day in ["2026-03-29", "2026-06-01", "2026-10-25", "1971-02-18"] {
            let day: chrono::NaiveDate = day.parse().unwrap();
            let from = london::beginning_of(day);
            let to = london::beginning_of(day.succ_opt().unwrap());
            assert_eq!(Period { from, to }.pieces(), [Piece { span: Span::Hour, from, to }]);
        }
    }

    #[test]
    fn each_count_is_in_its_millisecond_its_minute_and_its_hour() {
        let at = "2026-11-21T07:30:10.500Z".parse().unwrap();
        let mut totals = Totals::default();
        totals.add(Count { account: account_id(), at, counted: Counted::Sent, amount: 3 });
        let lines = totals.iter().map(|(span, at, counts)| {
            format!("{} {} {}", span.as_str(), &at.to_string()[11..23], counts.of(Counted::Sent))
        });
        let expected = ["moment 07:30:10.500 3", "minute 07:30:00.000 3", "hour 07:00:00.000 3"];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
    }

    /// Moments close together, so that they meet in minutes and hours, before and after the epoch.
    fn moment() -> impl Strategy<Value = Timestamp> {
        prop_oneof![
            -20_000_000i64..20_000_000,
            (-300i64..300, -1i64..=1).prop_map(|(minute, off)| minute * 60_000 + off),
            (-5i64..5, -1i64..=1).prop_map(|(hour, off)| hour * 3_600_000 + off),
        ]
        .prop_map(Timestamp::from_millis)
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_period_are_consecutive_and_cover_it(
            from in moment(),
            to in moment(),
        ) {
            let pieces = Period { from, to }.pieces();
            prop_assert_eq!(pieces.is_empty(), from >= to);
            prop_assert!(pieces.len() <= 5);
            let mut reached = from;
            for Piece { span, from, to } in &pieces {
                prop_assert_eq!(*from, reached);
                prop_assert!(from < to);
                prop_assert_eq!((span.beginning(*from), span.beginning(*to)), (*from, *to));
                reached = *to;
            }
            prop_assert!(pieces.is_empty() || reached == to);
        }

        #[test]
        fn totals_of_any_period_equal_a_count_of_single_differences(
            things in proptest::collection::vec((moment(), 0usize..5, -2i64..9), 0..60),
            periods in proptest::collection::vec((moment(), moment()), 1..10),
        ) {
            let mut totals = Totals::default();
            for (at, counted, amount) in &things {
                let (account, counted) = (account_id(), Counted::ALL[*counted]);
                totals.add(Count { account, at: *at, counted, amount: *amount });
            }
            for (from, to) in periods {
                let period = Period { from, to };
                let mut expected = Counts::default();
                for (at, counted, amount) in &things {
                    if period.contains(*at) {
                        expected.add(Counted::ALL[*counted], *amount);
                    }
                }
                prop_assert_eq!(totals.within(period), expected);
            }
        }
    }
}
