//! Reads the facts that verdicts on sends depend on, with the accounts locked. Writes what the
//! accepted sends leave besides their messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sms_core::commit::{LedgerWrites, SendWrites};
use sms_core::credits::Credits;
use sms_core::idempotency::KEPT_FOR;
use sms_core::ids::AccountId;
use sms_core::link::LinkCode;
use sms_core::phone::E164;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey, KeyUse};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{
    SendFacts, SendRefused, SendVerdict, TEST_MESSAGES_KEPT, TEST_WINDOW, TestMessages,
};
use sms_core::sending::{FieldGaps, Rejection, RejectionReason};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};

use super::account::{AccountFacts, Accounts, Lock};
use super::departure::Departures;
use crate::conversation::{Moved, shift};
use crate::credits::book;
use crate::error::{PgError, PgResult};
use crate::fingerprint::fingerprint;
use crate::idempotency::take_over;
use crate::link;
use crate::row::{Read, amount, integer, time, uuid, uuids};
use crate::rows_query::rows_query;

/// What idempotency keys were used for.
pub(super) type KeyUses = BTreeMap<(AccountId, IdempotencyKey), KeyUse>;

/// The outcome of one plan.
pub(super) enum Settled {
    Accepted { balance: Credits },
    Replayed(Box<EarlierSend>),
    Refused(CommitError<SendRefused>),
}

/// The facts about the locked accounts of some plans. Each accepted plan updates them.
pub(super) struct Locked {
    accounts: BTreeMap<AccountId, LockedAccount>,
    /// The link codes of these plans that are taken.
    codes_taken: BTreeSet<LinkCode>,
    departures: Departures,
    opted_out: BTreeSet<(AccountId, E164)>,
    earlier: KeyUses,
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
    facts: AccountFacts,
    test_messages: Vec<(Timestamp, u32)>,
}

impl Locked {
    /// Locks the accounts of the plans, and reads the facts.
    pub(super) async fn read(connection: &mut PgConnection, plans: &[&SendPlan]) -> PgResult<Self> {
        // An opt-out after this snapshot is seen when the messages are claimed.
        let read = Accounts::read(&mut *connection, plans, Lock::Held).await?;
        let Accounts { facts, mut opted_out } = read;
        let locked = |(id, facts)| (id, LockedAccount { facts, test_messages: Vec::new() });
        let mut accounts = facts.into_iter().map(locked).collect();
        read_test_messages(connection, plans, &mut accounts).await?;
        let departures = Departures::read(connection, plans, &mut opted_out).await?;
        Ok(Self {
            accounts,
            departures,
            codes_taken: codes_taken(connection, plans).await?,
            opted_out,
            earlier: read_earlier(connection, plans).await?,
            accepted: Accepted::default(),
        })
    }

    pub(super) fn settle(&mut self, plan: &SendPlan) -> Settled {
        let Some(account) = self.accounts.get(&plan.account) else {
            return Settled::Refused(CommitError::Refused(SendRefused::NoSuchAccount));
        };
        let opted_out =
            plan.messages.iter().any(|text| self.opted_out.contains(&(plan.account, text.to)));
        let recent = account.test_messages.iter();
        let recent = recent.filter(|(at, _)| plan.at.since(*at) < TEST_WINDOW).copied();
        let facts = SendFacts {
            status: account.facts.status,
            balance: account.facts.balance,
            earlier: used_before(plan, &self.earlier).cloned(),
            opted_out,
            codes_taken: self.takes_codes(plan),
            test_messages: if plan.mode.is_test() { recent.collect() } else { Vec::new() },
            has_conversations: account.facts.has_conversations,
            departure: self.departures.of(plan),
        };
        match plan.settle(&facts) {
            Err(refused) => Settled::Refused(refused),
            Ok(SendVerdict::Replay(earlier)) => Settled::Replayed(Box::new(earlier)),
            Ok(SendVerdict::Accept(writes)) => {
                let balance = writes.balance;
                self.codes_taken.extend(plan.links.iter().map(|link| link.code));
                self.add(plan.account, writes);
                Settled::Accepted { balance }
            }
        }
    }

    /// Whether a link code of a plan is taken, or drawn twice.
    fn takes_codes(&self, plan: &SendPlan) -> bool {
        let mut drawn = BTreeSet::new();
        let is_taken = |code| self.codes_taken.contains(&code) || !drawn.insert(code);
        plan.links.iter().map(|link| link.code).any(is_taken)
    }

    /// Adds what an accepted plan writes, and updates the facts for the next plan.
    fn add(&mut self, account: AccountId, writes: SendWrites) {
        let SendWrites { entry, balance, remembered, test_messages, conversations } = writes;
        let accepted = &mut self.accepted;
        accepted.ledger.add(account, entry, balance);
        if let Some(locked) = self.accounts.get_mut(&account) {
            locked.facts.balance = balance;
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
        book(connection, ledger, |id| self.accounts.get(id).map(|locked| locked.facts.seq)).await?;
        write_keys(connection, remembered).await?;
        write_tests(connection, tested).await?;
        shift(connection, moved).await
    }
}

/// The link codes of the plans that links have.
async fn codes_taken(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
) -> PgResult<BTreeSet<LinkCode>> {
    let codes = plans.iter().flat_map(|plan| plan.links.iter().map(|link| link.code.as_str()));
    let codes: Vec<&str> = codes.collect();
    if codes.is_empty() { Ok(BTreeSet::new()) } else { link::taken(connection, codes).await }
}

async fn read_test_messages(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
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
    plans: &[&SendPlan],
) -> PgResult<KeyUses> {
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
        "SELECT " key_columns!() " FROM " rows((account, key) in &claims) as want {
            account_id: uuid = uuid(*account),
            key: text = *key,
         } ",
             LATERAL (SELECT * FROM idempotency_key i
                      WHERE i.account_id = want.account_id AND i.key = want.key LIMIT 1) k"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| Ok(((row.id("account_id")?, row.name("key")?), key_use(row)?))).collect()
}

/// What a plan's idempotency key was used for, if that has not expired.
pub(super) fn used_before<'a>(plan: &SendPlan, known: &'a KeyUses) -> Option<&'a KeyUse> {
    let key = plan.idempotency.as_ref()?.key.clone();
    known.get(&(plan.account, key)).filter(|earlier| earlier.is_kept(plan.at))
}

/// The columns of an idempotency key `k` that [`key_use`] reads, and its key.
macro_rules! key_columns {
    () => {
        "k.account_id, k.key, k.fingerprint, k.batch_id, k.rejected, k.gaps, k.credits, k.balance, \
         k.accepted_at, k.answer"
    };
}
pub(super) use key_columns;

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
        let gaps = row.try_get::<Option<Json<Value>>, _>("gaps")?.map(|Json(gaps)| gaps);
        let gaps = FieldGaps::from_stored(gaps);
        Ok(KeyUse::Send(EarlierSend {
            fingerprint: fingerprint(row)?,
            batch: row.id("batch_id")?,
            rejected: rejected.ok_or_else(|| PgError::invalid("rejected"))?,
            gaps: gaps.ok_or_else(|| PgError::invalid("gaps"))?,
            credits: row.credits("credits")?,
            balance: row.credits("balance")?,
            accepted_at: row.at("accepted_at")?,
        }))
    })
}

/// The columns of what is remembered of a send, without its balance, in an
/// `INSERT INTO idempotency_key`.
macro_rules! earlier_send {
    (($earlier:expr) $($query:tt)+) => {
        $crate::rows_query::rows_query!(@spread {
            fingerprint: bytea = $earlier.fingerprint.0.to_vec(),
            batch_id: uuid = $crate::row::uuid($earlier.batch),
            rejected: jsonb = $crate::sending::facts::rejected_as_json($earlier),
            gaps: jsonb = $crate::sending::facts::gaps_as_json($earlier),
            credits: bigint = $crate::row::amount($earlier.credits),
            accepted_at: timestamptz = $crate::row::time($earlier.accepted_at),
        } $($query)+)
    };
}
pub(super) use earlier_send;

/// The recipients that received no message, as they are stored with an idempotency key.
pub(super) fn rejected_as_json(earlier: &EarlierSend) -> Json<Value> {
    let pairs = earlier.rejected.iter().map(|one| (one.to.clone(), one.reason.as_str()));
    Json(serde_json::to_value(pairs.collect::<Vec<_>>()).unwrap_or_default())
}

/// What its merge fields could not show, as it is stored with an idempotency key.
pub(super) fn gaps_as_json(earlier: &EarlierSend) -> Option<Json<Value>> {
    earlier.gaps.to_stored().map(Json)
}

async fn write_keys(
    connection: &mut PgConnection,
    keys: Vec<(AccountId, IdempotencyKey, EarlierSend)>,
) -> PgResult<()> {
    if keys.is_empty() {
        return Ok(());
    }
    // An expired key is taken over. Another command may have taken a key since it was looked up:
    // commands lock nothing but the key that sends of their account would wait for.
    let insert = rows_query!(
        [KEPT_FOR.as_secs_f64()]
        "INSERT INTO idempotency_key AS known " insert((account, key, earlier) in &keys) {
            account_id: uuid = uuid(*account),
            key: text = key.as_str(),
            ..earlier_send!(earlier),
            balance: bigint = amount(earlier.balance),
        } take_over!() "
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
