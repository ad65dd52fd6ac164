//! Moments in time: milliseconds in UTC, as the API shows them.
//!
//! A [`Timestamp`] is a value. This module never reads a clock; [`crate::clock`] does.

pub mod london;

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

/// The text is not an RFC 3339 date-time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 date-time, such as 2026-11-21T07:07:10.123Z")]
pub struct NotATimestamp;

/// The years 0000 to 9999, the range of RFC 3339, in milliseconds since 1970.
const EARLIEST: i64 = -62_167_219_200_000;
const LATEST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// The moment `millis` milliseconds after 1970-01-01T00:00:00Z, clamped to the years 0 to 9999
    /// that RFC 3339 can express.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(EARLIEST, LATEST))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; negative before it.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    pub fn as_unix_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// This moment plus `duration`, at most the end of the year 9999.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// This moment minus `duration`, at least the start of the year 0.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(millis))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same moment as a chrono value.
    pub fn to_chrono(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    fn to_rfc3339(self) -> String {
        self.to_chrono().to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(value: DateTime<Utc>) -> Self {
        Self::from_millis(value.timestamp_millis())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
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
        serializer.serialize_str(&self.to_rfc3339())
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
    use proptest::prelude::*;

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

    #[test]
    fn moments_outside_the_years_0_to_9999_are_clamped() {
        for (millis, written) in [
            (i64::MIN, "0000-01-01T00:00:00.000Z"),
            (EARLIEST, "0000-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (LATEST, "9999-12-31T23:59:59.999Z"),
            (LATEST + 1, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp::from_millis(millis).to_string(), written);
        }
        let beyond: Timestamp = "9999-12-31T23:59:59-01:00".parse().unwrap();
        assert_eq!(beyond.as_millis(), LATEST);
        let first = Timestamp::from_millis(EARLIEST);
        assert_eq!(first.minus(Duration::MAX), first);
    }

    #[test]
    fn unix_seconds_are_rounded_down() {
        for (millis, seconds) in
            [(0, 0), (999, 0), (1_000, 1), (-1, -1), (-1_000, -1), (-1_001, -2)]
        {
            assert_eq!(Timestamp::from_millis(millis).as_unix_seconds(), seconds, "{millis}");
        }
    }

    #[test]
    fn a_timestamp_is_a_string_in_json() {
        let at = Timestamp::from_millis(1_795_244_830_123);
        let json = serde_json::to_string(&at).unwrap();
        assert_eq!(json, "\"2026-11-21T07:07:10.123Z\"");
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), at);
        for bad in ["1795244830123", "null", "\"\"", "\"soon\""] {
            assert!(serde_json::from_str::<Timestamp>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn days_and_hours_that_do_not_exist_are_refused() {
        for bad in [
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T07:60:00Z",
            "2026-11-21T07:07:10+24:00",
            "+2026-11-21T07:07:10Z",
            " 2026-11-21T07:07:10Z",
            "2026-11-21T07:07:10Z ",
        ] {
            assert_eq!(bad.parse::<Timestamp>(), Err(NotATimestamp), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_moment_parses_back_from_its_text(millis in EARLIEST..=LATEST) {
            let at = Timestamp::from_millis(millis);
            prop_assert_eq!(at.to_string().parse(), Ok(at));
            prop_assert_eq!(at.to_string().len(), "2026-11-21T07:07:10.123Z".len());
        }

        #[test]
        fn texts_sort_as_moments_do(one in EARLIEST..=LATEST, other in EARLIEST..=LATEST) {
            let (one, other) = (Timestamp::from_millis(one), Timestamp::from_millis(other));
            prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(&other));
        }

        #[test]
        fn minus_undoes_plus_and_since_gives_the_difference(
            millis in -1_000_000_000_000i64..1_000_000_000_000,
            more in 0u64..1_000_000_000_000,
        ) {
            let (at, more) = (Timestamp::from_millis(millis), Duration::from_millis(more));
            prop_assert_eq!(at.plus(more).minus(more), at);
            prop_assert_eq!(at.plus(more).since(at), more);
            prop_assert_eq!(at.since(at.plus(more)), Duration::ZERO);
        }
    }
}
