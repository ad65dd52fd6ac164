//! Rows of segments: their columns, and how they are read.

use sms_core::ids::MessageId;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{NetworkId, SentSegment};
use sms_core::route::RouteName;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{PgError, PgResult};
use crate::row::{Read, report_code};

/// The columns of a network's id.
macro_rules! segment_id {
    (($id:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            route: text = $id.route.as_str(),
            network_id: text = &*$id.id,
        } $($query)+)
    };
}
pub(crate) use segment_id;

/// The columns of a segment of a message, without its report, in an `INSERT INTO sent_segment`.
macro_rules! sent_part {
    (($part:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            ..segment_id!($part.id),
            message_id: uuid = $crate::row::uuid($part.message),
            total: integer = i32::try_from($part.total).unwrap_or(i32::MAX),
            at: timestamptz = $crate::row::time($part.at),
        } $($query)+)
    };
}
pub(crate) use sent_part;

/// The columns of an id with an early report, in an `INSERT INTO sent_segment`.
macro_rules! early_part {
    (($part:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            ..segment_id!($part.0),
            report: text = $crate::row::report_code($part.1.status),
            at: timestamptz = $crate::row::time($part.1.at),
            numbers: text = $part.1.numbers_text(),
        } $($query)+)
    };
}
pub(super) use early_part;

/// The message that a segment belongs to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) message: MessageId,
    pub(crate) siblings: Siblings,
}

/// Whether the message has other segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Siblings {
    None,
    Some,
}

impl Place {
    pub(super) fn read(row: &PgRow) -> PgResult<Self> {
        let siblings = if row.count("total")? > 1 { Siblings::Some } else { Siblings::None };
        Ok(Self { message: row.id("message_id")?, siblings })
    }
}

pub(super) fn report(row: &PgRow) -> PgResult<Option<ReceiptStatus>> {
    let Some(kept) = row.try_get::<Option<&str>, _>("report")? else { return Ok(None) };
    if kept == report_code(ReceiptStatus::Delivered) {
        return Ok(Some(ReceiptStatus::Delivered));
    }
    let error = kept.parse().map_err(|_| PgError::invalid("report"))?;
    Ok(Some(ReceiptStatus::Undelivered(error)))
}

pub(super) fn network_id(row: &PgRow) -> PgResult<NetworkId> {
    let route = RouteName::new(row.try_get::<&str, _>("route")?);
    Ok(NetworkId::new(route, row.try_get::<&str, _>("network_id")?))
}

pub(super) fn part(row: &PgRow) -> PgResult<SentSegment> {
    row.in_table("sent_segment", || {
        Ok(SentSegment {
            id: network_id(row)?,
            message: row.id("message_id")?,
            total: usize::try_from(row.count("total")?).map_err(|_| PgError::invalid("total"))?,
            report: report(row)?,
            at: row.at("at")?,
        })
    })
}
