//! Writing texts that were not there before: one statement for any number of them.

use sms_core::dispatch::QueueEntry;
use sms_core::message::{Message, TimelineEntry};
use sms_core::time::Timestamp;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres};

use crate::error::PgResult;
use crate::row::{amount, digits, stored_lines, time, uuids};

/// Writes the texts that [`bind`] binds.
macro_rules! insert_message {
    () => {
        "INSERT INTO message (account_id, id, direction, status, to_number, from_number,
             contact_number, body, encoding, segments, credits, route, mode, sender, client_ref,
             batch_id, campaign_id, contact_id, scheduled_at, received_at, timeline)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[],
             $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::integer[], $11::bigint[],
             $12::text[], $13::text[], $14::text[], $15::text[], $16::uuid[], $17::uuid[],
             $18::uuid[], $19::timestamptz[], $20::timestamptz[], $21::jsonb[])"
    };
}

/// Writes texts.
pub(crate) async fn insert_texts(
    connection: &mut PgConnection,
    texts: &[(&Message, TimelineEntry)],
) -> PgResult<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let insert = bind(sqlx::query(insert_message!()), texts);
    insert.execute(connection).await?;
    Ok(())
}

/// Writes texts and their places in the queue, which are in the same order.
pub(crate) async fn insert_queued(
    connection: &mut PgConnection,
    texts: &[(&Message, TimelineEntry)],
    entries: &[QueueEntry],
) -> PgResult<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let both = sqlx::query(concat!(
        "WITH texts AS (",
        insert_message!(),
        ")
         INSERT INTO queue (message_id, account_id, claimable_at, expires_at, route)
         SELECT * FROM UNNEST($22::uuid[], $23::uuid[], $24::timestamptz[], $25::timestamptz[],
             $12::text[])"
    ));
    let both = bind(both, texts)
        .bind(uuids(entries.iter().map(|entry| entry.message)))
        .bind(uuids(entries.iter().map(|entry| entry.account)))
        .bind(entries.iter().map(|entry| time(entry.claimable_at)).collect::<Vec<_>>())
        .bind(entries.iter().map(|entry| time(entry.expires_at)).collect::<Vec<_>>());
    both.execute(connection).await?;
    Ok(())
}

fn bind<'q>(
    insert: Query<'q, Postgres, PgArguments>,
    texts: &[(&Message, TimelineEntry)],
) -> Query<'q, Postgres, PgArguments> {
    let each = |pick: &dyn Fn(&Message) -> i64| -> Vec<i64> {
        texts.iter().map(|(message, _)| pick(message)).collect()
    };
    let texts_of = |pick: fn(&Message) -> &str| -> Vec<&str> {
        texts.iter().map(|(message, _)| pick(message)).collect()
    };
    let maybe = |pick: fn(&Message) -> Option<&str>| -> Vec<Option<&str>> {
        texts.iter().map(|(message, _)| pick(message)).collect()
    };
    let ids = |pick: fn(&Message) -> Option<u128>| -> Vec<Option<uuid::Uuid>> {
        texts.iter().map(|(message, _)| pick(message).map(uuid::Uuid::from_u128)).collect()
    };
    let at = |pick: fn(&Message) -> Option<Timestamp>| -> Vec<_> {
        texts.iter().map(|(message, _)| pick(message).map(time)).collect()
    };
    let segments: Vec<i32> = texts
        .iter()
        .map(|(message, _)| i32::try_from(message.segments.get()).unwrap_or(i32::MAX))
        .collect();
    let lines = texts.iter().map(|(_, line)| Json(stored_lines(vec![line.clone()])));
    insert
        .bind(uuids(texts.iter().map(|(message, _)| message.account)))
        .bind(uuids(texts.iter().map(|(message, _)| message.id)))
        .bind(texts_of(|message| message.direction.as_str()))
        .bind(texts_of(|message| message.status.as_str()))
        .bind(each(&|message| digits(message.to)))
        .bind(each(&|message| digits(message.from)))
        .bind(each(&|message| digits(message.contact_number())))
        .bind(texts_of(|message| message.body.as_str()))
        .bind(texts_of(|message| message.encoding.as_str()))
        .bind(segments)
        .bind(each(&|message| amount(message.credits)))
        .bind(texts_of(|message| message.route.as_str()))
        .bind(texts_of(|message| message.mode.as_str()))
        .bind(maybe(|message| message.sender.as_deref()))
        .bind(maybe(|message| message.client_ref.as_deref()))
        .bind(ids(|message| message.batch_id.map(sms_core::ids::Id::as_u128)))
        .bind(ids(|message| message.campaign_id.map(sms_core::ids::Id::as_u128)))
        .bind(ids(|message| message.contact_id.map(sms_core::ids::Id::as_u128)))
        .bind(at(|message| message.scheduled_at))
        .bind(at(|message| message.times.received_at))
        .bind(lines.collect::<Vec<_>>())
}
