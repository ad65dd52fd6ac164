//! Writes plain sends under their guards, with one statement that writes all or nothing.

use std::collections::BTreeMap;

use serde_json::json;
use sms_core::commit::NewMessage;
use sms_core::credits::Credits;
use sms_core::credits::ledger::{Cause, Entry};
use sms_core::ids::{AccountId, BatchId, CampaignId};
use sms_core::phone::E164;
use sms_core::sending::plan::{SendPlan, new_messages};
use sms_core::statistics::Tally;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::error::{PgError, PgResult};
use crate::message::timeline::Lines;
use crate::row::{amount, digits, integer, time, token, uuid};
use crate::rows_query::rows_query;

/// What plans of one account take together, and the version on which they were settled.
pub(super) struct Charge {
    pub(super) version: i64,
    pub(super) at_least: Credits,
    pub(super) entries: i64,
}

/// What is written together.
pub(super) struct Write<'a> {
    pub(super) plans: &'a [SendPlan],
    pub(super) charges: &'a BTreeMap<AccountId, Charge>,
    /// In the order in which they are booked. Their balances are not used.
    pub(super) entries: Vec<(AccountId, Entry)>,
    pub(super) tally: Tally,
    /// The numbers on which held messages were settled, and the transactions that wrote them.
    pub(super) seen: Vec<(E164, &'a str)>,
}

/// An entry, counted from the last one of its account: the entries after it, and what they take.
struct Booking<'a> {
    account: AccountId,
    entry: &'a Entry,
    batch: Option<BatchId>,
    campaign: Option<CampaignId>,
    later: i64,
    later_charge: i64,
}

/// The entries with what follows them.
fn bookings(entries: &[(AccountId, Entry)]) -> Vec<Booking<'_>> {
    let mut later: BTreeMap<AccountId, (i64, i64)> = BTreeMap::new();
    let mut all = Vec::with_capacity(entries.len());
    for (account, entry) in entries.iter().rev() {
        let (count, charge) = later.entry(*account).or_default();
        let (later, later_charge) = (*count, *charge);
        let (batch, campaign) = match entry.cause {
            Cause::Send { batch, campaign } => (Some(batch), campaign),
            _ => (None, None),
        };
        let account = *account;
        all.push(Booking { account, entry, batch, campaign, later, later_charge });
        *count += 1;
        *charge -= entry.amount.get();
    }
    all
}

/// Writes messages, places in the queue, ledger entries, balances and statistics. Returns the
/// balance of each account afterwards. The statement fails, and nothing is written, if an account
/// has another version or less than it needs, or if a number was written since.
///
/// The messages are written before the accounts are locked, which the count of them sees to.
/// Balances and positions in the ledger follow from those that are found, so that other commits
/// meanwhile do no harm. The columns are those of `new_message.rs` and `credits/ledger.rs`.
pub(super) async fn write(
    connection: &mut PgConnection,
    what: Write<'_>,
) -> PgResult<BTreeMap<AccountId, Credits>> {
    let Write { plans, charges, entries, tally, seen } = what;
    let new = new_messages(plans).messages;
    let bookings = bookings(&entries);
    let lines = |new: &NewMessage<'_>| {
        let all: Vec<_> = std::iter::once(&new.line).chain(&new.claimed).cloned().collect();
        Lines::of(new.message, &all)
    };
    let lines: Vec<Lines> = new.iter().map(lines).collect();
    let statement = rows_query!(
        [i64::try_from(charges.len()).unwrap_or(i64::MAX)]
        "WITH placed AS (INSERT INTO message " insert((new, lines) in new.iter().zip(&lines)) {
            account_id: uuid = uuid(new.message.account),
            id: uuid = uuid(new.message.id),
            direction: text = new.message.direction.as_str(),
            status: text = new.message.status.as_str(),
            to_number: bigint = digits(new.message.to),
            from_number: bigint = digits(new.message.from),
            contact_number: bigint = digits(new.message.contact_number()),
            body: text = new.message.body.as_str(),
            encoding: text = new.message.encoding.as_str(),
            segments: integer = integer(new.message.segments.get()),
            credits: bigint = amount(new.message.credits),
            route: text = new.message.route.as_str(),
            mode: text = new.message.mode.as_str(),
            sender: text = new.message.sender.as_deref(),
            client_ref: text = new.message.client_ref.as_deref(),
            batch_id: uuid = new.message.batch_id.map(uuid),
            campaign_id: uuid = new.message.campaign_id.map(uuid),
            contact_id: uuid = new.message.contact_id.map(uuid),
            scheduled_at: timestamptz = new.message.scheduled_at.map(time),
            sending_at: timestamptz = lines.sending_at.map(time),
            timeline: jsonb = lines.stored.clone().unwrap_or_else(|| json!([])),
         } " RETURNING 1),
         waiting AS (INSERT INTO queue " insert(new in &new) {
            message_id: uuid = uuid(new.entry.message),
            account_id: uuid = uuid(new.entry.account),
            claimable_at: timestamptz = time(new.entry.claimable_at),
            expires_at: timestamptz = time(new.entry.expires_at),
            route: text = new.message.route.as_str(),
            status: text = new.message.status.as_str(),
            lane: text = new.entry.lane.as_str(),
            lease: uuid = new.entry.lease.map(token),
         } "),
         charged AS (
             UPDATE account a
             SET balance = a.balance - new.charge, ledger_seq = a.ledger_seq + new.entries
             FROM (SELECT count(*) AS messages FROM placed) AS placed
             CROSS JOIN " rows((account, charge) in charges) as new {
                id: uuid = uuid(*account),
                charge: bigint = amount(charge.at_least),
                entries: bigint = charge.entries,
                version: bigint = charge.version,
             } "
             WHERE a.id = new.id AND a.version = new.version AND a.balance >= new.charge
               AND placed.messages IS NOT NULL
               AND NOT EXISTS (
                   SELECT FROM " rows((phone, written_by) in &seen) as want {
                      phone: bigint = digits(*phone),
                      written_by: text = *written_by,
                   } " WHERE (SELECT n.xmin::text FROM number n WHERE n.phone = want.phone)
                           IS DISTINCT FROM want.written_by)
             RETURNING a.id, a.balance, a.ledger_seq),
         booked AS (
             INSERT INTO ledger_entry
                 (account_id, seq, id, kind, amount, balance_after, batch_id, campaign_id,
                 created_at)
             SELECT c.id, c.ledger_seq - e.later, e.id, e.kind, e.amount,
                    c.balance + e.later_charge, e.batch_id, e.campaign_id, e.created_at
             FROM " rows(booking in &bookings) as e {
                account_id: uuid = uuid(booking.account),
                id: uuid = uuid(booking.entry.id),
                kind: text = booking.entry.cause.kind().as_str(),
                amount: bigint = booking.entry.amount.get(),
                batch_id: uuid = booking.batch.map(uuid),
                campaign_id: uuid = booking.campaign.map(uuid),
                created_at: timestamptz = time(booking.entry.created_at),
                later: bigint = booking.later,
                later_charge: bigint = booking.later_charge,
             } " JOIN charged c ON c.id = e.account_id),
         counted AS (INSERT INTO statistic_change " insert(count in tally.counts()) {
            account_id: uuid = uuid(count.account),
            at: timestamptz = time(count.at),
            counted: text = count.counted.as_str(),
            amount: bigint = count.amount,
         } ")
         SELECT COALESCE(array_agg(id), '{}') AS ids,
                COALESCE(array_agg(balance), '{}') AS balances,
                CASE WHEN count(*) <> $1 THEN overtaken() END
         FROM charged"
    );
    balances(&statement.fetch_one(connection).await?)
}

/// The balance of each account, from the row that the statement answers with.
fn balances(row: &PgRow) -> PgResult<BTreeMap<AccountId, Credits>> {
    let (ids, balances): (Vec<Uuid>, Vec<i64>) = (row.try_get("ids")?, row.try_get("balances")?);
    let balance = |(id, balance): (Uuid, i64)| {
        let balance = u64::try_from(balance).ok().and_then(|it| Credits::new(it).ok());
        Ok((
            AccountId::from_u128(id.as_u128()),
            balance.ok_or_else(|| PgError::invalid("balance"))?,
        ))
    };
    ids.into_iter().zip(balances).map(balance).collect()
}
