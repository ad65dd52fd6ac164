//! Converts between columns and values. The error for an invalid value names the column.

use chrono::{DateTime, Utc};
use sms_core::account::Mode;
use sms_core::credits::Credits;
use sms_core::dispatch::{LeaseToken, QueueEntry};
use sms_core::ids::{Id, Kind};
use sms_core::message::{Body, Message, Times};
use sms_core::originator::Originator;
use sms_core::phone::E164;
use sms_core::receipt::ReceiptStatus;
use sms_core::route::RouteName;
use sms_core::text::Segments;
use sms_core::time::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::error::{PgError, PgResult};

pub(crate) fn uuid<K: Kind>(id: Id<K>) -> Uuid {
    Uuid::from_u128(id.as_u128())
}

pub(crate) fn uuids<K: Kind>(ids: impl IntoIterator<Item = Id<K>>) -> Vec<Uuid> {
    ids.into_iter().map(uuid).collect()
}

pub(crate) fn token(token: LeaseToken) -> Uuid {
    Uuid::from_u128(token.0)
}

pub(crate) fn digits(number: E164) -> i64 {
    // E.164 has at most 15 digits.
    i64::try_from(number.digits()).unwrap_or(i64::MAX)
}

pub(crate) fn amount(credits: Credits) -> i64 {
    credits.gain().get()
}

/// A count as an `integer` column stores it. Counts stay far below the limit.
pub(crate) fn integer(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A count as a `bigint` column stores it. Counts stay far below the limit.
pub(crate) fn bigint(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn time(at: Timestamp) -> DateTime<Utc> {
    at.to_chrono()
}
/// Reads typed values from a row by column.
pub(crate) trait Read {
    fn id<K: Kind>(&self, column: &str) -> PgResult<Id<K>>;
    fn maybe_id<K: Kind>(&self, column: &str) -> PgResult<Option<Id<K>>>;
    fn at(&self, column: &str) -> PgResult<Timestamp>;
    fn maybe_at(&self, column: &str) -> PgResult<Option<Timestamp>>;
    fn number(&self, column: &str) -> PgResult<E164>;
    /// Who sent an inbound message, by `from_number` and `from_name`.
    fn originator(&self) -> PgResult<Originator>;
    fn credits(&self, column: &str) -> PgResult<Credits>;
    fn count(&self, column: &str) -> PgResult<u32>;
    fn maybe_token(&self, column: &str) -> PgResult<Option<LeaseToken>>;
    fn name<T: std::str::FromStr>(&self, column: &str) -> PgResult<T>;
    fn mode(&self, column: &str) -> PgResult<Mode>;
    /// Reads the row as one of `table`, which errors then name together with the row's `id`.
    fn in_table<T>(&self, table: &'static str, read: impl FnOnce() -> PgResult<T>) -> PgResult<T>;
}

impl Read for PgRow {
    fn id<K: Kind>(&self, column: &str) -> PgResult<Id<K>> {
        Ok(Id::from_u128(self.try_get::<Uuid, _>(column)?.as_u128()))
    }

    fn maybe_id<K: Kind>(&self, column: &str) -> PgResult<Option<Id<K>>> {
        let found = self.try_get::<Option<Uuid>, _>(column)?;
        Ok(found.map(|id| Id::from_u128(id.as_u128())))
    }

    fn at(&self, column: &str) -> PgResult<Timestamp> {
        Ok(self.try_get::<DateTime<Utc>, _>(column)?.into())
    }

    fn maybe_at(&self, column: &str) -> PgResult<Option<Timestamp>> {
        Ok(self.try_get::<Option<DateTime<Utc>>, _>(column)?.map(Into::into))
    }

    fn number(&self, column: &str) -> PgResult<E164> {
        let digits = u64::try_from(self.try_get::<i64, _>(column)?);
        digits.ok().and_then(E164::from_digits).ok_or_else(|| PgError::invalid(column))
    }

    fn originator(&self) -> PgResult<Originator> {
        Ok(Originator::kept(self.number("from_number")?, self.try_get("from_name")?))
    }

    fn credits(&self, column: &str) -> PgResult<Credits> {
        let amount = u64::try_from(self.try_get::<i64, _>(column)?);
        amount
            .ok()
            .and_then(|amount| Credits::new(amount).ok())
            .ok_or_else(|| PgError::invalid(column))
    }

    fn count(&self, column: &str) -> PgResult<u32> {
        u32::try_from(self.try_get::<i32, _>(column)?).map_err(|_| PgError::invalid(column))
    }

    fn maybe_token(&self, column: &str) -> PgResult<Option<LeaseToken>> {
        let found = self.try_get::<Option<Uuid>, _>(column)?;
        Ok(found.map(|token| LeaseToken(token.as_u128())))
    }

    fn name<T: std::str::FromStr>(&self, column: &str) -> PgResult<T> {
        self.try_get::<&str, _>(column)?.parse().map_err(|_| PgError::invalid(column))
    }

    fn mode(&self, column: &str) -> PgResult<Mode> {
        match self.try_get::<&str, _>(column)? {
            "live" => Ok(Mode::Live),
            "test" => Ok(Mode::Test),
            _ => Err(PgError::invalid(column)),
        }
    }

    fn in_table<T>(&self, table: &'static str, read: impl FnOnce() -> PgResult<T>) -> PgResult<T> {
        read().map_err(|error| error.in_row(table, self.try_get("id").ok()))
    }
}

/// The columns of a message, for a table with the alias `m`.
#[macro_export]
#[doc(hidden)]
macro_rules! message_columns {
    () => {
        "m.account_id, m.id, m.direction, m.status, m.to_number, m.from_number, m.body, \
         m.encoding, m.segments, m.credits, m.route, m.mode, m.sender, m.client_ref, m.batch_id, \
         m.campaign_id, m.contact_id, m.error_code, m.scheduled_at, m.sent_at, m.delivered_at, \
         m.failed_at, m.cancelled_at, m.received_at, m.read_at"
    };
}

pub(crate) fn message(row: &PgRow) -> PgResult<Message> {
    row.in_table("message", || {
        let error = row.try_get::<Option<&str>, _>("error_code")?;
        let error = error.map(|code| code.parse().map_err(|_| PgError::invalid("error_code")));
        Ok(Message {
            id: row.id("id")?,
            account: row.id("account_id")?,
            direction: row.name("direction")?,
            status: row.name("status")?,
            to: row.number("to_number")?,
            from: row.number("from_number")?,
            body: Body::new(row.try_get::<String, _>("body")?),
            encoding: row.name("encoding")?,
            segments: Segments::new(row.count("segments")?),
            credits: row.credits("credits")?,
            route: RouteName::new(row.try_get::<String, _>("route")?),
            sender: row.try_get("sender")?,
            client_ref: row.try_get("client_ref")?,
            batch_id: row.maybe_id("batch_id")?,
            campaign_id: row.maybe_id("campaign_id")?,
            contact_id: row.maybe_id("contact_id")?,
            error: error.transpose()?,
            mode: row.mode("mode")?,
            scheduled_at: row.maybe_at("scheduled_at")?,
            times: Times {
                sent_at: row.maybe_at("sent_at")?,
                delivered_at: row.maybe_at("delivered_at")?,
                failed_at: row.maybe_at("failed_at")?,
                cancelled_at: row.maybe_at("cancelled_at")?,
                received_at: row.maybe_at("received_at")?,
                read_at: row.maybe_at("read_at")?,
            },
        })
    })
}

/// A message's queue entry, from a row with the columns of the queue and the id of the message.
pub(crate) fn queue_entry(row: &PgRow) -> PgResult<QueueEntry> {
    row.in_table("queue", || {
        Ok(QueueEntry {
            message: row.id("id")?,
            account: row.id("account_id")?,
            lane: row.name("lane")?,
            claimable_at: row.at("claimable_at")?,
            expires_at: row.at("expires_at")?,
            attempt: row.count("attempt")?,
            lease: row.maybe_token("lease")?,
            unanswered: row.count("unanswered")?,
        })
    })
}

/// A report as its column stores it. No error has the code `delivered`.
pub(crate) fn report_code(report: ReceiptStatus) -> &'static str {
    match report {
        ReceiptStatus::Delivered => "delivered",
        ReceiptStatus::Undelivered(error) => error.as_str(),
    }
}
