//! Makes spans of settled messages. An account with few messages outside of spans is left alone:
//! reading them one by one is as fast.

use sms_core::ids::MessageId;
use sms_core::message::signature::Signature;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::{MOST_MESSAGES, WALK};
use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::row::uuid;
use crate::rows_query::rows_query;

/// How many accounts one call checks.
const MOST_ACCOUNTS: i64 = 500;

/// A finished span.
struct Span {
    account: Uuid,
    first: Uuid,
    last: Uuid,
    signature: Vec<u8>,
}

/// An account that was checked.
struct Looked {
    account: Uuid,
    /// Its newest message that is in a span.
    last: Uuid,
    /// Whether it has enough messages for more spans.
    is_due: bool,
}

/// Continues the round through the accounts; returns how many accounts and messages it went
/// through.
pub(crate) async fn prepare(
    pool: &PgPool,
    before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let before = uuid(MessageId::first_at(before));
    prepare_before(pool, before, limit).await.context("preparing searches")
}

async fn prepare_before(pool: &PgPool, before: Uuid, limit: usize) -> PgResult<usize> {
    // No transaction is open while bodies are read and signatures are computed.
    let round = sqlx::query("SELECT last_account, step FROM message_span_round");
    let round = round.fetch_one(pool).await?;
    let step: i64 = round.try_get("step")?;
    let mut come_to: Uuid = round.try_get("last_account")?;
    let accounts = look_at(pool, come_to, before).await?;
    let (mut spans, mut left, mut gone_through) = (Vec::new(), limit.max(1), 0);
    for Looked { account, last, is_due } in &accounts {
        gone_through += 1;
        if *is_due {
            let taken = take_in(pool, *account, *last, before, left, &mut spans).await?;
            gone_through += taken;
            left -= taken;
            if left == 0 {
                // It may have more: the next step begins with it.
                break;
            }
        }
        come_to = *account;
    }
    if accounts.is_empty() {
        come_to = Uuid::nil();
    }
    let is_mine = write(pool, step, come_to, spans).await?;
    Ok(if is_mine { gone_through } else { 0 })
}

/// Writes a step of the round, unless another program has written the same step; returns whether it
/// did.
async fn write(pool: &PgPool, step: i64, come_to: Uuid, spans: Vec<Span>) -> PgResult<bool> {
    let mut tx = begin(pool).await?;
    let update = sqlx::query(
        "UPDATE message_span_round SET last_account = $2, step = step + 1 WHERE step = $1",
    )
    .bind(step)
    .bind(come_to);
    if update.execute(&mut *tx).await?.rows_affected() == 0 {
        return Ok(false);
    }
    if !spans.is_empty() {
        let insert = rows_query!(
            "INSERT INTO message_span " insert(span in &spans) {
                account_id: uuid = span.account,
                first_id: uuid = span.first,
                last_id: uuid = span.last,
                signature: bytea = span.signature.as_slice(),
            }
        );
        insert.execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(true)
}

/// The next accounts of the round. An account is due when it has more messages outside of spans
/// than a search reads one by one.
async fn look_at(pool: &PgPool, after: Uuid, before: Uuid) -> PgResult<Vec<Looked>> {
    let mut tx = begin(pool).await?;
    // The table of spans grows; plans that were made when it was small must not scan it.
    sqlx::query("SET LOCAL enable_seqscan = off").execute(&mut *tx).await?;
    let rows = sqlx::query(
        "SELECT a.id, span.last_id, EXISTS (
             SELECT FROM message m
             WHERE (m.account_id, m.id) > (a.id, span.last_id) AND (m.account_id, m.id) < (a.id, $2)
             ORDER BY m.account_id, m.id OFFSET $3 LIMIT 1) AS is_due
         FROM (SELECT id FROM account WHERE id > $1 ORDER BY id LIMIT $4) AS a
         CROSS JOIN LATERAL (
             SELECT COALESCE(
                 (SELECT s.last_id FROM message_span s WHERE s.account_id = a.id
                  ORDER BY s.last_id DESC LIMIT 1),
                 '00000000-0000-0000-0000-000000000000') AS last_id
         ) AS span
         ORDER BY a.id",
    )
    .bind(after)
    .bind(before)
    .bind(i64::try_from(WALK).unwrap_or(i64::MAX))
    .bind(MOST_ACCOUNTS)
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let looked = |row: &sqlx::postgres::PgRow| {
        let (account, last) = (row.try_get("id")?, row.try_get("last_id")?);
        Ok(Looked { account, last, is_due: row.try_get("is_due")? })
    };
    rows.iter().map(looked).collect()
}

/// Makes spans of up to `limit` messages of an account; returns of how many.
async fn take_in(
    pool: &PgPool,
    account: Uuid,
    after: Uuid,
    before: Uuid,
    limit: usize,
    spans: &mut Vec<Span>,
) -> PgResult<usize> {
    let rows = sqlx::query(
        "SELECT id, body FROM message
         WHERE (account_id, id) > ($1, $2) AND (account_id, id) < ($1, $3)
         ORDER BY account_id, id LIMIT $4",
    )
    .bind(account)
    .bind(after)
    .bind(before)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await?;
    let mut messages = rows.iter().peekable();
    while let Some(first) = messages.peek() {
        let first: Uuid = first.try_get("id")?;
        let (mut last, mut count, mut signature) = (first, 0_i64, Signature::new());
        while count < MOST_MESSAGES && !signature.is_full() {
            let Some(row) = messages.next() else { break };
            signature.take_in(row.try_get("body")?);
            last = row.try_get("id")?;
            count += 1;
        }
        spans.push(Span { account, first, last, signature: signature.into_bytes() });
    }
    Ok(rows.len())
}
