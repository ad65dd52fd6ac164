//! Writes changes to messages, with one statement per table for any number of messages.

use std::collections::BTreeMap;

use sms_core::change::Contacted;
use sms_core::commit::{ChangeWrites, LedgerWrites, MessageWrite};
use sms_core::credits::ledger::Draft;
use sms_core::ids::AccountId;
use sms_core::message::{ErrorCode, Message};
use sms_core::statistics::Tally;
use sqlx::PgConnection;

use crate::error::{PgError, PgResult};
use crate::row::{time, uuid, uuids};
use crate::rows_query::rows_query;
use crate::statistics::counted;
use crate::timeline::Lines;
use crate::{campaign_counts, credits, event};

/// Writes everything, in the order in which locks are taken.
pub(crate) async fn write(connection: &mut PgConnection, writes: ChangeWrites) -> PgResult<()> {
    let ChangeWrites { messages, unqueued, contacted, refunds, counts, tally, raised } = writes;
    leave_queue(connection, uuids(unqueued)).await?;
    update_messages(connection, &messages, &tally).await?;
    remember_contacts(connection, contacted).await?;
    book_refunds(connection, refunds).await?;
    campaign_counts::insert(connection, counts).await?;
    event::raise(connection, raised).await
}

async fn leave_queue(connection: &mut PgConnection, done: Vec<uuid::Uuid>) -> PgResult<()> {
    if done.is_empty() {
        return Ok(());
    }
    let delete = sqlx::query("DELETE FROM queue WHERE message_id = ANY($1)").bind(done);
    delete.execute(connection).await?;
    Ok(())
}

/// Updates messages, and adds what they count to the statistics.
async fn update_messages(
    connection: &mut PgConnection,
    messages: &[MessageWrite],
    tally: &Tally,
) -> PgResult<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let changed: Vec<(&Message, Lines)> = messages
        .iter()
        .map(|MessageWrite { message, lines }| (message, Lines::of(message, lines)))
        .collect();
    let update = rows_query!(
        "WITH counted AS (INSERT INTO statistic_change " insert(count in tally.counts()) {
            ..counted!(count),
         } ")
         UPDATE message m
         SET status = new.status, error_code = new.error_code, sent_at = new.sent_at,
             delivered_at = new.delivered_at, failed_at = new.failed_at,
             cancelled_at = new.cancelled_at,
             sending_at = COALESCE(m.sending_at, new.sending_at),
             timeline = CASE WHEN new.lines IS NULL THEN m.timeline
                        ELSE m.timeline || new.lines END
         FROM " rows((message, lines) in &changed) as new {
            account_id: uuid = uuid(message.account),
            id: uuid = uuid(message.id),
            status: text = message.status.as_str(),
            error_code: text = message.error.map(ErrorCode::as_str),
            sent_at: timestamptz = message.times.sent_at.map(time),
            delivered_at: timestamptz = message.times.delivered_at.map(time),
            failed_at: timestamptz = message.times.failed_at.map(time),
            cancelled_at: timestamptz = message.times.cancelled_at.map(time),
            sending_at: timestamptz = lines.sending_at.map(time),
            lines: jsonb = lines.stored.clone(),
         } "
         WHERE m.account_id = new.account_id AND m.id = new.id"
    );
    update.execute(connection).await?;
    Ok(())
}

/// The columns of who was sent a message last, in an `INSERT INTO last_contacted`.
macro_rules! last_contacted {
    (($one:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            number: bigint = $crate::row::digits($one.number),
            person: bigint = $crate::row::digits($one.person),
            account_id: uuid = $crate::row::uuid($one.account),
            at: timestamptz = $crate::row::time($one.at),
        } $($query)+)
    };
}
pub(crate) use last_contacted;

/// The end of such a statement: the later time wins, whichever is written first.
macro_rules! unless_newer {
    () => {
        "
        ON CONFLICT (number, person) DO UPDATE
        SET account_id = excluded.account_id, at = excluded.at
        WHERE last_contacted.at <= excluded.at"
    };
}
pub(crate) use unless_newer;

/// Remembers which account last sent a message to each person.
async fn remember_contacts(connection: &mut PgConnection, texted: Vec<Contacted>) -> PgResult<()> {
    if texted.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO last_contacted " insert(one in &texted) {
            ..last_contacted!(one),
        } unless_newer!()
    );
    insert.execute(connection).await?;
    Ok(())
}

/// Books refunds, with one update of each account's balance.
async fn book_refunds(
    connection: &mut PgConnection,
    refunds: BTreeMap<AccountId, Vec<Draft>>,
) -> PgResult<()> {
    if refunds.is_empty() {
        return Ok(());
    }
    let found = credits::lock_balances(connection, refunds.keys().copied()).await?;
    let mut ledger = LedgerWrites::default();
    for (account, drafts) in refunds {
        let Some((balance, _)) = found.get(&account).copied() else { continue };
        // Top-ups leave room for refunds: see `Credits::MOST_TOPPED_UP`.
        let posted = ledger.post(account, balance, drafts);
        posted.map_err(|error| PgError::Balance(Box::new(error)))?;
    }
    credits::book(connection, ledger, |account| found.get(account).map(|(_, seq)| *seq)).await
}
