//! Reads the facts that verdicts on sends depend on, with the accounts locked. Writes what the
//! accepted sends leave besides their messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sms_core::account::AccountStatus;
use sms_core::commit::{LedgerWrites, SendWrites};
use sms_core::credits::Credits;
use sms_core::idempotency::KEPT_FOR;
use sms_core::ids::{AccountId, BatchId};
use sms_core::phone::E164;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey, KeyUse};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{
    SendFacts, SendRefused, SendVerdict, TEST_MESSAGES_KEPT, TEST_WINDOW, TestMessages,
};
use sms_core::sending::{Rejection, RejectionReason};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};

use super::departure::Departures;
use crate::conversation::{Moved, shift};
use crate::credits::book;
use crate::error::{PgError, PgResult};
use crate::fingerprint::fingerprint;
use crate::row::{Read, amount, digits, integer, time, uuid, uuids};
use crate::rows_query::rows_query;

/// The outcome of one plan.
pub(super) enum Settled {
    Accepted { balance: Credits },
    Replayed(Box<EarlierSend>),
    Refused(CommitError<SendRefused>),
}

/// The facts about the locked accounts of some plans. Each accepted plan updates them.
pub(super) struct Locked {
    accounts: BTreeMap<AccountId, LockedAccount>,
    /// The plans that drew a link code that is taken.
    codes_taken: BTreeSet<BatchId>,
    departures: Departures,
    opted_out: BTreeSet<(AccountId, E164)>,
    earlier: BTreeMap<(AccountId, IdempotencyKey), KeyUse>,
    accepted: Accepted,
}

/// What the plans accepted so far write.
#[derive(Default)]
struct Accepted {
    ledger: LedgerWrites,
    remembered: Vec<(AccountId, IdempotencyKey, EarlierSend)>,
    tested: Vec<TestMessages>,
    moved: Moved,
}

struct LockedAccount {
    status: AccountStatus,
    balance: Credits,
    seq: i64,
    test_messages: Vec<(Timestamp, u32)>,
    has_conversations: bool,
}

impl Locked {
    pub(super) async fn read(
        connection: &mut PgConnection,
        plans: &[SendPlan],
        codes_taken: BTreeSet<BatchId>,
    ) -> PgResult<Self> {
        let ids: BTreeSet<AccountId> = plans.iter().map(|plan| plan.account).collect();
        let messages = || plans.iter().flat_map(|plan| plan.messages.iter());
        // An opt-out after this snapshot is seen when the messages are claimed.
        let locked = rows_query!(
            [uuids(ids)]
            "SELECT id, status, balance, ledger_seq, has_conversations,
                 ARRAY(SELECT want.place
                       FROM " rows(text in messages()) with_ordinality(place) as want {
                          account_id: uuid = uuid(text.account),
                          phone: bigint = digits(text.to),
                       } "
                       -- Not EXISTS, which the planner may answer by reading all opt-outs.
                       WHERE (SELECT true FROM opt_out o WHERE o.account_id = want.account_id
                              AND o.phone = want.phone)) AS opted_out
             FROM account WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE OF account"
        );
        let rows = locked.fetch_all(&mut *connection).await?;
        let mut accounts = BTreeMap::new();
        let mut opted_out = BTreeSet::new();
        for row in rows {
            // The same in every row: the positions of the messages to opted-out numbers, from 1.
            let places: Vec<i64> = row.try_get("opted_out")?;
            let places = places.iter().filter_map(|place| usize::try_from(place - 1).ok());
            let found = places.filter_map(|place| messages().nth(place));
            opted_out.extend(found.map(|text| (text.account, text.to)));
            let account = LockedAccount {
                status: row.name("status")?,
                balance: row.credits("balance")?,
                seq: row.try_get("ledger_seq")?,
                test_messages: Vec::new(),
                has_conversations: row.try_get("has_conversations")?,
            };
            accounts.insert(row.id("id")?, account);
        }
        read_test_messages(connection, plans, &mut accounts).await?;
        let departures = Departures::read(connection, plans, &mut opted_out).await?;
        Ok(Self {
            accounts,
            departures,
            codes_taken,
            opted_out,
            earlier: read_earlier(connection, plans).await?,
            accepted: Accepted::default(),
        })
    }

    pub(super) fn settle(&mut self, plan: &SendPlan) -> Settled {
        let Some(account) = self.accounts.get_mut(&plan.account) else {
            return Settled::Refused(CommitError::Refused(SendRefused::NoSuchAccount));
        };
        let key = plan.idempotency.as_ref().map(|claim| (plan.account, claim.key.clone()));
        let earlier = key.as_ref().and_then(|key| self.earlier.get(key));
        let opted_out =
            plan.messages.iter().any(|text| self.opted_out.contains(&(plan.account, text.to)));
        let recent = account.test_messages.iter();
        let recent = recent.filter(|(at, _)| plan.at.since(*at) < TEST_WINDOW).copied();
        let facts = SendFacts {
            status: account.status,
            balance: account.balance,
            earlier: earlier.filter(|earlier| earlier.is_kept(plan.at)).cloned(),
            opted_out,
            codes_taken: self.codes_taken.contains(&plan.batch),
            test_messages: if plan.mode.is_test() { recent.collect() } else { Vec::new() },
            has_conversations: account.has_conversations,
            departure: self.departures.of(plan),
        };
        match plan.settle(&facts) {
            Err(refused) => Settled::Refused(refused),
            Ok(SendVerdict::Replay(earlier)) => Settled::Replayed(Box::new(earlier)),
            Ok(SendVerdict::Accept(writes)) => {
                let balance = writes.balance;
                self.add(plan.account, writes);
                Settled::Accepted { balance }
            }
        }
    }

    /// Adds what an accepted plan writes, and updates the facts for the next plan.
    fn add(&mut self, account: AccountId, writes: SendWrites) {
        let SendWrites { entry, balance, remembered, test_messages, conversations } = writes;
        let accepted = &mut self.accepted;
        accepted.ledger.add(account, entry, balance);
        if let Some(locked) = self.accounts.get_mut(&account) {
            locked.balance = balance;
            locked.test_messages.extend(test_messages.map(|made| (made.at, made.count)));
        }
        accepted.tested.extend(test_messages);
        if let Some((key, earlier)) = remembered {
            self.earlier.insert((account, key.clone()), KeyUse::Send(earlier.clone()));
            accepted.remembered.push((account, key, earlier));
        }
        for (number, message) in conversations {
            let newest = accepted.moved.entry((account, number)).or_insert(message);
            *newest = message.max(*newest);
        }
    }

    pub(super) async fn write(self, connection: &mut PgConnection) -> PgResult<()> {
        let Accepted { ledger, remembered, tested, moved } = self.accepted;
        book(connection, ledger, |id| self.accounts.get(id).map(|locked| locked.seq)).await?;
        write_keys(connection, remembered).await?;
        write_tests(connection, tested).await?;
        shift(connection, moved).await
    }
}

async fn read_test_messages(
    connection: &mut PgConnection,
    plans: &[SendPlan],
    accounts: &mut BTreeMap<AccountId, LockedAccount>,
) -> PgResult<()> {
    let testing: BTreeSet<AccountId> =
        plans.iter().filter(|plan| plan.mode.is_test()).map(|plan| plan.account).collect();
    if testing.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(
        "SELECT account_id, made_at, messages FROM test_send WHERE account_id = ANY($1)
         ORDER BY made_at",
    )
    .bind(uuids(testing))
    .fetch_all(connection)
    .await?;
    for row in rows {
        if let Some(account) = accounts.get_mut(&row.id("account_id")?) {
            account.test_messages.push((row.at("made_at")?, row.count("messages")?));
        }
    }
    Ok(())
}

pub(super) async fn read_earlier(
    connection: &mut PgConnection,
    plans: &[SendPlan],
) -> PgResult<BTreeMap<(AccountId, IdempotencyKey), KeyUse>> {
    let claims: Vec<_> = plans
        .iter()
        .filter_map(|plan| Some((plan.account, plan.idempotency.as_ref()?.key.as_str())))
        .collect();
    if claims.is_empty() {
        return Ok(BTreeMap::new());
    }
    // LATERAL with a limit: each key is looked up in the index, however few keys the query plan
    // expects.
    let query = rows_query!(
        "SELECT k.* FROM " rows((account, key) in &claims) as want {
            account_id: uuid = uuid(*account),
            key: text = *key,
         } ",
             LATERAL (SELECT * FROM idempotency_key i
                      WHERE i.account_id = want.account_id AND i.key = want.key LIMIT 1) k"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| Ok(((row.id("account_id")?, row.name("key")?), key_use(row)?))).collect()
}

pub(super) fn key_use(row: &PgRow) -> PgResult<KeyUse> {
    row.in_table("idempotency_key", || {
        if row.try_get::<Option<&[u8]>, _>("answer")?.is_some() {
            return Ok(KeyUse::Other { accepted_at: row.at("accepted_at")? });
        }
        let Json(rejected) = row.try_get::<Json<Vec<(String, String)>>, _>("rejected")?;
        let rejected: Option<Vec<Rejection>> = rejected
            .into_iter()
            .map(|(to, reason)| {
                Some(Rejection::as_given(&to, reason.parse::<RejectionReason>().ok()?))
            })
            .collect();
        Ok(KeyUse::Send(EarlierSend {
            fingerprint: fingerprint(row)?,
            batch: row.id("batch_id")?,
            rejected: rejected.ok_or_else(|| PgError::invalid("rejected"))?,
            credits: row.credits("credits")?,
            balance: row.credits("balance")?,
            accepted_at: row.at("accepted_at")?,
        }))
    })
}

async fn write_keys(
    connection: &mut PgConnection,
    keys: Vec<(AccountId, IdempotencyKey, EarlierSend)>,
) -> PgResult<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let rejected = |earlier: &EarlierSend| -> Json<Value> {
        let pairs = earlier.rejected.iter().map(|one| (one.to.clone(), one.reason.as_str()));
        Json(serde_json::to_value(pairs.collect::<Vec<_>>()).unwrap_or_default())
    };
    // An expired key is taken over. Another command may have taken a key since it was looked up:
    // commands lock nothing but the key that sends of their account would wait for.
    let insert = rows_query!(
        [KEPT_FOR.as_secs_f64()]
        "INSERT INTO idempotency_key AS known " insert((account, key, earlier) in &keys) {
            account_id: uuid = uuid(*account),
            key: text = key.as_str(),
            fingerprint: bytea = earlier.fingerprint.0.to_vec(),
            batch_id: uuid = uuid(earlier.batch),
            rejected: jsonb = rejected(earlier),
            credits: bigint = amount(earlier.credits),
            balance: bigint = amount(earlier.balance),
            accepted_at: timestamptz = time(earlier.accepted_at),
        } "
        ON CONFLICT (account_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, batch_id = excluded.batch_id,
            rejected = excluded.rejected, credits = excluded.credits,
            balance = excluded.balance, accepted_at = excluded.accepted_at,
            answer = excluded.answer
        WHERE known.accepted_at <= excluded.accepted_at - make_interval(secs => $1)"
    );
    let written = insert.execute(connection).await?.rows_affected();
    if usize::try_from(written) == Ok(keys.len()) { Ok(()) } else { Err(PgError::Overtaken) }
}

/// Stores when test messages were sent, and deletes what is too old to matter.
pub(crate) async fn write_tests(
    connection: &mut PgConnection,
    tested: Vec<TestMessages>,
) -> PgResult<()> {
    let Some(newest) = tested.iter().map(|made| made.at).max() else { return Ok(()) };
    sqlx::query("DELETE FROM test_send WHERE account_id = ANY($1) AND made_at < $2")
        .bind(uuids(tested.iter().map(|made| made.account)))
        .bind(time(newest.minus(TEST_MESSAGES_KEPT)))
        .execute(&mut *connection)
        .await?;
    let insert = rows_query!(
        "INSERT INTO test_send " insert(TestMessages { account, batch, at, count } in &tested) {
            account_id: uuid = uuid(*account),
            batch_id: uuid = uuid(*batch),
            made_at: timestamptz = time(*at),
            messages: integer = integer(*count),
        }
    );
    insert.execute(connection).await?;
    Ok(())
}
