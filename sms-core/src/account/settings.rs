//! The settings of an account: quiet hours, opt-out lines, and the default for link tracking.

use std::fmt;
use std::ops::RangeInclusive;

use crate::field_error::FieldError;
use crate::idempotency::fingerprint::Fields;
use crate::setters::setters;
use crate::text::opt_out_line::{DEFAULT_OPT_OUT_LINE, DEFAULT_OPT_OUT_LINE_SENDER};

/// The permitted length of an opt-out line, in characters.
pub const LINE_CHARACTERS: RangeInclusive<usize> = 1..=160;

/// A time of day in Europe/London, to the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime {
    minutes: u16,
}

/// The text is not a time of day of the form `HH:MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time of day; use HH:MM, such as 21:00")]
pub struct NotALocalTime;

impl LocalTime {
    /// The time `hour`:`minute`; `None` unless it is from 00:00 to 23:59.
    pub const fn new(hour: u16, minute: u16) -> Option<Self> {
        if hour < 24 && minute < 60 { Some(Self { minutes: hour * 60 + minute }) } else { None }
    }

    /// Minutes since midnight, 0 to 1,439.
    pub fn minutes(self) -> u16 {
        self.minutes
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl std::str::FromStr for LocalTime {
    type Err = NotALocalTime;

    fn from_str(text: &str) -> Result<Self, NotALocalTime> {
        let digits = |range: std::ops::Range<usize>| {
            let part = text.get(range).filter(|part| part.bytes().all(|b| b.is_ascii_digit()));
            part.and_then(|part| part.parse().ok()).ok_or(NotALocalTime)
        };
        if text.len() != 5 || text.get(2..3) != Some(":") {
            return Err(NotALocalTime);
        }
        Self::new(digits(0..2)?, digits(3..5)?).ok_or(NotALocalTime)
    }
}

/// The hours in which campaigns wait. They include the start and exclude the end. If both are
/// equal, there are no quiet hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuietHours {
    /// When quiet hours start.
    pub start: LocalTime,
    /// When quiet hours end; earlier than the start if they span midnight.
    pub end: LocalTime,
}

/// The settings that an account can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// When campaigns wait; by default 21:00 to 09:00.
    pub quiet_hours: QuietHours,
    /// Whether a campaign tracks links if its request does not say.
    pub track_links_default: bool,
    /// The line that `append_opt_out` adds to a message from a number.
    pub opt_out_line: String,
    /// The line that `append_opt_out` adds to a message from a sender name; `{number}` stands for
    /// the account's number.
    pub opt_out_line_sender: String,
}

impl Settings {
    /// Every rule on single settings that these break; empty if they are valid.
    pub fn check(&self) -> Vec<FieldError> {
        check_lines(Some(&self.opt_out_line), Some(&self.opt_out_line_sender))
    }

    /// Adds the meaning of the settings to a fingerprint.
    pub fn meaning(&self, fields: &mut Fields) {
        let Self { quiet_hours, track_links_default, opt_out_line, opt_out_line_sender } = self;
        let QuietHours { start, end } = quiet_hours;
        fields.add("quiet_hours", [start.to_string(), end.to_string()]);
        fields.add("track_links_default", track_links_default.then_some(""));
        fields.add("opt_out_line", [opt_out_line]);
        fields.add("opt_out_line_sender", [opt_out_line_sender]);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quiet_hours: QuietHours {
                start: LocalTime { minutes: 21 * 60 },
                end: LocalTime { minutes: 9 * 60 },
            },
            track_links_default: false,
            opt_out_line: DEFAULT_OPT_OUT_LINE.to_owned(),
            opt_out_line_sender: DEFAULT_OPT_OUT_LINE_SENDER.to_owned(),
        }
    }
}

/// New values for single settings. `None` leaves a setting as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsChange {
    /// When quiet hours start.
    pub quiet_hours_start: Option<LocalTime>,
    /// When quiet hours end.
    pub quiet_hours_end: Option<LocalTime>,
    /// Whether a campaign tracks links if its request does not say.
    pub track_links_default: Option<bool>,
    /// The opt-out line of a message from a number.
    pub opt_out_line: Option<String>,
    /// The opt-out line of a message from a sender name.
    pub opt_out_line_sender: Option<String>,
}

impl SettingsChange {
    /// Every rule on single settings that the change breaks; empty if it is valid.
    pub fn check(&self) -> Vec<FieldError> {
        check_lines(self.opt_out_line.as_deref(), self.opt_out_line_sender.as_deref())
    }

    /// The settings after the change.
    #[must_use]
    pub fn apply(self, settings: Settings) -> Settings {
        Settings {
            quiet_hours: QuietHours {
                start: self.quiet_hours_start.unwrap_or(settings.quiet_hours.start),
                end: self.quiet_hours_end.unwrap_or(settings.quiet_hours.end),
            },
            track_links_default: self.track_links_default.unwrap_or(settings.track_links_default),
            opt_out_line: self.opt_out_line.unwrap_or(settings.opt_out_line),
            opt_out_line_sender: self.opt_out_line_sender.unwrap_or(settings.opt_out_line_sender),
        }
    }
}

fn check_lines(line: Option<&str>, line_sender: Option<&str>) -> Vec<FieldError> {
    let lines = [("settings.opt_out_line", line), ("settings.opt_out_line_sender", line_sender)];
    let given = lines.into_iter().filter_map(|(field, line)| Some((field, line?)));
    given.filter_map(|(field, line)| FieldError::of_text(field, line, LINE_CHARACTERS)).collect()
}

setters! { SettingsChange {
    /// Sets when quiet hours start.
    quiet_hours_start(time: LocalTime) = Some(time);
    /// Sets when quiet hours end.
    quiet_hours_end(time: LocalTime) = Some(time);
    /// Sets the opt-out line of a message from a number.
    opt_out_line(line: impl Into<String>) = Some(line.into());
    /// Sets the opt-out line of a message from a sender name.
    opt_out_line_sender(line: impl Into<String>) = Some(line.into());
} }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_two_digits_a_colon_and_two_digits() {
        for good in ["00:00", "09:05", "21:00", "23:59"] {
            assert_eq!(good.parse::<LocalTime>().unwrap().to_string(), good);
        }
        for bad in ["", "9:00", "24:00", "21:60", "21.00", "+1:00", "21:00 ", "２1:00", "21:0é"] {
            assert!(bad.parse::<LocalTime>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_change_of_settings_keeps_the_others() {
        let change =
            SettingsChange { quiet_hours_end: LocalTime::new(8, 30), ..SettingsChange::default() };
        let changed = change.apply(Settings::default());
        assert_eq!(changed.quiet_hours.end.to_string(), "08:30");
        assert_eq!(changed.quiet_hours.start.to_string(), "21:00");
        assert_eq!(changed.opt_out_line, Settings::default().opt_out_line);
    }
}
