//! The questions that are asked of statistics: a summary beside the period before it, and a line
//! for each day.

use chrono::{Days, NaiveDate};

use super::{Counted, Counts, Period};
use crate::error::FieldError;
use crate::time::{Timestamp, london};

/// The days of a summary or a timeseries that names none.
pub const DEFAULT_DAYS: u16 = 30;
/// The most days of either.
pub const MOST_DAYS: u16 = 366;

/// What a summary is about. Ends that are left out follow from `days`, as those of days in London.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SummaryRequest {
    /// Its first moment.
    pub from: Option<Timestamp>,
    /// The first moment after it.
    pub to: Option<Timestamp>,
    /// How many days, today the last; 1 to 366, 30 if left out.
    pub days: Option<u16>,
}

/// A period and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The period asked about.
    pub current: Period,
    /// The one of equal length before it.
    pub previous: Period,
}

/// What was counted in a period, and in the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The period.
    pub period: Period,
    /// What was counted in it.
    pub counts: Counts,
    /// What was counted in the period before.
    pub previous: Counts,
}

/// A change in percent, in tenths of one: 125 is 12.5 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change(i64);

/// A line of a timeseries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// The day in London.
    pub date: NaiveDate,
    /// What was counted on it.
    pub counts: Counts,
}

impl Change {
    /// How much more `now` is than `before`, of `before`; rounded half away from zero. None when
    /// there was nothing before. Where there were less than no credits before, growth is above zero
    /// still.
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

    /// In tenths of a percent.
    pub fn tenths(self) -> i64 {
        self.0
    }
}

impl Window {
    /// A period, and the one that is as long to the millisecond before it.
    fn before(current: Period) -> Self {
        let Period { from, to } = current;
        Self { current, previous: Period { from: from.minus(to.since(from)), to: from } }
    }
}

impl Summary {
    /// The change of one thing on the period before.
    pub fn change(&self, counted: Counted) -> Option<Change> {
        Change::between(self.previous.of(counted), self.counts.of(counted))
    }
}

impl SummaryRequest {
    /// The periods that it is about.
    ///
    /// By days, the period before is as many days in London, whatever the clocks did; by moments,
    /// it is as long to the millisecond.
    ///
    /// # Errors
    ///
    /// Every bad field: `days` out of range, `from` after `to`.
    pub fn window(&self, now: Timestamp) -> Result<Window, Vec<FieldError>> {
        let to = self.to.unwrap_or_else(|| beginning_after(london::day_of(now)));
        let days = check_days(self.days);
        let backwards = self.from.is_some_and(|from| from > to).then(|| {
            let message = "from must not be after to, which is the end of today unless given";
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
        // A period that ends with a day's first moment ends with the day before.
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

/// So many days in London, today the last; each with its period, oldest first.
///
/// # Errors
///
/// When it is not 1 to 366 days.
pub fn days_until(
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

/// So many days before a day.
fn earlier(day: NaiveDate, days: u16) -> NaiveDate {
    day.checked_sub_days(Days::new(u64::from(days))).unwrap_or(NaiveDate::MIN)
}

fn beginning_after(day: NaiveDate) -> Timestamp {
    london::beginning_of(day.succ_opt().unwrap_or(day))
}

#[cfg(test)]
mod tests;
