//! Converts between columns and values. A query lists its columns in the order in which the values
//! are read, so that no column is looked up by name.
//!
//! Ids are 16 bytes, big end first; times are milliseconds; statuses that every message has are
//! small integers, whose meaning a test pins down.

use rusqlite::Row;
use rusqlite::types::{FromSql, Type};
use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::dispatch::LeaseToken;
use sms_core::ids::{Id, Kind};
use sms_core::message::{Direction, ErrorCode, MessageStatus};
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::text::Encoding;
use sms_core::time::Timestamp;

use crate::error::{Invalid, SqlResult};

pub(crate) fn id<K: Kind>(id: Id<K>) -> [u8; 16] {
    id.as_u128().to_be_bytes()
}

pub(crate) fn maybe_id<K: Kind>(of: Option<Id<K>>) -> Option<[u8; 16]> {
    of.map(id)
}

pub(crate) fn token(token: LeaseToken) -> [u8; 16] {
    token.0.to_be_bytes()
}

pub(crate) fn digits(number: E164) -> i64 {
    // E.164 has at most 15 digits.
    i64::try_from(number.digits()).unwrap_or(i64::MAX)
}

pub(crate) fn amount(credits: Credits) -> i64 {
    credits.gain().get()
}

pub(crate) fn time(at: Timestamp) -> i64 {
    at.as_millis()
}

pub(crate) fn maybe_time(at: Option<Timestamp>) -> Option<i64> {
    at.map(time)
}

pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn size(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The place of a value among all values of its kind.
fn place<T: PartialEq>(all: &[T], value: &T) -> i64 {
    size(all.iter().position(|one| one == value).unwrap_or(usize::MAX))
}

pub(crate) fn status(status: MessageStatus) -> i64 {
    place(&MessageStatus::ALL, &status)
}

pub(crate) fn status_of(code: i64) -> Option<MessageStatus> {
    MessageStatus::ALL.get(usize::try_from(code).ok()?).copied()
}

pub(crate) fn direction(direction: Direction) -> i64 {
    place(&Direction::ALL, &direction)
}

pub(crate) fn encoding(encoding: Encoding) -> i64 {
    place(&Encoding::ALL, &encoding)
}

pub(crate) fn mode(mode: Mode) -> i64 {
    place(&Mode::ALL, &mode)
}

/// A receipt as text: `delivered`, or why not.
pub(crate) fn receipt(status: ReceiptStatus) -> &'static str {
    match status {
        ReceiptStatus::Delivered => "delivered",
        ReceiptStatus::Undelivered(error) => error.as_str(),
    }
}

/// The columns of a row, read from left to right.
pub(crate) struct Cols<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Cols<'a> {
    pub(crate) fn of(row: &'a Row<'a>) -> Self {
        Self { row, next: 0 }
    }

    pub(crate) fn get<T: FromSql>(&mut self) -> SqlResult<T> {
        let value = self.row.get(self.next);
        self.next += 1;
        value
    }

    /// A value that the program cannot have written, in the column read last.
    pub(crate) fn invalid(&self) -> rusqlite::Error {
        let place = self.next.saturating_sub(1);
        let name = self.row.as_ref().column_name(place).unwrap_or("?").to_owned();
        rusqlite::Error::FromSqlConversionFailure(place, Type::Blob, Box::new(Invalid(name)))
    }

    /// Reads a value and converts it.
    pub(crate) fn map<S: FromSql, T>(&mut self, to: impl FnOnce(S) -> Option<T>) -> SqlResult<T> {
        let stored = self.get()?;
        to(stored).ok_or_else(|| self.invalid())
    }

    /// The same, of a value that may be missing.
    pub(crate) fn maybe<S: FromSql, T>(
        &mut self,
        to: impl FnOnce(S) -> Option<T>,
    ) -> SqlResult<Option<T>> {
        let Some(stored) = self.get()? else { return Ok(None) };
        to(stored).map(Some).ok_or_else(|| self.invalid())
    }

    pub(crate) fn raw_id(&mut self) -> SqlResult<u128> {
        Ok(u128::from_be_bytes(self.get()?))
    }

    pub(crate) fn id<K: Kind>(&mut self) -> SqlResult<Id<K>> {
        Ok(Id::from_u128(self.raw_id()?))
    }

    pub(crate) fn maybe_id<K: Kind>(&mut self) -> SqlResult<Option<Id<K>>> {
        let found: Option<[u8; 16]> = self.get()?;
        Ok(found.map(|bytes| Id::from_u128(u128::from_be_bytes(bytes))))
    }

    pub(crate) fn maybe_token(&mut self) -> SqlResult<Option<LeaseToken>> {
        let found: Option<[u8; 16]> = self.get()?;
        Ok(found.map(|bytes| LeaseToken(u128::from_be_bytes(bytes))))
    }

    pub(crate) fn at(&mut self) -> SqlResult<Timestamp> {
        Ok(Timestamp::from_millis(self.get()?))
    }

    pub(crate) fn maybe_at(&mut self) -> SqlResult<Option<Timestamp>> {
        let found: Option<i64> = self.get()?;
        Ok(found.map(Timestamp::from_millis))
    }

    pub(crate) fn number(&mut self) -> SqlResult<E164> {
        self.map(|digits: i64| E164::from_digits(u64::try_from(digits).ok()?))
    }

    pub(crate) fn credits(&mut self) -> SqlResult<Credits> {
        self.map(|amount: i64| Credits::new(u64::try_from(amount).ok()?).ok())
    }

    pub(crate) fn whole(&mut self) -> SqlResult<u64> {
        self.map(|count: i64| u64::try_from(count).ok())
    }

    pub(crate) fn count(&mut self) -> SqlResult<u32> {
        self.map(|count: i64| u32::try_from(count).ok())
    }

    pub(crate) fn yes(&mut self) -> SqlResult<bool> {
        self.get()
    }

    /// A value stored as its name.
    pub(crate) fn name<T: std::str::FromStr>(&mut self) -> SqlResult<T> {
        self.map(|name: String| name.parse().ok())
    }

    /// A value stored as its place among all values of its kind.
    pub(crate) fn among<T: Copy>(&mut self, all: &[T]) -> SqlResult<T> {
        self.map(|place: i64| all.get(usize::try_from(place).ok()?).copied())
    }

    pub(crate) fn maybe_receipt(&mut self) -> SqlResult<Option<ReceiptStatus>> {
        self.maybe(|name: String| receipt_of(&name))
    }
}

fn receipt_of(name: &str) -> Option<ReceiptStatus> {
    match name {
        "delivered" => Some(ReceiptStatus::Delivered),
        code => code.parse::<ErrorCode>().ok().map(ReceiptStatus::Undelivered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_as_an_integer_keeps_its_meaning() {
        let statuses = [
            "scheduled",
            "queued",
            "sending",
            "sent",
            "delivered",
            "undelivered",
            "failed",
            "cancelled",
            "received",
        ];
        assert_eq!(MessageStatus::ALL.map(MessageStatus::as_str), statuses);
        assert_eq!(Direction::ALL.map(Direction::as_str), ["outbound", "inbound"]);
        assert_eq!(Encoding::ALL.map(Encoding::as_str), ["gsm7", "ucs2"]);
        assert_eq!(Mode::ALL.map(Mode::as_str), ["live", "test"]);
        assert_eq!(status(MessageStatus::Received), 8);
        assert_eq!(status_of(8), Some(MessageStatus::Received));
        assert_eq!(status_of(9), None);
    }
}
