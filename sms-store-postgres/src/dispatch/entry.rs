//! Places in the queue.

use sms_core::dispatch::QueueEntry;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{integer, time, token, uuid};
use crate::rows_query::rows_query;

/// Replaces the queue entries of messages that a worker has claimed, so that they are `sending` now
/// or were before. Their rows are locked by this transaction. Each is looked up by itself: a
/// plan that was made while little waited may read the whole queue for a join.
pub(super) async fn put(connection: &mut PgConnection, entries: Vec<QueueEntry>) -> PgResult<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE queue q
         SET claimable_at = new.claimable_at, attempt = new.attempt, lease = new.lease,
             unanswered = new.unanswered, status = 'sending'
         FROM " rows(entry in &entries) as new {
            message_id: uuid = uuid(entry.message),
            claimable_at: timestamptz = time(entry.claimable_at),
            attempt: integer = integer(entry.attempt),
            lease: uuid = entry.lease.map(token),
            unanswered: integer = integer(entry.unanswered),
         } "
         CROSS JOIN LATERAL (
             SELECT ctid AS place FROM queue
             WHERE message_id = new.message_id LIMIT 1) AS old
         WHERE q.ctid = old.place"
    );
    update.execute(connection).await?;
    Ok(())
}
