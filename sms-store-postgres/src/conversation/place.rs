//! The data of conversations that commits of messages update: the newest message, the number of
//! unread ones, and the times of automatic replies.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sms_core::ids::{AccountId, BatchId, MessageId};
use sms_core::phone::E164;
use sms_core::time::Timestamp;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{digits, time, uuid};
use crate::rows_query::rows_query;

/// The newest message to each number that a commit sends to.
pub(crate) type Moved = BTreeMap<(AccountId, E164), MessageId>;

/// Moves the existing conversations with these numbers to their newest messages.
pub(crate) async fn shift(connection: &mut PgConnection, moved: Moved) -> PgResult<()> {
    if moved.is_empty() {
        return Ok(());
    }
    // `IS TRUE` keeps the planner from searching the index on the order of conversations.
    let update = rows_query!(
        "UPDATE conversation c SET last_message_id = new.id
         FROM " rows(((account, number), id) in &moved) as new {
            account_id: uuid = uuid(*account),
            phone: bigint = digits(*number),
            id: uuid = uuid(*id),
         } "
         WHERE c.account_id = new.account_id AND c.phone = new.phone
             AND (c.last_message_id < new.id) IS TRUE"
    );
    update.execute(connection).await?;
    Ok(())
}

/// Moves the existing conversations with the numbers of a whole batch, each once.
pub(crate) async fn shift_batch(
    connection: &mut PgConnection,
    account: AccountId,
    batch: BatchId,
) -> PgResult<()> {
    let update = sqlx::query(
        "UPDATE conversation c SET last_message_id = m.id
         FROM message m
         WHERE EXISTS (SELECT FROM account a WHERE a.id = $1 AND a.has_conversations)
             AND c.account_id = $1 AND m.account_id = $1 AND m.batch_id = $2
             AND m.contact_number = c.phone AND (c.last_message_id < m.id) IS TRUE",
    );
    let update = update.bind(uuid(account)).bind(uuid(batch));
    update.persistent(false).execute(connection).await?;
    Ok(())
}

/// Begins or moves the conversation of an inbound message that was just written.
pub(crate) async fn receive(
    connection: &mut PgConnection,
    account: AccountId,
    number: E164,
) -> PgResult<()> {
    // A message sent before the conversation began may have a later id, drawn by another server.
    let receive = sqlx::query(
        "WITH placed AS (
             INSERT INTO conversation AS c (account_id, phone, last_message_id, unread)
             SELECT m.account_id, m.contact_number, m.id, 1 FROM message m
             WHERE m.account_id = ANY(ARRAY[$1]) AND m.contact_number = $2
             ORDER BY m.account_id DESC, m.id DESC LIMIT 1
             ON CONFLICT (account_id, phone) DO UPDATE
             SET last_message_id = excluded.last_message_id, unread = c.unread + 1
             RETURNING account_id),
         counted AS (
             INSERT INTO inbox AS i (account_id, unread) SELECT account_id, 1 FROM placed
             ON CONFLICT (account_id) DO UPDATE SET unread = i.unread + 1 RETURNING account_id)
         UPDATE account a SET has_conversations = true
         FROM counted WHERE a.id = counted.account_id AND NOT a.has_conversations",
    )
    .bind(uuid(account))
    .bind(digits(number));
    receive.execute(connection).await?;
    Ok(())
}

/// The times of the latest automatic replies to a number.
pub(crate) async fn replied(
    connection: &mut PgConnection,
    account: AccountId,
    number: E164,
) -> PgResult<Vec<Timestamp>> {
    let times: Option<Vec<DateTime<Utc>>> = sqlx::query_scalar(
        "SELECT replied_at FROM conversation WHERE account_id = $1 AND phone = $2",
    )
    .bind(uuid(account))
    .bind(digits(number))
    .fetch_optional(connection)
    .await?;
    Ok(times.unwrap_or_default().into_iter().map(Into::into).collect())
}

/// Stores the times of the latest automatic replies to a number.
pub(crate) async fn set_replied(
    connection: &mut PgConnection,
    account: AccountId,
    number: E164,
    replied: Vec<Timestamp>,
) -> PgResult<()> {
    let update =
        sqlx::query("UPDATE conversation SET replied_at = $3 WHERE account_id = $1 AND phone = $2")
            .bind(uuid(account))
            .bind(digits(number))
            .bind(replied.into_iter().map(time).collect::<Vec<_>>());
    update.execute(connection).await?;
    Ok(())
}
