//! Inserts messages, with one statement for any number of them.

use serde_json::json;
use sms_core::commit::NewMessage;
use sms_core::dispatch::QueueEntry;
use sms_core::message::{Message, TimelineEntry};
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::message::timeline::Lines;
use crate::row::{amount, digits, integer, time, token, uuid};
use crate::rows_query::rows_query;

/// Inserts an inbound message, which has no queue entry.
pub(crate) async fn insert_received(
    connection: &mut PgConnection,
    message: &Message,
    line: &TimelineEntry,
) -> PgResult<()> {
    insert(connection, || [(message, vec![line.clone()])].into_iter(), std::iter::empty).await
}

/// Inserts messages and their queue entries.
pub(crate) async fn insert_queued(
    connection: &mut PgConnection,
    messages: &[NewMessage<'_>],
) -> PgResult<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let lines = || {
        messages.iter().map(|NewMessage { message, line, claimed, entry: _ }| {
            (*message, std::iter::once(line).chain(claimed).cloned().collect())
        })
    };
    let places = || messages.iter().map(|new| (new.message, &new.entry));
    insert(connection, lines, places).await
}

async fn insert<'a, New, Places>(
    connection: &mut PgConnection,
    lines: impl Fn() -> New,
    places: impl Fn() -> Places,
) -> PgResult<()>
where
    New: Iterator<Item = (&'a Message, Vec<TimelineEntry>)>,
    Places: Iterator<Item = (&'a Message, &'a QueueEntry)>,
{
    let messages: Vec<(&Message, Lines)> =
        lines().map(|(message, lines)| (message, Lines::of(message, &lines))).collect();
    let both = rows_query!(
        "WITH messages AS (INSERT INTO message " insert((message, lines) in &messages) {
            account_id: uuid = uuid(message.account),
            id: uuid = uuid(message.id),
            direction: text = message.direction.as_str(),
            status: text = message.status.as_str(),
            to_number: bigint = digits(message.to),
            from_number: bigint = digits(message.from),
            contact_number: bigint = digits(message.contact_number()),
            body: text = message.body.as_str(),
            encoding: text = message.encoding.as_str(),
            segments: integer = integer(message.segments.get()),
            credits: bigint = amount(message.credits),
            route: text = message.route.as_str(),
            mode: text = message.mode.as_str(),
            sender: text = message.sender.as_deref(),
            client_ref: text = message.client_ref.as_deref(),
            batch_id: uuid = message.batch_id.map(uuid),
            campaign_id: uuid = message.campaign_id.map(uuid),
            contact_id: uuid = message.contact_id.map(uuid),
            scheduled_at: timestamptz = message.scheduled_at.map(time),
            received_at: timestamptz = message.times.received_at.map(time),
            sending_at: timestamptz = lines.sending_at.map(time),
            timeline: jsonb = lines.stored.clone().unwrap_or_else(|| json!([])),
        } ")
        INSERT INTO queue " insert((message, entry) in places()) {
            message_id: uuid = uuid(entry.message),
            account_id: uuid = uuid(entry.account),
            claimable_at: timestamptz = time(entry.claimable_at),
            expires_at: timestamptz = time(entry.expires_at),
            route: text = message.route.as_str(),
            status: text = message.status.as_str(),
            lane: text = entry.lane.as_str(),
            lease: uuid = entry.lease.map(token),
        }
    );
    both.execute(connection).await?;
    Ok(())
}
