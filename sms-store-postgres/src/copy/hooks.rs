//! The columns whose form here follows from several of the catalogue: timelines, whose plain lines
//! other columns tell, and the text in which searches find contacts.

use chrono::{DateTime, Utc};
use sms_copy::{Column, Row, Table, Value};
use sms_core::contact::{Contact, CustomFields, Details};
use sms_core::ids::{AccountId, ContactId, MessageId};
use sms_core::message::{TimelineEntry, Times};
use sms_core::phone::E164;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;

use crate::error::{PgError, PgResult};
use crate::row::time;
use crate::timeline::{Lines, Told, stored};

/// What is inserted beside a column: its name and type.
pub(super) fn extra(table: &Table, column: Column) -> Option<(&'static str, &'static str)> {
    match (table.name, column.name) {
        ("message", "timeline") => Some(("sending_at", "timestamptz")),
        ("contact", "custom") => Some(("searched", "text")),
        _ => None,
    }
}

/// The timeline of a message, from its stored lines and the other columns.
pub(super) fn timeline(table: &Table, values: &Row, row: &PgRow) -> PgResult<Vec<TimelineEntry>> {
    stored(row, &told(table, values)?)
}

/// A timeline as its columns store it.
pub(super) fn lines(table: &Table, row: &Row) -> PgResult<(String, Option<DateTime<Utc>>)> {
    let Some(Value::Timeline(entries)) = value(table, row, "timeline") else {
        return Err(PgError::invalid("timeline"));
    };
    let Lines { sending_at, stored } = Lines::told(&told(table, row)?, entries);
    let stored = stored.map_or_else(|| "[]".to_owned(), |stored| stored.to_string());
    Ok((stored, sending_at.map(time)))
}

/// What the other columns tell.
fn told(table: &Table, row: &Row) -> PgResult<Told> {
    let at = |column| match value(table, row, column) {
        Some(Value::Whole(millis)) => Some(Timestamp::from_millis(*millis)),
        _ => None,
    };
    let direction = match value(table, row, "direction") {
        Some(Value::Text(name)) => name.parse().ok(),
        _ => None,
    };
    let Some(Value::Id(id)) = value(table, row, "id") else { return Err(PgError::invalid("id")) };
    Ok(Told {
        direction: direction.ok_or_else(|| PgError::invalid("direction"))?,
        created_at: MessageId::from_u128(*id).timestamp(),
        scheduled_at: at("scheduled_at"),
        times: Times {
            sent_at: at("sent_at"),
            delivered_at: at("delivered_at"),
            failed_at: at("failed_at"),
            cancelled_at: at("cancelled_at"),
            received_at: at("received_at"),
            read_at: at("read_at"),
        },
    })
}

/// The text in which searches look for a contact.
pub(super) fn searched(table: &Table, row: &Row) -> PgResult<String> {
    let text = |column| match value(table, row, column) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let phone = match value(table, row, "phone") {
        Some(Value::Whole(digits)) => u64::try_from(*digits).ok().and_then(E164::from_digits),
        _ => None,
    };
    // Only names and email are looked at.
    let epoch = Timestamp::from_millis(0);
    let contact = Contact {
        id: ContactId::from_u128(0),
        account: AccountId::from_u128(0),
        phone: phone.ok_or_else(|| PgError::invalid("phone"))?,
        details: Details {
            first_name: text("first_name"),
            last_name: text("last_name"),
            email: text("email"),
            notes: None,
            custom: CustomFields::default(),
        },
        opted_out: false,
        created_at: epoch,
        updated_at: epoch,
    };
    Ok(contact.searched())
}

fn value<'a>(table: &Table, row: &'a Row, column: &str) -> Option<&'a Value> {
    table.place(column).and_then(|place| row.get(place))
}
