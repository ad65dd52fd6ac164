//! Accepting sends. What arrives while a commit is under way goes into the next one, staged
//! together and settled in turn, so that the cost of a commit is shared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use sms_core::account::AccountStatus;
use sms_core::credits::Credits;
use sms_core::credits::ledger::Entry;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::phone::E164;
use sms_core::sending::idempotency::{EarlierSend, Fingerprint, IdempotencyKey};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{Replay, SendFacts, SendRefused, SendVerdict, Sent, TEST_WINDOW};
use sms_core::sending::store::SendingStore;
use sms_core::sending::{Rejection, RejectionReason};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool, Row};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::PgStore;
use crate::begin::begin;
use crate::change::insert_texts;
use crate::credits::{Booking, book};
use crate::error::{failed, is_conflict};
use crate::row::{self, Read, amount, digits, time, uuid, uuids};

type Answer = Result<Sent, CommitError<SendRefused>>;

/// Commits that run side by side. A second one stages while the first waits for its disk.
const COMMITTERS: usize = 2;
/// The most texts that share a commit; one send may be larger by itself.
const MOST_TEXTS: usize = 5_000;
/// The most sends that share a commit.
const MOST_SENDS: usize = 500;

/// Plans of one call, which are settled in their order.
struct Waiting {
    plans: Vec<SendPlan>,
    answer: oneshot::Sender<Vec<Answer>>,
}

impl Waiting {
    fn texts(&self) -> usize {
        self.plans.iter().map(|plan| plan.messages.len()).sum()
    }
}

/// The sends that wait for a commit.
#[derive(Clone)]
pub(crate) struct Sends {
    queue: mpsc::UnboundedSender<Waiting>,
}

impl Sends {
    /// Starts the tasks that commit.
    pub(crate) fn start(pool: &PgPool) -> Self {
        let (queue, waiting) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..COMMITTERS {
            tokio::spawn(commit_what_waits(pool.clone(), Arc::clone(&waiting)));
        }
        Self { queue }
    }

    async fn accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        let count = plans.len();
        let (answer, answered) = oneshot::channel();
        // A closed queue drops the sender, which reads as no answer below.
        let _ = self.queue.send(Waiting { plans, answer });
        let lost = || (0..count).map(|_| Err(CommitError::Store(unknown_outcome()))).collect();
        answered.await.unwrap_or_else(|_| lost())
    }
}

fn unknown_outcome() -> StoreError {
    StoreError::Unavailable { doing: "accepting a send", source: None }
}

/// Takes all that waits, commits it, answers, and begins again; ends with the store.
async fn commit_what_waits(pool: PgPool, waiting: Arc<Mutex<mpsc::UnboundedReceiver<Waiting>>>) {
    loop {
        let mut taken = Vec::new();
        {
            let mut waiting = waiting.lock().await;
            let Some(first) = waiting.recv().await else { return };
            let mut texts = first.texts();
            taken.push(first);
            while taken.len() < MOST_SENDS && texts < MOST_TEXTS {
                let Ok(next) = waiting.try_recv() else { break };
                texts += next.texts();
                taken.push(next);
            }
        }
        let mut callers = Vec::with_capacity(taken.len());
        let mut plans = Vec::with_capacity(taken.len());
        for Waiting { plans: more, answer } in taken {
            callers.push((more.len(), answer));
            plans.extend(more);
        }
        let mut answers = commit(&pool, plans).await.into_iter();
        for (count, caller) in callers {
            // The caller may have gone; what was committed stays committed.
            let _ = caller.send(answers.by_ref().take(count).collect());
        }
    }
}

/// Commits plans together; should that fail, each alone.
async fn commit(pool: &PgPool, plans: Vec<SendPlan>) -> Vec<Answer> {
    if plans.len() > 1
        && let Ok(answers) = commit_together(pool, &plans).await
    {
        return answers;
    }
    let mut answers = Vec::with_capacity(plans.len());
    for plan in plans {
        answers.push(commit_alone(pool, plan).await);
    }
    answers
}

async fn commit_alone(pool: &PgPool, plan: SendPlan) -> Answer {
    let plans = [plan];
    let mut tries = 0;
    loop {
        tries += 1;
        match commit_together(pool, &plans).await {
            Ok(mut answers) => {
                return answers.pop().unwrap_or_else(|| Err(unknown_outcome().into()));
            }
            Err(error) if tries < 3 && is_conflict(&error) => {}
            Err(error) => return Err(CommitError::Store(error)),
        }
    }
}

async fn commit_together(pool: &PgPool, plans: &[SendPlan]) -> Result<Vec<Answer>, StoreError> {
    let doing = failed("accepting a send");
    let mut tx = begin(pool).await.map_err(&doing)?;
    // Staged before anything is locked: invisible until the commit, and in nobody's way. But for
    // what is a retry by all appearances: its texts may be there already.
    let before = read_earlier(&mut tx, plans).await.map_err(&doing)?;
    let (known, new): (Vec<_>, Vec<_>) =
        plans.iter().partition(|plan| is_remembered(plan, &before));
    stage(&mut tx, &new).await.map_err(&doing)?;
    let mut state = Locked::read(&mut tx, plans).await.map_err(&doing)?;
    let settled: Vec<Settled> = plans.iter().map(|plan| state.settle(plan)).collect();
    let accepted: BTreeSet<BatchId> = plans
        .iter()
        .zip(&settled)
        .filter(|(_, settled)| matches!(settled, Settled::Accepted { .. }))
        .map(|(plan, _)| plan.batch)
        .collect();
    let is_accepted = |plan: &&SendPlan| accepted.contains(&plan.batch);
    let late: Vec<_> = known.into_iter().filter(is_accepted).collect();
    stage(&mut tx, &late).await.map_err(&doing)?;
    let refused: Vec<_> = new.into_iter().filter(|plan| !is_accepted(plan)).collect();
    unstage(&mut tx, &refused).await.map_err(&doing)?;
    state.write(&mut tx).await.map_err(&doing)?;
    let mut answers = Vec::with_capacity(plans.len());
    for (plan, settled) in plans.iter().zip(settled) {
        answers.push(match settled {
            Settled::Accepted { balance } => Ok(sent(plan, balance)),
            Settled::Replayed(earlier) => {
                Ok(replay(&mut tx, plan.account, *earlier).await.map_err(&doing)?)
            }
            Settled::Refused(refused) => Err(refused),
        });
    }
    tx.commit().await.map_err(&doing)?;
    Ok(answers)
}

fn sent(plan: &SendPlan, balance: Credits) -> Sent {
    Sent {
        batch: plan.batch,
        messages: plan.messages.clone(),
        rejected: plan.rejected.clone(),
        credits: plan.charge,
        balance,
        replay: Replay::First,
    }
}

/// Whether a plan's key is remembered at this moment.
fn is_remembered(
    plan: &SendPlan,
    earlier: &BTreeMap<(AccountId, IdempotencyKey), EarlierSend>,
) -> bool {
    let claim = plan.idempotency.as_ref();
    let found = claim.and_then(|claim| earlier.get(&(plan.account, claim.key.clone())));
    found.is_some_and(|earlier| earlier.is_kept(plan.at))
}

async fn stage(connection: &mut PgConnection, plans: &[&SendPlan]) -> sqlx::Result<()> {
    let texts: Vec<_> = plans
        .iter()
        .flat_map(|plan| plan.messages.iter().map(|message| (message, plan.accepted(message))))
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    insert_texts(connection, &texts).await?;
    let entries: Vec<_> = plans
        .iter()
        .flat_map(|plan| plan.messages.iter().map(|message| plan.queue_entry(message)))
        .collect();
    let insert = sqlx::query(
        "INSERT INTO queue (message_id, account_id, claimable_at, expires_at)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])",
    )
    .bind(uuids(entries.iter().map(|entry| entry.message)))
    .bind(uuids(entries.iter().map(|entry| entry.account)))
    .bind(entries.iter().map(|entry| time(entry.claimable_at)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| time(entry.expires_at)).collect::<Vec<_>>());
    insert.execute(connection).await.map(|_| ())
}

/// Takes back what was staged for plans that were not accepted.
async fn unstage(connection: &mut PgConnection, plans: &[&SendPlan]) -> sqlx::Result<()> {
    let texts: Vec<_> = plans.iter().flat_map(|plan| plan.messages.iter()).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let ids = uuids(texts.iter().map(|message| message.id));
    sqlx::query("DELETE FROM queue WHERE message_id = ANY($1)")
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    let delete = sqlx::query("DELETE FROM message WHERE id = ANY($1)").bind(&ids);
    delete.execute(connection).await.map(|_| ())
}

/// What became of one plan.
enum Settled {
    Accepted { balance: Credits },
    Replayed(Box<EarlierSend>),
    Refused(CommitError<SendRefused>),
}

/// The facts about the accounts of some plans, whose rows are locked, as the plans settled so far
/// leave them.
struct Locked {
    accounts: BTreeMap<AccountId, LockedAccount>,
    opted_out: BTreeSet<(AccountId, E164)>,
    earlier: BTreeMap<(AccountId, IdempotencyKey), EarlierSend>,
    remembered: Vec<(AccountId, IdempotencyKey, EarlierSend)>,
    tested: Vec<(AccountId, BatchId, Timestamp, u32)>,
}

struct LockedAccount {
    status: AccountStatus,
    balance: Credits,
    seq: i64,
    test_texts: Vec<(Timestamp, u32)>,
    entries: Vec<Entry>,
}

impl Locked {
    async fn read(connection: &mut PgConnection, plans: &[SendPlan]) -> sqlx::Result<Self> {
        let ids: BTreeSet<AccountId> = plans.iter().map(|plan| plan.account).collect();
        let rows = sqlx::query(
            "SELECT id, status, balance, ledger_seq FROM account WHERE id = ANY($1)
             ORDER BY id FOR NO KEY UPDATE",
        )
        .bind(uuids(ids))
        .fetch_all(&mut *connection)
        .await?;
        let mut accounts = BTreeMap::new();
        for row in rows {
            let account = LockedAccount {
                status: row.name("status")?,
                balance: row.credits("balance")?,
                seq: row.try_get("ledger_seq")?,
                test_texts: Vec::new(),
                entries: Vec::new(),
            };
            accounts.insert(row.id("id")?, account);
        }
        read_test_texts(connection, plans, &mut accounts).await?;
        Ok(Self {
            accounts,
            opted_out: read_opted_out(connection, plans).await?,
            earlier: read_earlier(connection, plans).await?,
            remembered: Vec::new(),
            tested: Vec::new(),
        })
    }

    fn settle(&mut self, plan: &SendPlan) -> Settled {
        let Some(account) = self.accounts.get_mut(&plan.account) else {
            return Settled::Refused(CommitError::Refused(SendRefused::NoSuchAccount));
        };
        let key = plan.idempotency.as_ref().map(|claim| (plan.account, claim.key.clone()));
        let earlier = key.as_ref().and_then(|key| self.earlier.get(key));
        let opted_out =
            plan.messages.iter().any(|text| self.opted_out.contains(&(plan.account, text.to)));
        let recent = account.test_texts.iter();
        let recent = recent.filter(|(at, _)| plan.at.since(*at) < TEST_WINDOW).copied();
        let facts = SendFacts {
            status: account.status,
            balance: account.balance,
            earlier: earlier.filter(|earlier| earlier.is_kept(plan.at)).cloned(),
            opted_out,
            test_texts: if plan.mode.is_test() { recent.collect() } else { Vec::new() },
        };
        match plan.settle(&facts) {
            Err(refused) => Settled::Refused(refused),
            Ok(SendVerdict::Replay(earlier)) => Settled::Replayed(Box::new(earlier)),
            Ok(SendVerdict::Accept { entry, balance }) => {
                account.balance = balance;
                account.entries.extend(entry);
                self.remember(plan, balance);
                Settled::Accepted { balance }
            }
        }
    }

    fn remember(&mut self, plan: &SendPlan, balance: Credits) {
        let count = u32::try_from(plan.messages.len()).unwrap_or(u32::MAX);
        if plan.mode.is_test() && count > 0 {
            if let Some(account) = self.accounts.get_mut(&plan.account) {
                account.test_texts.push((plan.at, count));
            }
            self.tested.push((plan.account, plan.batch, plan.at, count));
        }
        if let Some(claim) = &plan.idempotency {
            let earlier = EarlierSend {
                fingerprint: claim.fingerprint,
                batch: plan.batch,
                rejected: plan.rejected.clone(),
                credits: plan.charge,
                balance,
                accepted_at: plan.at,
            };
            self.earlier.insert((plan.account, claim.key.clone()), earlier.clone());
            self.remembered.push((plan.account, claim.key.clone(), earlier));
        }
    }

    async fn write(self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let bookings = self.accounts.into_iter().filter(|(_, locked)| !locked.entries.is_empty());
        let bookings = bookings.map(|(account, locked)| Booking {
            account,
            balance: locked.balance,
            seq: locked.seq,
            entries: locked.entries,
        });
        book(connection, bookings.collect()).await?;
        write_keys(connection, self.remembered).await?;
        write_tests(connection, self.tested).await
    }
}

async fn read_test_texts(
    connection: &mut PgConnection,
    plans: &[SendPlan],
    accounts: &mut BTreeMap<AccountId, LockedAccount>,
) -> sqlx::Result<()> {
    let testing: BTreeSet<AccountId> =
        plans.iter().filter(|plan| plan.mode.is_test()).map(|plan| plan.account).collect();
    if testing.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(
        "SELECT account_id, made_at, texts FROM test_send WHERE account_id = ANY($1)
         ORDER BY made_at",
    )
    .bind(uuids(testing))
    .fetch_all(connection)
    .await?;
    for row in rows {
        if let Some(account) = accounts.get_mut(&row.id("account_id")?) {
            account.test_texts.push((row.at("made_at")?, row.count("texts")?));
        }
    }
    Ok(())
}

async fn read_opted_out(
    connection: &mut PgConnection,
    plans: &[SendPlan],
) -> sqlx::Result<BTreeSet<(AccountId, E164)>> {
    let texts = || plans.iter().flat_map(|plan| plan.messages.iter());
    let rows = sqlx::query(
        "SELECT o.account_id, o.phone FROM opt_out o
         JOIN UNNEST($1::uuid[], $2::bigint[]) AS want (account_id, phone)
              USING (account_id, phone)",
    )
    .bind(uuids(texts().map(|text| text.account)))
    .bind(texts().map(|text| digits(text.to)).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.id("account_id")?, row.number("phone")?))).collect()
}

async fn read_earlier(
    connection: &mut PgConnection,
    plans: &[SendPlan],
) -> sqlx::Result<BTreeMap<(AccountId, IdempotencyKey), EarlierSend>> {
    let claims: Vec<_> = plans
        .iter()
        .filter_map(|plan| Some((plan.account, plan.idempotency.as_ref()?.key.as_str())))
        .collect();
    if claims.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = sqlx::query(
        "SELECT k.* FROM idempotency_key k
         JOIN UNNEST($1::uuid[], $2::text[]) AS want (account_id, key) USING (account_id, key)",
    )
    .bind(uuids(claims.iter().map(|(account, _)| *account)))
    .bind(claims.iter().map(|(_, key)| *key).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    rows.iter()
        .map(|row| Ok(((row.id("account_id")?, row.name("key")?), earlier_send(row)?)))
        .collect()
}

fn earlier_send(row: &PgRow) -> sqlx::Result<EarlierSend> {
    let wrong = |column: &str| sqlx::Error::ColumnNotFound(column.to_owned());
    let fingerprint: [u8; 32] =
        row.try_get::<Vec<u8>, _>("fingerprint")?.try_into().map_err(|_| wrong("fingerprint"))?;
    let Json(rejected) = row.try_get::<Json<Vec<(String, String)>>, _>("rejected")?;
    let rejected: Option<Vec<Rejection>> = rejected
        .into_iter()
        .map(|(to, reason)| Some(Rejection { to, reason: reason.parse::<RejectionReason>().ok()? }))
        .collect();
    Ok(EarlierSend {
        fingerprint: Fingerprint(fingerprint),
        batch: row.id("batch_id")?,
        rejected: rejected.ok_or_else(|| wrong("rejected"))?,
        credits: row.credits("credits")?,
        balance: row.credits("balance")?,
        accepted_at: row.at("accepted_at")?,
    })
}

async fn write_keys(
    connection: &mut PgConnection,
    keys: Vec<(AccountId, IdempotencyKey, EarlierSend)>,
) -> sqlx::Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let rejected = |earlier: &EarlierSend| -> Json<Value> {
        let pairs = earlier.rejected.iter().map(|one| (one.to.clone(), one.reason.as_str()));
        Json(serde_json::to_value(pairs.collect::<Vec<_>>()).unwrap_or_default())
    };
    // A key past its keep is taken over.
    let insert = sqlx::query(
        "INSERT INTO idempotency_key (account_id, key, fingerprint, batch_id, rejected, credits,
             balance, accepted_at)
         SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::bytea[], $4::uuid[], $5::jsonb[],
             $6::bigint[], $7::bigint[], $8::timestamptz[])
         ON CONFLICT (account_id, key) DO UPDATE
         SET fingerprint = excluded.fingerprint, batch_id = excluded.batch_id,
             rejected = excluded.rejected, credits = excluded.credits,
             balance = excluded.balance, accepted_at = excluded.accepted_at",
    )
    .bind(uuids(keys.iter().map(|(account, _, _)| *account)))
    .bind(keys.iter().map(|(_, key, _)| key.as_str()).collect::<Vec<_>>())
    .bind(keys.iter().map(|(_, _, earlier)| earlier.fingerprint.0.to_vec()).collect::<Vec<_>>())
    .bind(uuids(keys.iter().map(|(_, _, earlier)| earlier.batch)))
    .bind(keys.iter().map(|(_, _, earlier)| rejected(earlier)).collect::<Vec<_>>())
    .bind(keys.iter().map(|(_, _, earlier)| amount(earlier.credits)).collect::<Vec<_>>())
    .bind(keys.iter().map(|(_, _, earlier)| amount(earlier.balance)).collect::<Vec<_>>())
    .bind(keys.iter().map(|(_, _, earlier)| time(earlier.accepted_at)).collect::<Vec<_>>());
    insert.execute(connection).await.map(|_| ())
}

async fn write_tests(
    connection: &mut PgConnection,
    tested: Vec<(AccountId, BatchId, Timestamp, u32)>,
) -> sqlx::Result<()> {
    let Some(newest) = tested.iter().map(|(_, _, at, _)| *at).max() else { return Ok(()) };
    sqlx::query("DELETE FROM test_send WHERE account_id = ANY($1) AND made_at < $2")
        .bind(uuids(tested.iter().map(|(account, _, _, _)| *account)))
        .bind(time(newest.minus(TEST_WINDOW * 2)))
        .execute(&mut *connection)
        .await?;
    let texts: Vec<i32> =
        tested.iter().map(|(_, _, _, count)| i32::try_from(*count).unwrap_or(i32::MAX)).collect();
    let insert = sqlx::query(
        "INSERT INTO test_send (account_id, batch_id, made_at, texts)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::integer[])",
    )
    .bind(uuids(tested.iter().map(|(account, _, _, _)| *account)))
    .bind(uuids(tested.iter().map(|(_, batch, _, _)| *batch)))
    .bind(tested.iter().map(|(_, _, at, _)| time(*at)).collect::<Vec<_>>())
    .bind(texts);
    insert.execute(connection).await.map(|_| ())
}

async fn replay(
    connection: &mut PgConnection,
    account: AccountId,
    earlier: EarlierSend,
) -> sqlx::Result<Sent> {
    let rows =
        sqlx::query("SELECT * FROM message WHERE account_id = $1 AND batch_id = $2 ORDER BY id")
            .bind(uuid(account))
            .bind(uuid(earlier.batch))
            .fetch_all(connection)
            .await?;
    let messages: sqlx::Result<Vec<Message>> =
        rows.iter().map(|row| Ok(row::message(row)?.as_accepted())).collect();
    let EarlierSend { fingerprint: _, batch, rejected, credits, balance, accepted_at: _ } = earlier;
    Ok(Sent { batch, messages: messages?, rejected, credits, balance, replay: Replay::Repeated })
}

#[async_trait]
impl SendingStore for PgStore {
    async fn send_accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        self.sends.accept(plans).await
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        let doing = failed("looking up an idempotency key");
        let row = sqlx::query("SELECT * FROM idempotency_key WHERE account_id = $1 AND key = $2")
            .bind(uuid(account))
            .bind(key.as_str())
            .fetch_optional(&self.pool)
            .await
            .map_err(&doing)?;
        let earlier = row.as_ref().map(earlier_send).transpose().map_err(&doing)?;
        Ok(earlier.filter(|earlier| earlier.is_kept(at)))
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        let doing = failed("repeating an answer");
        let mut connection = self.pool.acquire().await.map_err(&doing)?;
        replay(&mut connection, account, earlier).await.map_err(&doing)
    }

    async fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let doing = failed("tidying idempotency keys");
        let deleted = sqlx::query(
            "DELETE FROM idempotency_key WHERE (account_id, key) IN (
                 SELECT account_id, key FROM idempotency_key WHERE accepted_at < $1
                 ORDER BY accepted_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(time(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await
        .map_err(&doing)?;
        Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
    }
}
