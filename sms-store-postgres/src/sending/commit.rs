//! Commits waiting sends together: what it can under guards with one statement, the others with
//! their accounts locked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::credits::Credits;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::store::{CommitError, StoreError, let_others_run};
use sqlx::{PgConnection, PgPool};

use super::accepted::insert;
use super::facts::{KeyUses, Locked, Settled, read_earlier, used_before};
use super::guarded::Remembered;
use super::waiting::{Order, Waiting};
use crate::error::{Context, PgError, PgResult};
use crate::group_commit::{Attempt, Committer, Limits, LostAnswer, Turn};
use crate::message_columns;
use crate::row::{self, Read, uuid};
use crate::wire::{Wire, within};

/// What a caller is answered.
pub(super) type Answer = Result<Sent, CommitError<SendRefused>>;

/// The most messages that share a commit.
pub(super) const MOST_MESSAGES: usize = 5_000;
/// From this many messages on, the next commit starts at once instead of collecting more sends.
const WORTH_A_COMMIT: usize = 16;
/// The most messages that share a commit without a lock.
const MOST_GUARDED: usize = 1_000;
/// The most sends that share a commit.
const MOST_SENDS: usize = 500;

/// How many messages of a replay are decoded before other tasks run.
const PORTION: usize = 500;
/// How long a send may wait for its turn: less than a caller waits for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// After this long without work, a committer closes its connection.
const IDLE: Duration = Duration::from_secs(10);

/// Commits sends on a connection that nothing else uses.
pub(super) struct SendCommitter {
    wire: Wire,
    remembered: Remembered,
}

/// The outcome of one plan.
pub(crate) enum Outcome {
    Accepted { balance: Credits },
    Replayed(Sent),
    Refused(CommitError<SendRefused>),
}

/// The outcomes of plans, by their batches.
type Outcomes = BTreeMap<BatchId, Outcome>;

impl SendCommitter {
    pub(super) fn new(pool: PgPool) -> Self {
        Self { wire: Wire::new(pool), remembered: Remembered::default() }
    }

    /// Commits what it can of the plans under their guards, without a lock: with one statement if
    /// what is remembered holds, and with a few if it has to be read again, or if an idempotency
    /// key was used before. Returns the outcomes; plans without one have to be settled with their
    /// accounts locked.
    async fn commit_guarded(&mut self, waiting: &[Waiting]) -> PgResult<Outcomes> {
        let plain = waiting.iter().filter(|one| one.plan.is_plain());
        let messages: usize = plain.clone().map(Self::weight).sum();
        if plain.count() == 0 || messages > MOST_GUARDED {
            return Ok(Outcomes::new());
        }
        let mut left: Vec<&Waiting> = waiting.iter().collect();
        if let Some(outcomes) = self.write_guarded(&left).await? {
            return Ok(outcomes);
        }
        // Neither repeated requests, nor keys that have expired, nor an account that has changed
        // send their neighbours to the locked path.
        let plans: Vec<&SendPlan> = left.iter().map(|one| &one.plan).collect();
        let (known, mut outcomes) = match self.repeated(&plans).await {
            Ok(read) => read,
            // Nothing was written, and the locked path is tried again.
            Err(error) if error.is_conflict() => return Ok(Outcomes::new()),
            Err(error) => return Err(error),
        };
        left.retain(|one| !outcomes.contains_key(&one.plan.batch));
        leave_to_locked(&mut left, &known);
        outcomes.extend(self.write_guarded(&left).await?.unwrap_or_default());
        Ok(outcomes)
    }

    /// Writes plain plans under their guards, and leaves out those that remembered facts do not
    /// settle. Returns their outcomes; `None` if a guard failed or a statement was prepared for an
    /// older schema, so that nothing was written.
    async fn write_guarded(&mut self, waiting: &[&Waiting]) -> PgResult<Option<Outcomes>> {
        let plans: Vec<&SendPlan> = waiting.iter().map(|one| &one.plan).collect();
        let opened = self.wire.open().await?;
        let committing = self.remembered.commit(opened, waiting);
        match within(longest(&plans), committing).await {
            Ok(Some(balances)) => {
                let accepted = |(batch, balance)| (batch, Outcome::Accepted { balance });
                Ok(Some(balances.into_iter().map(accepted).collect()))
            }
            Ok(None) => {
                self.remembered.forget(&plans);
                Ok(None)
            }
            Err(error) if error.is_conflict() => {
                self.remembered.forget(&plans);
                Ok(None)
            }
            Err(refused @ PgError::Refused { .. }) if !refused.is_gone() => {
                self.remembered.forget(&plans);
                Err(refused)
            }
            Err(error) => {
                self.remembered.forget(&plans);
                self.wire.give_up();
                Err(PgError::OutcomeUnknown(Box::new(error)))
            }
        }
    }

    /// Commits plans with their accounts locked.
    async fn commit_locked(
        &mut self,
        plans: &[&SendPlan],
        attempt: Attempt,
        turn: &mut Option<Turn<Self>>,
    ) -> PgResult<Outcomes> {
        let connection = self.wire.begin().await?;
        let settled = within(longest(plans), settle_all(connection, plans, attempt)).await;
        *turn = None;
        match settled {
            Ok(outcomes) => self.wire.commit().await.map(|()| outcomes),
            Err(error) if error.is_disconnected() => {
                self.wire.give_up();
                Err(error)
            }
            Err(error) => {
                self.wire.roll_back().await;
                Err(error)
            }
        }
    }

    /// What is known of the idempotency keys of the plans, and the outcomes of the plans whose keys
    /// were used before. They depend on nothing that a lock would keep from changing.
    async fn repeated(&mut self, plans: &[&SendPlan]) -> PgResult<(KeyUses, Outcomes)> {
        if plans.iter().all(|plan| plan.idempotency.is_none()) {
            return Ok((KeyUses::new(), Outcomes::new()));
        }
        let (connection, _) = self.wire.open().await?;
        let repeated = within(longest(plans), repeated(connection, plans)).await;
        if repeated.as_ref().is_err_and(PgError::is_disconnected) {
            self.wire.give_up();
        }
        repeated
    }
}

#[async_trait]
impl Committer for SendCommitter {
    type Plan = Waiting;
    type Outcome = Outcome;
    type Answer = Answer;
    const DOING: &'static str = "accepting a send";
    const LIMITS: Limits = Limits {
        calls: MOST_SENDS,
        weight: MOST_MESSAGES,
        worth_a_commit: WORTH_A_COMMIT,
        tries_together: 1,
        lost: LostAnswer::TriedAgain,
        longest_wait: Some(LONGEST_WAIT),
        idle: Some(IDLE),
    };

    fn weight(waiting: &Waiting) -> usize {
        waiting.plan.messages.len()
    }

    async fn settle_at_once(
        &mut self,
        plans: &[Waiting],
    ) -> Result<BTreeMap<usize, Outcome>, StoreError> {
        let mut outcomes = self.commit_guarded(plans).await.context(Self::DOING)?;
        let outcome = |(place, waiting): (usize, &Waiting)| {
            Some((place, outcomes.remove(&waiting.plan.batch)?))
        };
        Ok(plans.iter().enumerate().filter_map(outcome).collect())
    }

    async fn commit(
        &mut self,
        plans: &[Waiting],
        attempt: Attempt,
        turn: &mut Option<Turn<Self>>,
    ) -> Result<Vec<Outcome>, StoreError> {
        let doing = Self::DOING;
        let all: Vec<&SendPlan> = plans.iter().map(|waiting| &waiting.plan).collect();
        let mut outcomes = self.commit_locked(&all, attempt, turn).await.context(doing)?;
        let outcome = |plan: &&SendPlan| outcomes.remove(&plan.batch);
        let outcomes: Option<Vec<Outcome>> = all.iter().map(outcome).collect();
        outcomes.ok_or(PgError::Missing("outcome")).context(doing)
    }

    fn answer(waiting: Waiting, outcome: Outcome) -> Answer {
        match outcome {
            Outcome::Accepted { balance } => Ok(waiting.plan.sent(balance)),
            Outcome::Replayed(sent) => Ok(sent),
            Outcome::Refused(refused) => Err(refused),
        }
    }

    async fn is_reachable(&mut self) -> bool {
        let is_reachable = self.wire.begin().await.is_ok();
        self.wire.roll_back().await;
        is_reachable
    }

    async fn rest(&mut self) {
        self.wire.close().await;
    }
}

/// How long settling may take before the database counts as gone. The database limits each
/// statement, but a large send has many.
fn longest(plans: &[&SendPlan]) -> Duration {
    let messages: usize = plans.iter().map(|plan| plan.messages.len()).sum();
    let messages = u32::try_from(messages).unwrap_or(u32::MAX);
    Duration::from_secs(20) + Duration::from_millis(1) * messages
}

/// Leaves out the plans whose idempotency keys are known: only the locked path takes over a key
/// that has expired. Plans that follow such a plan in turn are left out with it.
fn leave_to_locked(left: &mut Vec<&Waiting>, known: &KeyUses) {
    let mut late = BTreeSet::new();
    left.retain(|Waiting { plan, order }| {
        let key = plan.idempotency.as_ref().map(|claim| (plan.account, claim.key.clone()));
        let is_late = key.is_some_and(|key| known.contains_key(&key))
            || *order == Order::InTurn && late.contains(&plan.account);
        if is_late {
            late.insert(plan.account);
        }
        !is_late
    });
}

/// What is known of the idempotency keys of the plans, and the outcomes of those whose keys were
/// used before: replays and conflicts.
async fn repeated(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
) -> PgResult<(KeyUses, Outcomes)> {
    let known = read_earlier(&mut *connection, plans).await?;
    let mut outcomes = Outcomes::new();
    for plan in plans {
        let Some(verdict) = used_before(plan, &known).and_then(|it| plan.settle_repeated(it))
        else {
            continue;
        };
        let outcome = match verdict {
            Ok(earlier) => {
                Outcome::Replayed(replay(&mut *connection, plan.account, earlier).await?)
            }
            Err(refused) => Outcome::Refused(CommitError::Refused(refused)),
        };
        outcomes.insert(plan.batch, outcome);
    }
    Ok((known, outcomes))
}

async fn settle_all(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
    attempt: Attempt,
) -> PgResult<Outcomes> {
    if attempt == Attempt::Again
        && let Some(sent) = committed_before(connection, plans).await?
    {
        return Ok(sent);
    }
    let mut state = Locked::read(connection, plans).await?;
    let settled: Vec<(&SendPlan, Settled)> =
        plans.iter().map(|plan| (*plan, state.settle(plan))).collect();
    let accepted = settled.iter().filter(|(_, it)| matches!(it, Settled::Accepted { .. }));
    let accepted: Vec<&SendPlan> = accepted.map(|(plan, _)| *plan).collect();
    insert(connection, &accepted).await?;
    state.write(connection).await?;
    let mut outcomes = Outcomes::new();
    for (plan, settled) in settled {
        let outcome = match settled {
            Settled::Accepted { balance } => Outcome::Accepted { balance },
            Settled::Replayed(earlier) => {
                Outcome::Replayed(replay(connection, plan.account, *earlier).await?)
            }
            Settled::Refused(refused) => Outcome::Refused(refused),
        };
        outcomes.insert(plan.batch, outcome);
    }
    Ok(outcomes)
}

/// The answer to a single plan whose messages exist already, because an earlier commit succeeded
/// and only its answer was lost. A plan with an idempotency key is found by the key instead.
async fn committed_before(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
) -> PgResult<Option<Outcomes>> {
    let [plan] = plans else { return Ok(None) };
    if plan.idempotency.is_some() {
        return Ok(None);
    }
    let row = sqlx::query(
        "SELECT COALESCE(
             (SELECT balance_after FROM ledger_entry
              WHERE account_id = $1 AND batch_id = $2 AND kind = 'send'),
             (SELECT balance FROM account WHERE id = $1)) AS balance
         WHERE EXISTS (SELECT FROM message WHERE account_id = $1 AND batch_id = $2)",
    )
    .bind(uuid(plan.account))
    .bind(uuid(plan.batch))
    .fetch_optional(connection)
    .await?;
    let balance = row.map(|row| row.credits("balance")).transpose()?;
    let sent = |balance| Outcomes::from([(plan.batch, Outcome::Accepted { balance })]);
    Ok(balance.map(sent))
}

pub(super) async fn replay(
    connection: &mut PgConnection,
    account: AccountId,
    earlier: EarlierSend,
) -> PgResult<Sent> {
    let query = concat!(
        "SELECT ",
        message_columns!(),
        " FROM message m WHERE m.account_id = $1 AND m.batch_id = $2 ORDER BY m.id"
    );
    let query = sqlx::query(query).bind(uuid(account)).bind(uuid(earlier.batch));
    let rows = query.fetch_all(connection).await?;
    let mut messages: Vec<Message> = Vec::with_capacity(rows.len());
    for row in rows {
        messages.push(row::message(&row)?);
        if messages.len().is_multiple_of(PORTION) {
            let_others_run().await;
        }
    }
    Ok(earlier.sent(messages))
}
