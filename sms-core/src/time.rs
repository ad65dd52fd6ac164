//! Moments in time: milliseconds in UTC, as the API shows them.
//!
//! A [`Timestamp`] is a value; this module never asks what time it is (that is [`crate::clock`]).

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in UTC with millisecond precision.
///
/// Written as `2026-11-21T07:07:10.123Z`; read from RFC 3339 with any offset.
///
/// ```
/// use sms_core::time::Timestamp;
///
/// let noon: Timestamp = "2026-11-21T13:00:00+01:00".parse()?;
/// assert_eq!(noon.to_string(), "2026-11-21T12:00:00.000Z");
/// # Ok::<(), sms_core::time::NotATimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The text is no RFC 3339 date-time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 date-time, such as 2026-11-21T07:07:10.123Z")]
pub struct NotATimestamp;

/// The years 0000 to 9999, which is what RFC 3339 can write.
const EARLIEST: i64 = -62_167_219_200_000;
const LATEST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// The moment so many milliseconds after 1970-01-01T00:00:00Z, kept within the years 0 to
    /// 9999 that RFC 3339 can write.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(EARLIEST, LATEST))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn as_unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// This moment and `duration` more, at most the end of year 9999.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// This moment less `duration`.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(millis))
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same moment as a chrono value.
    pub fn to_chrono(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(value: DateTime<Utc>) -> Self {
        Self::from_millis(value.timestamp_millis())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_chrono().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        let parsed = DateTime::parse_from_rfc3339(text).map_err(|_| NotATimestamp)?;
        Ok(Self::from(parsed.with_timezone(&Utc)))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_written_with_three_decimals_and_read_with_any_offset() {
        for (text, written) in [
            ("2026-11-21T07:07:10.123Z", "2026-11-21T07:07:10.123Z"),
            ("2026-11-21T07:07:10Z", "2026-11-21T07:07:10.000Z"),
            ("2026-11-21t07:07:10.123987z", "2026-11-21T07:07:10.123Z"),
            ("2026-06-01T00:30:00+01:00", "2026-05-31T23:30:00.000Z"),
            ("2026-06-01T00:30:00-03:30", "2026-06-01T04:00:00.000Z"),
        ] {
            let parsed: Timestamp = text.parse().unwrap();
            assert_eq!(parsed.to_string(), written);
        }
        for bad in ["", "2026-11-21", "2026-11-21T07:07:10", "yesterday", "1763708830"] {
            assert_eq!(bad.parse::<Timestamp>(), Err(NotATimestamp), "{bad}");
        }
    }

    #[test]
    fn arithmetic_stays_within_the_years_that_can_be_written() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last.plus(Duration::MAX), last);
        assert_eq!(last.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_millis(5).since(last), Duration::ZERO);
    }
}
