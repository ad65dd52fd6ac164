//! Inserts messages, with one statement for any number of them. The columns of a message and of its
//! place in the queue stand here alone.

use sms_core::commit::NewMessage;
use sms_core::dispatch::QueueEntry;
use sms_core::message::{Message, TimelineEntry};
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{amount, digits, integer, time, token, uuid};
use crate::timeline::Lines;

/// A query that begins by inserting messages (`placed`) and their places in the queue (`waiting`):
/// `with_new_messages!([first values] (messages with lines, messages with places) "the rest")`, as
/// [`rows_query!`] takes it.
macro_rules! with_new_messages {
    ([$($first:tt)*] ($messages:expr, $places:expr) $($rest:tt)+) => {
        $crate::rows_query::rows_query!(
            [$($first)*]
            "WITH placed AS (INSERT INTO message " insert((message, lines) in $messages) {
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
                timeline: jsonb = lines.stored.clone().unwrap_or_else(|| serde_json::json!([])),
            } " RETURNING 1),
            waiting AS (INSERT INTO queue " insert((message, entry) in $places) {
                message_id: uuid = uuid(entry.message),
                account_id: uuid = uuid(entry.account),
                claimable_at: timestamptz = time(entry.claimable_at),
                expires_at: timestamptz = time(entry.expires_at),
                route: text = message.route.as_str(),
                status: text = message.status.as_str(),
                lane: text = entry.lane.as_str(),
                lease: uuid = entry.lease.map(token),
            } ")" $($rest)+
        )
    };
}
pub(crate) use with_new_messages;

/// Inserts an inbound message, which has no queue entry.
pub(crate) async fn insert_received(
    connection: &mut PgConnection,
    message: &Message,
    line: &TimelineEntry,
) -> PgResult<()> {
    let lines = Lines::of(message, std::slice::from_ref(line));
    insert(connection, vec![(message, lines)], Vec::new()).await
}

/// Inserts messages and their queue entries.
pub(crate) async fn insert_queued(
    connection: &mut PgConnection,
    messages: &[NewMessage<'_>],
) -> PgResult<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let places = messages.iter().map(|new| (new.message, &new.entry)).collect();
    insert(connection, with_lines(messages), places).await
}

async fn insert(
    connection: &mut PgConnection,
    messages: Vec<(&Message, Lines)>,
    places: Vec<(&Message, &QueueEntry)>,
) -> PgResult<()> {
    let both = with_new_messages!([] (&messages, &places) " SELECT 1");
    both.execute(connection).await?;
    Ok(())
}

/// Messages with the lines of their timelines.
pub(crate) fn with_lines<'a>(messages: &[NewMessage<'a>]) -> Vec<(&'a Message, Lines)> {
    let lines = |new: &NewMessage<'a>| {
        let all: Vec<_> = std::iter::once(&new.line).chain(&new.claimed).cloned().collect();
        (new.message, Lines::of(new.message, &all))
    };
    messages.iter().map(lines).collect()
}
