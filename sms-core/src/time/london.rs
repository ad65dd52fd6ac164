//! Europe/London, summer time included: the days of statistics and the quiet hours.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Europe::London;

use super::Timestamp;

/// The date and time that clocks in London show at a moment.
pub fn shown(at: Timestamp) -> NaiveDateTime {
    at.to_chrono().with_timezone(&London).naive_local()
}

/// The moment at which clocks in London show `local`. If they show it twice, the first; if they
/// skip it, the moment of the change.
///
/// ```
/// use chrono::NaiveDate;
/// use sms_core::time::london;
///
/// // On 29 March 2026 clocks skip 01:00 to 01:59.
/// let day = NaiveDate::from_ymd_opt(2026, 3, 29);
/// let skipped = day.and_then(|day| day.and_hms_opt(1, 30, 0)).ok_or("no such time")?;
/// assert_eq!(london::moment(skipped).to_string(), "2026-03-29T01:00:00.000Z");
/// # Ok::<(), &str>(())
/// ```
pub fn moment(local: NaiveDateTime) -> Timestamp {
    match London.from_local_datetime(&local).earliest() {
        Some(moment) => Timestamp::from(moment.to_utc()),
        None => change_near(local),
    }
}

/// The date that clocks in London show at a moment.
pub(crate) fn day_of(at: Timestamp) -> NaiveDate {
    shown(at).date()
}

/// The moment at which a day starts in London.
pub(crate) fn beginning_of(day: NaiveDate) -> Timestamp {
    moment(day.and_time(NaiveTime::MIN))
}

/// The change of clocks that skips `local`: the first moment, to the second, whose offset is the
/// one in force half a day later.
fn change_near(local: NaiveDateTime) -> Timestamp {
    let half_day = TimeDelta::hours(12);
    let offset = |utc: &NaiveDateTime| London.offset_from_utc_datetime(utc).fix();
    let (mut before, mut after) = (local - half_day, local + half_day);
    let new = offset(&after);
    while after - before > TimeDelta::seconds(1) {
        let middle = before + TimeDelta::seconds((after - before).num_seconds() / 2);
        if offset(&middle) == new { after = middle } else { before = middle }
    }
    Timestamp::from_millis(after.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn local(text: &str) -> NaiveDateTime {
        text.parse().unwrap()
    }

    #[test]
    fn clocks_show_summer_time_from_the_last_sunday_of_march_to_that_of_october() {
        let cases = [
            ("2026-03-29T00:59:59Z", "2026-03-29T00:59:59"),
            ("2026-03-29T01:00:00Z", "2026-03-29T02:00:00"),
            ("2026-10-25T00:59:59Z", "2026-10-25T01:59:59"),
            ("2026-10-25T01:00:00Z", "2026-10-25T01:00:00"),
        ];
        for (moment, clock) in cases {
            assert_eq!(shown(at(moment)), local(clock), "{moment}");
        }
    }

    #[test]
    fn a_skipped_time_is_the_change_and_a_repeated_time_its_first_occurrence() {
        let cases = [
            ("2026-03-29T00:30:00", "2026-03-29T00:30:00Z"),
            ("2026-03-29T01:00:00", "2026-03-29T01:00:00Z"),
            ("2026-03-29T01:59:59", "2026-03-29T01:00:00Z"),
            ("2026-03-29T02:00:00", "2026-03-29T01:00:00Z"),
            ("2026-10-25T01:00:00", "2026-10-25T00:00:00Z"),
            ("2026-10-25T01:59:59", "2026-10-25T00:59:59Z"),
            ("2026-10-25T02:00:00", "2026-10-25T02:00:00Z"),
        ];
        for (clock, expected) in cases {
            assert_eq!(moment(local(clock)), at(expected), "{clock}");
        }
    }

    #[test]
    fn a_day_has_23_24_or_25_hours() {
        let cases = [
            ("2026-03-29", "2026-03-29T00:00:00Z", 23),
            ("2026-06-01", "2026-05-31T23:00:00Z", 24),
            ("2026-10-25", "2026-10-24T23:00:00Z", 25),
        ];
        for (day, beginning, hours) in cases {
            let day: NaiveDate = day.parse().unwrap();
            let next = day.succ_opt().unwrap();
            assert_eq!(beginning_of(day), at(beginning));
            assert_eq!(day_of(beginning_of(day)), day);
            assert_eq!(beginning_of(next).since(beginning_of(day)).as_secs(), hours * 3_600);
        }
    }
}
