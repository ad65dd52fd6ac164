//! Where an event is in its account's log.

use std::fmt;
use std::str::FromStr;

use crate::ids::crockford;
use crate::page::Cursor;

/// Where an event is in its account's log. It never changes. Its text has 26 characters and is
/// opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The commit that raised the event, by the store's own count. Positive.
    pub commit: u64,
    /// The place among the events that the commit raised for the account.
    pub place: u32,
}

/// The text is not a position of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid position; use the position of an event")]
pub struct NotAPosition;

impl Position {
    /// Before every event: a reading after it starts with the oldest.
    pub const START: Self = Self { commit: 0, place: 0 };

    /// After every event of this commit and of those before it.
    pub const fn end_of(commit: u64) -> Self {
        Self { commit, place: u32::MAX }
    }

    fn as_u128(self) -> u128 {
        (u128::from(self.commit) << 64) | u128::from(self.place)
    }

    /// The cursor that continues after the event at this position.
    pub fn cursor(self) -> Cursor {
        Cursor::from_u128(self.as_u128())
    }

    /// The position that a cursor or a text names.
    fn of(value: u128) -> Option<Self> {
        let (commit, place) = (value >> 64, value & u128::from(u64::MAX));
        Some(Self { commit: u64::try_from(commit).ok()?, place: u32::try_from(place).ok()? })
    }
}

impl TryFrom<Cursor> for Position {
    type Error = NotAPosition;

    fn try_from(cursor: Cursor) -> Result<Self, NotAPosition> {
        Self::of(cursor.as_u128()).ok_or(NotAPosition)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crockford::encode(self.as_u128()).as_str())
    }
}

impl FromStr for Position {
    type Err = NotAPosition;

    fn from_str(text: &str) -> Result<Self, NotAPosition> {
        crockford::decode(text).and_then(Self::of).ok_or(NotAPosition)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_position_reads_the_same_as_a_text_and_as_a_cursor(commit: u64, place: u32) {
            let position = Position { commit, place };
            prop_assert_eq!(position.to_string().parse(), Ok(position));
            prop_assert_eq!(Position::try_from(position.cursor()), Ok(position));
            prop_assert_eq!(position.cursor().to_string(), position.to_string());
        }
    }

    #[test]
    fn positions_go_by_commit_and_then_by_place() {
        let [first, second] = [(1, 7), (2, 0)].map(|(commit, place)| Position { commit, place });
        assert!(Position::START < first && first < Position::end_of(1));
        assert!(Position::end_of(1) < second);
    }

    #[test]
    fn an_invalid_position_is_refused() {
        for text in ["", "0", "evt_01k9z1f7q8e2v5n3r4t6w8y0ac", "01k9z1f7q8e2v5n3r4t6w8y0ac"] {
            assert_eq!(text.parse::<Position>(), Err(NotAPosition), "{text}");
        }
    }
}
