//! Writes plain sends under their guards, with one statement that writes all or nothing.

use std::collections::BTreeMap;

use sms_core::credits::Credits;
use sms_core::credits::ledger::Entry;
use sms_core::ids::AccountId;
use sms_core::phone::E164;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::{SendPlan, new_messages};
use sms_core::statistics::Tally;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use super::facts::earlier_send;
use crate::conversation::Moved;
use crate::credits::{Causes, ledger_entry};
use crate::error::{PgError, PgResult};
use crate::new_message::{with_lines, with_new_messages};
use crate::row::{amount, digits, integer, time, token, uuid};
use crate::statistics::counted;

/// What plans of one account take together, and the version on which they were settled.
pub(super) struct Charge {
    pub(super) version: i64,
    pub(super) at_least: Credits,
    pub(super) entries: i64,
}

/// What is remembered under the idempotency key of a plan.
pub(super) struct Keyed {
    pub(super) account: AccountId,
    pub(super) key: IdempotencyKey,
    /// Its balance is not used.
    pub(super) earlier: EarlierSend,
    /// What the account's plans take up to and with this one.
    pub(super) taken: Credits,
}

impl Keyed {
    /// What the account's plans after this one take.
    fn later_charge(&self, charges: &BTreeMap<AccountId, Charge>) -> i64 {
        let all = charges.get(&self.account).map_or(Credits::ZERO, |charge| charge.at_least);
        amount(all) - amount(self.taken)
    }
}

/// What is written together.
pub(super) struct Write<'a> {
    pub(super) plans: &'a [&'a SendPlan],
    pub(super) charges: &'a BTreeMap<AccountId, Charge>,
    /// In the order in which they are booked. Their balances are not used.
    pub(super) entries: Vec<(AccountId, Entry)>,
    /// The idempotency keys of the plans.
    pub(super) keys: &'a [Keyed],
    /// The conversations that the messages may belong to.
    pub(super) moved: &'a Moved,
    pub(super) tally: Tally,
    /// The numbers on which held messages were settled, and the transactions that wrote them.
    pub(super) seen: Vec<(E164, &'a str)>,
}

/// An entry, counted from the last one of its account: the entries after it, and what they take.
struct Booking<'a> {
    account: AccountId,
    entry: &'a Entry,
    cause: Causes,
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
        let (account, cause) = (*account, Causes::of(entry.cause));
        all.push(Booking { account, entry, cause, later, later_charge });
        *count += 1;
        *charge -= entry.amount.get();
    }
    all
}

/// Writes messages, places in the queue, ledger entries, balances, idempotency keys, the newest
/// messages of conversations, and statistics.
/// Returns the balance of each account afterwards. The statement fails, and nothing is written, if
/// an account has another version or less than it needs, if a number was written since, or if an
/// idempotency key exists already.
///
/// The messages are written before the accounts are locked, which the count of them sees to.
/// Balances and positions in the ledger follow from those that are found, so that other commits
/// meanwhile do no harm.
pub(super) async fn write(
    connection: &mut PgConnection,
    what: Write<'_>,
) -> PgResult<BTreeMap<AccountId, Credits>> {
    let Write { plans, charges, entries, keys, moved, tally, seen } = what;
    let new = new_messages(plans.iter().copied()).messages;
    let lines = with_lines(&new);
    let places: Vec<_> = new.iter().map(|new| (new.message, &new.entry)).collect();
    let bookings = bookings(&entries);
    let statement = with_new_messages!(
        [count(charges.len()), count(keys.len())] (&lines, &places)
        ",
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
                ..ledger_entry!(booking.entry, booking.cause),
                later: bigint = booking.later,
                later_charge: bigint = booking.later_charge,
             } " JOIN charged c ON c.id = e.account_id),
         keyed AS (
             INSERT INTO idempotency_key
                 (account_id, key, fingerprint, batch_id, rejected, gaps, credits, balance,
                 accepted_at)
             SELECT c.id, k.key, k.fingerprint, k.batch_id, k.rejected, k.gaps, k.credits,
                    c.balance + k.later_charge, k.accepted_at
             FROM " rows(keyed in keys) as k {
                account_id: uuid = uuid(keyed.account),
                key: text = keyed.key.as_str(),
                ..earlier_send!(&keyed.earlier),
                later_charge: bigint = keyed.later_charge(charges),
             } " JOIN charged c ON c.id = k.account_id
             ON CONFLICT (account_id, key) DO NOTHING
             RETURNING 1),
         moved AS (
             UPDATE conversation v SET last_message_id = new.id
             FROM " rows(((account, number), id) in moved) as new {
                account_id: uuid = uuid(*account),
                phone: bigint = digits(*number),
                id: uuid = uuid(*id),
             } " JOIN charged c ON c.id = new.account_id
             WHERE v.account_id = new.account_id AND v.phone = new.phone
                 AND (v.last_message_id < new.id) IS TRUE),
         counted AS (INSERT INTO statistic_change " insert(count in tally.counts()) {
            ..counted!(count),
         } ")
         SELECT COALESCE(array_agg(id), '{}') AS ids,
                COALESCE(array_agg(balance), '{}') AS balances,
                CASE WHEN count(*) <> $1 OR (SELECT count(*) FROM keyed) <> $2
                     THEN overtaken() END
         FROM charged"
    );
    balances(&statement.fetch_one(connection).await?)
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
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
