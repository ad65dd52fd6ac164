//! Values in the form that all stores can write and read.

use sms_core::message::TimelineEntry;

/// What a column holds. Every column may also be null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An id or a lease.
    Id,
    /// A whole number; phone numbers are their digits.
    Whole,
    /// Milliseconds since 1970.
    Time,
    /// Yes or no.
    Flag,
    /// Text, also for values with a name in the API.
    Text,
    /// JSON. Stores may add or remove white space.
    Json,
    /// Bytes.
    Bytes,
    /// The history of a message.
    Timeline,
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// No value, in a column of any kind.
    Null,
    /// Of [`Kind::Id`].
    Id(u128),
    /// Of [`Kind::Whole`] and [`Kind::Time`].
    Whole(i64),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Text`] and [`Kind::Json`].
    Text(String),
    /// Of [`Kind::Bytes`].
    Bytes(Vec<u8>),
    /// Of [`Kind::Timeline`], oldest line first.
    Timeline(Vec<TimelineEntry>),
}

/// The values of a row, in the order of its table's columns.
pub type Row = Vec<Value>;
