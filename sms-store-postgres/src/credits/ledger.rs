//! Balances and ledger entries as rows.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sms_core::commit::{Booked, LedgerWrites};
use sms_core::credits::ledger::{Cause, Entry};
use sms_core::credits::{Change, Credits};
use sms_core::ids::AccountId;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::error::{PgError, PgResult};
use crate::row::{Read, amount, time, uuid};
use crate::rows_query::rows_query;
use crate::statistics::counted;

/// Locks accounts in id order, and reads the balance and the newest ledger seq of each.
pub(crate) async fn lock_balances(
    connection: &mut PgConnection,
    accounts: impl IntoIterator<Item = AccountId>,
) -> PgResult<BTreeMap<AccountId, (Credits, i64)>> {
    let rows = sqlx::query(
        "SELECT id, balance, ledger_seq FROM account WHERE id = ANY($1)
         ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(accounts.into_iter().map(uuid).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| Ok((row.id("id")?, (row.credits("balance")?, row.try_get("ledger_seq")?))))
        .collect()
}

/// Writes ledger entries, balances and the statistics of the entries, with one statement for any
/// number of accounts. The caller has locked the accounts. `seq_of` returns the seq of an account's
/// newest entry.
pub(crate) async fn book(
    connection: &mut PgConnection,
    writes: LedgerWrites,
    seq_of: impl Fn(&AccountId) -> Option<i64>,
) -> PgResult<()> {
    let LedgerWrites { accounts: booked, tally } = writes;
    if booked.is_empty() {
        return Ok(());
    }
    let (mut rows, mut accounts) = (Vec::new(), Vec::with_capacity(booked.len()));
    for (account, Booked { entries, balance }) in booked {
        let mut last = seq_of(&account).ok_or(PgError::Missing("account"))?;
        for entry in entries {
            last += 1;
            let cause = Causes::of(entry.cause);
            rows.push((account, last, entry, cause));
        }
        accounts.push((account, balance, last));
    }
    let all = rows_query!(
        "WITH entries AS (INSERT INTO ledger_entry " insert((account, seq, entry, cause) in &rows) {
            account_id: uuid = uuid(*account),
            seq: bigint = *seq,
            ..ledger_entry!(entry, cause),
            balance_after: bigint = amount(entry.balance_after),
            message_id: uuid = cause.message,
            number_id: uuid = cause.number,
            note: text = entry.note.as_deref(),
            rent_due_at: timestamptz = cause.rent_due,
         } "),
         counted AS (INSERT INTO statistic_change " insert(count in tally.counts()) {
            ..counted!(count),
         } ")
         UPDATE account a SET balance = new.balance, ledger_seq = new.seq
         FROM " rows((account, balance, seq) in &accounts) as new {
            id: uuid = uuid(*account),
            balance: bigint = amount(*balance),
            seq: bigint = *seq,
         } "
         WHERE a.id = new.id"
    );
    all.execute(connection).await?;
    Ok(())
}

/// The columns of an entry and its cause that sends have too, in an `INSERT INTO ledger_entry`.
macro_rules! ledger_entry {
    (($entry:expr, $cause:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            id: uuid = $crate::row::uuid($entry.id),
            kind: text = $entry.cause.kind().as_str(),
            amount: bigint = $entry.amount.get(),
            batch_id: uuid = $cause.batch,
            campaign_id: uuid = $cause.campaign,
            created_at: timestamptz = $crate::row::time($entry.created_at),
        } $($query)+)
    };
}
pub(crate) use ledger_entry;

/// A cause as columns.
#[derive(Default)]
pub(crate) struct Causes {
    pub(crate) batch: Option<Uuid>,
    message: Option<Uuid>,
    pub(crate) campaign: Option<Uuid>,
    number: Option<Uuid>,
    rent_due: Option<DateTime<Utc>>,
}

impl Causes {
    pub(crate) fn of(cause: Cause) -> Self {
        match cause {
            Cause::Send { batch, campaign } => {
                Self { batch: Some(uuid(batch)), campaign: campaign.map(uuid), ..Self::default() }
            }
            Cause::Refund { message, batch, campaign } => Self {
                batch: batch.map(uuid),
                message: Some(uuid(message)),
                campaign: campaign.map(uuid),
                ..Self::default()
            },
            Cause::Rent { number, due_at } => {
                Self { number: Some(uuid(number)), rent_due: Some(time(due_at)), ..Self::default() }
            }
            Cause::TopUp | Cause::Adjustment => Self::default(),
        }
    }
}

/// The columns of an entry, and its seq.
macro_rules! entry_columns {
    () => {
        "seq, id, kind, amount, balance_after, batch_id, message_id, campaign_id, number_id, \
         rent_due_at, note, created_at"
    };
}
pub(super) use entry_columns;

pub(super) fn entry(row: &PgRow) -> PgResult<Entry> {
    row.in_table("ledger_entry", || {
        let cause = match row.try_get::<&str, _>("kind")? {
            "send" => {
                Cause::Send { batch: row.id("batch_id")?, campaign: row.maybe_id("campaign_id")? }
            }
            "refund" => Cause::Refund {
                message: row.id("message_id")?,
                batch: row.maybe_id("batch_id")?,
                campaign: row.maybe_id("campaign_id")?,
            },
            "rent" => Cause::Rent { number: row.id("number_id")?, due_at: row.at("rent_due_at")? },
            "top_up" => Cause::TopUp,
            "adjustment" => Cause::Adjustment,
            _ => return Err(PgError::invalid("kind")),
        };
        Ok(Entry {
            id: row.id("id")?,
            cause,
            amount: Change::new(row.try_get("amount")?)
                .ok_or_else(|| PgError::invalid("amount"))?,
            balance_after: row.credits("balance_after")?,
            note: row.try_get("note")?,
            created_at: row.at("created_at")?,
        })
    })
}
