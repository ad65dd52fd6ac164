//! Values in the form that all stores can write and read.

use sms_core::message::TimelineEntry;

/// What a column holds. Every column may also be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An id or a lease.
    Id,
    /// A whole number; phone numbers are their digits.
    Whole,
    /// Milliseconds since the Unix epoch, UTC.
    Time,
    /// Yes or no, as stores write truth values.
    Flag,
    /// Text, also for values with a name in the API.
    Text,
    /// JSON. Stores may add or remove white space.
    Json,
    /// Octets, which a copy does not interpret.
    Bytes,
    /// The history of a message.
    Timeline,
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// No value, in a column of any kind.
    Null,
    /// A value of [`Kind::Id`], 128 bits.
    Id(u128),
    /// Of [`Kind::Whole`] and [`Kind::Time`].
    Whole(i64),
    /// A value of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Text`] and [`Kind::Json`].
    Text(String),
    /// A value of [`Kind::Bytes`].
    Bytes(Vec<u8>),
    /// Of [`Kind::Timeline`], oldest line first.
    Timeline(Vec<TimelineEntry>),
}

/// The values of a row, in the order of its table's columns.
pub type Row = Vec<Value>;
