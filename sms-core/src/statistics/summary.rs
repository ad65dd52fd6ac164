//! Queries on statistics: a summary compared with the period before it, and a timeseries with one
//! line per day.

use chrono::{Days, NaiveDate};

use super::{Counted, Counts, Period};
use crate::field_error::FieldError;
use crate::setters::setters;
use crate::time::{Timestamp, london};

/// The number of days in a summary or timeseries whose request does not say.
pub const DEFAULT_DAYS: u16 = 30;
/// The maximum number of days in a summary or timeseries.
pub const MOST_DAYS: u16 = 366;

/// The period of a summary. If `from` or `to` is missing, it follows from `days`, in whole days in
/// London.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The start, included; `None` for the start of the first of `days`.
    pub from: Option<Timestamp>,
    /// The end, excluded; `None` for the end of today in London.
    pub to: Option<Timestamp>,
    /// The number of days, of which today is the last: 1 to 366; `None` for 30.
    pub days: Option<u16>,
}

/// A period and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The period that was requested.
    pub current: Period,
    /// The period of equal length before it.
    pub previous: Period,
}

/// The counts of a period and of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The period that was requested.
    pub period: Period,
    /// The counts in this period.
    pub counts: Counts,
    /// The counts in the period before it.
    pub previous: Counts,
}

/// A change in tenths of a percent: 125 is 12.5 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change(i64);

/// One line of a timeseries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Day {
    /// The day in London.
    pub date: NaiveDate,
    /// The counts of this day.
    pub counts: Counts,
}

impl Change {
    /// The change from `before` to `now`, relative to the absolute value of `before` and rounded
    /// half away from zero. `None` if `before` is 0. If `before` is negative, growth is still
    /// positive.
    pub fn between(before: i64, now: i64) -> Option<Self> {
        let (before, now) = (i128::from(before), i128::from(now));
        let size = before.abs();
        if size == 0 {
            return None;
        }
        let thousandfold = (now - before) * 1_000;
        let rounded = (thousandfold.abs() * 2 + size) / (size * 2);
        let tenths = i64::try_from(rounded * thousandfold.signum());
        Some(Self(tenths.unwrap_or(if now > before { i64::MAX } else { i64::MIN })))
    }

    /// The change in tenths of a percent.
    pub fn tenths(self) -> i64 {
        self.0
    }
}

impl Window {
    /// A period, and the one before it of the same length to the millisecond.
    fn before(current: Period) -> Self {
        let Period { from, to } = current;
        Self { current, previous: Period { from: from.minus(to.since(from)), to: from } }
    }
}

impl Summary {
    /// The change of one count from the previous period.
    pub fn change(&self, counted: Counted) -> Option<Change> {
        Change::between(self.previous.of(counted), self.counts.of(counted))
    }
}

impl SummaryRequest {
    /// The requested period and the one before it.
    ///
    /// If the request is by days, the previous period has as many days in London, even across a
    /// change of clocks. If it is by moments, the previous period has the same length to the
    /// millisecond.
    ///
    /// # Errors
    ///
    /// Every invalid field: `days` out of range, or `from` after `to`.
    pub fn window(&self, now: Timestamp) -> Result<Window, Vec<FieldError>> {
        let to = self.to.unwrap_or_else(|| beginning_after(london::day_of(now)));
        let days = check_days(self.days);
        let backwards = self.from.is_some_and(|from| from > to).then(|| {
            let message = "from must not be after to, which defaults to the end of today";
            FieldError::new("from", "out_of_range", message)
        });
        match (days, backwards) {
            (Ok(days), None) => Ok(match self.from {
                Some(from) => Window::before(Period { from, to }),
                None => self.window_of_days(days, now),
            }),
            (days, backwards) => Err(backwards.into_iter().chain(days.err()).collect()),
        }
    }

    fn window_of_days(&self, days: u16, now: Timestamp) -> Window {
        // A period that ends at the first moment of a day has the previous day as its last.
        let last = match self.to {
            None => london::day_of(now),
            Some(to) => london::day_of(Timestamp::from_millis(to.as_millis() - 1)),
        };
        let first = earlier(last, days - 1);
        let from = london::beginning_of(first);
        match self.to {
            Some(to) => Window::before(Period { from, to }),
            None => Window {
                current: Period { from, to: beginning_after(last) },
                previous: Period { from: london::beginning_of(earlier(first, days)), to: from },
            },
        }
    }
}

setters! { SummaryRequest {
    /// Starts the period at this time.
    from(start: Timestamp) = Some(start);
    /// Ends the period before this time.
    to(end: Timestamp) = Some(end);
    /// Covers this many days, of which today is the last.
    days(days: u16) = Some(days);
} }

/// The last `days` days in London, of which today is the last; each with its period, oldest first.
/// `None` means 30.
///
/// # Errors
///
/// If `days` is not 1 to 366.
pub(crate) fn days_until(
    days: Option<u16>,
    now: Timestamp,
) -> Result<Vec<(NaiveDate, Period)>, FieldError> {
    let days = check_days(days)?;
    let today = london::day_of(now);
    let day = |back| {
        let date = earlier(today, back);
        (date, Period { from: london::beginning_of(date), to: beginning_after(date) })
    };
    Ok((0..days).rev().map(day).collect())
}

fn check_days(days: Option<u16>) -> Result<u16, FieldError> {
    let days = days.unwrap_or(DEFAULT_DAYS);
    if (1..=MOST_DAYS).contains(&days) {
        return Ok(days);
    }
    let message = format!("days must be from 1 to {MOST_DAYS}");
    Err(FieldError::new("days", "out_of_range", message))
}

/// The day `days` days before `day`.
fn earlier(day: NaiveDate, days: u16) -> NaiveDate {
    day.checked_sub_days(Days::new(u64::from(days))).unwrap_or(NaiveDate::MIN)
}

fn beginning_after(day: NaiveDate) -> Timestamp {
    london::beginning_of(day.succ_opt().unwrap_or(day))
}

#[cfg(test)]
mod tests;
