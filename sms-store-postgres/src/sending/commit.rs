//! Commits waiting sends together: stages all of them, then settles one after the other.

use std::collections::BTreeSet;
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

use super::doubtful::Doubtful;
use super::facts::{Locked, Settled, read_earlier};
use super::guarded::Remembered;
use super::stage::{is_remembered, stage, unstage};
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
    doubtful: Doubtful,
    remembered: Remembered,
}

/// The outcome of one plan.
pub(crate) enum Outcome {
    Accepted { balance: Credits },
    Replayed(Sent),
    Refused(CommitError<SendRefused>),
}

impl SendCommitter {
    pub(super) fn new(pool: PgPool) -> Self {
        Self {
            wire: Wire::new(pool),
            doubtful: Doubtful::default(),
            remembered: Remembered::default(),
        }
    }

    /// Commits plans with one statement and no lock, if all of them are plain; `None` if nothing
    /// was written and they have to be settled with their accounts locked.
    async fn commit_guarded(&mut self, plans: &[SendPlan]) -> PgResult<Option<Vec<Outcome>>> {
        let messages: usize = plans.iter().map(|plan| plan.messages.len()).sum();
        let is_sure = |plan: &SendPlan| plan.is_plain() && !self.doubtful.is(plan.account, plan.at);
        if messages > MOST_GUARDED || !plans.iter().all(is_sure) {
            return Ok(None);
        }
        let opened = self.wire.open().await?;
        let committing = self.remembered.commit(opened, plans);
        match within(longest(plans), committing).await {
            Ok(Some(balances)) => {
                let accepted = |balance| Outcome::Accepted { balance };
                Ok(Some(balances.into_iter().map(accepted).collect()))
            }
            Ok(None) => {
                self.remembered.forget(plans);
                Ok(None)
            }
            Err(refused @ PgError::Refused { .. }) if !refused.is_gone() => {
                self.remembered.forget(plans);
                Err(refused)
            }
            Err(error) => {
                self.remembered.forget(plans);
                self.wire.give_up();
                Err(PgError::OutcomeUnknown(Box::new(error)))
            }
        }
    }
}

#[async_trait]
impl Committer for SendCommitter {
    type Plan = SendPlan;
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

    fn weight(plan: &SendPlan) -> usize {
        plan.messages.len()
    }

    async fn commit(
        &mut self,
        plans: &[SendPlan],
        attempt: Attempt,
        turn: &mut Option<Turn<Self>>,
    ) -> Result<Vec<Outcome>, StoreError> {
        let doing = Self::DOING;
        if attempt == Attempt::First
            && let Some(outcomes) = self.commit_guarded(plans).await.context(doing)?
        {
            return Ok(outcomes);
        }
        let connection = self.wire.begin().await.context(doing)?;
        let settling = settle_all(connection, plans, attempt, &mut self.doubtful);
        let settled = within(longest(plans), settling).await;
        *turn = None;
        let done = match settled {
            Ok(outcomes) => self.wire.commit().await.map(|()| outcomes),
            Err(error) if error.is_disconnected() => {
                self.wire.give_up();
                Err(error)
            }
            Err(error) => {
                self.wire.roll_back().await;
                Err(error)
            }
        };
        done.context(doing)
    }

    fn answer(plan: SendPlan, outcome: Outcome) -> Answer {
        match outcome {
            Outcome::Accepted { balance } => Ok(plan.sent(balance)),
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
fn longest(plans: &[SendPlan]) -> Duration {
    let messages: usize = plans.iter().map(|plan| plan.messages.len()).sum();
    let messages = u32::try_from(messages).unwrap_or(u32::MAX);
    Duration::from_secs(20) + Duration::from_millis(1) * messages
}

async fn settle_all(
    connection: &mut PgConnection,
    plans: &[SendPlan],
    attempt: Attempt,
    doubtful: &mut Doubtful,
) -> PgResult<Vec<Outcome>> {
    let mut before = BTreeSet::new();
    if attempt == Attempt::Again {
        if let Some(sent) = committed_before(connection, plans).await? {
            return Ok(vec![sent]);
        }
        let earlier = read_earlier(connection, plans).await?;
        let known = plans.iter().filter(|plan| is_remembered(plan, &earlier));
        before.extend(known.map(|plan| plan.batch));
    }
    // Most plans are staged before anything is locked: their rows are invisible until the commit
    // and block nothing. Plans that look like retries come later, because their messages may exist
    // already. So do plans that will probably be refused.
    let (late, early): (Vec<_>, Vec<_>) = plans
        .iter()
        .partition(|plan| before.contains(&plan.batch) || doubtful.is(plan.account, plan.at));
    let taken = stage(connection, &early).await?;
    let mut state = Locked::read(connection, plans, taken).await?;
    let settled: Vec<Settled> = plans.iter().map(|plan| state.settle(plan)).collect();
    let accepted: BTreeSet<BatchId> = plans
        .iter()
        .zip(&settled)
        .filter(|(_, settled)| matches!(settled, Settled::Accepted { .. }))
        .map(|(plan, _)| plan.batch)
        .collect();
    let is_accepted = |plan: &&SendPlan| accepted.contains(&plan.batch);
    let late: Vec<_> = late.into_iter().filter(is_accepted).collect();
    if !stage(connection, &late).await?.is_empty() {
        // Another send took a link's code, and it is too late to plan again. A retry finds that
        // earlier.
        return Err(PgError::Overtaken);
    }
    let refused: Vec<_> = early.into_iter().filter(|plan| !is_accepted(plan)).collect();
    unstage(connection, &refused).await?;
    state.write(connection).await?;
    let mut outcomes = Vec::with_capacity(plans.len());
    for (plan, settled) in plans.iter().zip(settled) {
        doubtful.learn(plan.account, plan.at, &settled);
        outcomes.push(match settled {
            Settled::Accepted { balance } => Outcome::Accepted { balance },
            Settled::Replayed(earlier) => {
                Outcome::Replayed(replay(connection, plan.account, *earlier).await?)
            }
            Settled::Refused(refused) => Outcome::Refused(refused),
        });
    }
    Ok(outcomes)
}

/// The answer to a single plan whose messages exist already, because an earlier commit succeeded
/// and only its answer was lost. A plan with an idempotency key is found by the key instead.
async fn committed_before(
    connection: &mut PgConnection,
    plans: &[SendPlan],
) -> PgResult<Option<Outcome>> {
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
    Ok(balance.map(|balance| Outcome::Accepted { balance }))
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
