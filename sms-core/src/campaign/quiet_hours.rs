//! Quiet hours: when a campaign has to wait. Times of day are those of clocks in London.

use chrono::{Days, NaiveDate, NaiveTime};

use crate::account::settings::{LocalTime, QuietHours};
use crate::time::{Timestamp, london};

/// The end of the quiet hours that contain `at`; `None` if `at` is outside quiet hours.
///
/// Quiet hours include their start and exclude their end; equal times mean no quiet hours. If the
/// change of clocks skips a start or an end, the time of the change counts. If clocks show it
/// twice, the first counts.
pub(crate) fn quiet_until(hours: QuietHours, at: Timestamp) -> Option<Timestamp> {
    let mut end = window_end(hours, at)?;
    // If clocks skip an end and the next start, two windows become one.
    while let Some(later) = window_end(hours, end) {
        end = later;
    }
    Some(end)
}

/// The end of the one window that contains `at`. A window belongs to the day on which it begins, so
/// it is the window of this day or of the day before.
fn window_end(hours: QuietHours, at: Timestamp) -> Option<Timestamp> {
    if hours.start == hours.end {
        return None;
    }
    let today = london::day_of(at);
    let yesterday = today.checked_sub_days(Days::new(1));
    [yesterday, Some(today)].into_iter().flatten().find_map(|day| {
        let last = if hours.start < hours.end { day } else { day.checked_add_days(Days::new(1))? };
        let (start, end) = (moment(day, hours.start), moment(last, hours.end));
        (start <= at && at < end).then_some(end)
    })
}

fn moment(day: NaiveDate, time: LocalTime) -> Timestamp {
    let seconds = u32::from(time.minutes()) * 60;
    let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, 0).unwrap_or(NaiveTime::MIN);
    london::moment(day.and_time(time))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::Timelike;
    use proptest::prelude::*;

    use super::*;

    fn hours(text: &str) -> QuietHours {
        let (start, end) = text.split_once('-').unwrap();
        QuietHours { start: start.parse().unwrap(), end: end.parse().unwrap() }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Each case: quiet hours, a time, and the end of the quiet hours that contain it.
    fn check(cases: &[(&str, &str, Option<&str>)]) {
        for (window, moment, end) in cases {
            assert_eq!(quiet_until(hours(window), at(moment)), end.map(at), "{window} at {moment}");
        }
    }

    #[test]
    fn quiet_hours_include_their_start_and_exclude_their_end() {
        check(&[
            ("13:00-14:00", "2026-01-10T12:59:59.999Z", None),
            ("13:00-14:00", "2026-01-10T13:00:00Z", Some("2026-01-10T14:00:00Z")),
            ("13:00-14:00", "2026-01-10T13:59:59.999Z", Some("2026-01-10T14:00:00Z")),
            ("13:00-14:00", "2026-01-10T14:00:00Z", None),
        ]);
    }

    #[test]
    fn quiet_hours_may_pass_midnight() {
        check(&[
            ("21:00-09:00", "2026-01-10T20:59:59.999Z", None),
            ("21:00-09:00", "2026-01-10T21:00:00Z", Some("2026-01-11T09:00:00Z")),
            ("21:00-09:00", "2026-01-11T00:00:00Z", Some("2026-01-11T09:00:00Z")),
            ("21:00-09:00", "2026-01-11T08:59:59.999Z", Some("2026-01-11T09:00:00Z")),
            ("21:00-09:00", "2026-01-11T09:00:00Z", None),
            ("00:00-09:00", "2026-01-11T00:00:00Z", Some("2026-01-11T09:00:00Z")),
            ("21:00-00:00", "2026-01-10T23:59:59Z", Some("2026-01-11T00:00:00Z")),
            ("21:00-00:00", "2026-01-11T00:00:00Z", None),
        ]);
    }

    #[test]
    fn equal_times_mean_none() {
        for moment in ["2026-01-10T20:59:00Z", "2026-01-10T21:00:00Z", "2026-01-10T21:00:01Z"] {
            check(&[("21:00-21:00", moment, None)]);
        }
    }

    #[test]
    fn in_summer_the_clocks_of_london_are_an_hour_ahead() {
        check(&[
            ("21:00-09:00", "2026-07-10T19:59:59Z", None),
            ("21:00-09:00", "2026-07-10T20:00:00Z", Some("2026-07-11T08:00:00Z")),
            ("21:00-09:00", "2026-03-28T21:00:00Z", Some("2026-03-29T08:00:00Z")),
            ("21:00-09:00", "2026-10-24T20:00:00Z", Some("2026-10-25T09:00:00Z")),
        ]);
    }

    #[test]
    fn where_clocks_skip_the_end_quiet_hours_end_at_the_change() {
        check(&[
            ("23:00-01:30", "2026-03-29T00:59:59.999Z", Some("2026-03-29T01:00:00Z")),
            ("23:00-01:30", "2026-03-29T01:00:00Z", None),
            ("01:15-01:45", "2026-03-29T01:00:00Z", None),
            ("01:30-09:00", "2026-03-29T01:00:00Z", Some("2026-03-29T08:00:00Z")),
            ("01:30-01:15", "2026-03-28T12:00:00Z", Some("2026-03-30T00:15:00Z")),
        ]);
    }

    #[test]
    fn where_clocks_show_the_end_twice_quiet_hours_end_at_the_first() {
        check(&[
            ("23:00-01:30", "2026-10-25T00:29:59Z", Some("2026-10-25T00:30:00Z")),
            ("23:00-01:30", "2026-10-25T00:30:00Z", None),
            ("23:00-01:30", "2026-10-25T01:10:00Z", None),
            ("01:30-09:00", "2026-10-25T00:30:00Z", Some("2026-10-25T09:00:00Z")),
            ("01:30-09:00", "2026-10-25T01:10:00Z", Some("2026-10-25T09:00:00Z")),
        ]);
    }

    /// The minute of the day that clocks show.
    fn clock(at: Timestamp) -> u16 {
        let seconds = london::shown(at).time().num_seconds_from_midnight();
        u16::try_from(seconds / 60).unwrap()
    }

    proptest! {
        #[test]
        fn the_end_is_later_not_quiet_and_shown_by_the_clocks_unless_they_skip_it(
            start in 0u16..1_440,
            end in 0u16..1_440,
            // Days around both changes of 2026, or any day of three years.
            day in prop_oneof![1_774_569_600i64..1_774_915_200, 1_792_713_600i64..1_793_059_200,
                               1_767_225_600i64..1_861_920_000],
        ) {
            let time = |minutes| LocalTime::new(minutes / 60, minutes % 60).unwrap();
            let hours = QuietHours { start: time(start), end: time(end) };
            let at = Timestamp::from_millis(day * 1_000);
            if let Some(until) = quiet_until(hours, at) {
                prop_assert!(until > at && until.since(at) <= Duration::from_hours(49));
                prop_assert_eq!(quiet_until(hours, until), None);
                let before = Timestamp::from_millis(until.as_millis() - 1);
                prop_assert_eq!(quiet_until(hours, before), Some(until));
                let skipped = [
                    "2026-03-29T01:00:00.000Z",
                    "2027-03-28T01:00:00.000Z",
                    "2028-03-26T01:00:00.000Z",
                ];
                let shown = clock(until);
                prop_assert!(shown == end || skipped.contains(&until.to_string().as_str()));
            } else {
                // In the hour that clocks show twice, the shown time decides.
                let shown = clock(at);
                let inside = if start <= end {
                    (start..end).contains(&shown)
                } else {
                    shown >= start || shown < end
                };
                let twice = (60..120).contains(&shown);
                prop_assert!(!inside || twice, "{} is quiet", at);
            }
        }
    }
}
