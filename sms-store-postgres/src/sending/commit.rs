//! Commits of sends: what waits is settled together, and alone should that fail.

use std::collections::BTreeSet;
use std::time::Duration;

use sms_core::credits::Credits;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::store::{CommitError, StoreError};
use sqlx::PgConnection;

use super::doubtful::Doubtful;
use super::facts::{Locked, Settled, read_earlier};
use super::stage::{is_remembered, stage, unstage};
use super::{Answer, Turn, unknown_outcome};
use crate::error::{Context, PgError, PgResult, is_conflict, is_gone};
use crate::row::{self, Read, uuid};
use crate::wire::{Wire, within};

/// How often one send is tried while others are in its way.
const MOST_TRIES: usize = 3;

/// What one committer works with.
pub(super) struct Committer {
    pub(super) wire: Wire,
    pub(super) doubtful: Doubtful,
}

/// Whether plans may have been committed before, by a try whose answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    Again,
}

/// What became of one plan.
enum Outcome {
    Accepted { balance: Credits },
    Replayed(Sent),
    Refused(CommitError<SendRefused>),
}

impl Committer {
    /// Commits plans together; should that fail, each alone.
    pub(super) async fn commit(
        &mut self,
        plans: Vec<SendPlan>,
        mut turn: Option<Turn>,
    ) -> Vec<Answer> {
        if plans.len() == 1 {
            return vec![self.alone(plans, Try::First, &mut turn).await];
        }
        let together = self.together(&plans, Try::First, &mut turn).await;
        drop(turn);
        match together {
            Ok(outcomes) => return plans.into_iter().zip(outcomes).map(answer).collect(),
            // Trying each alone helps where one is in the way of the others, or finds that the
            // commit came about after all; not while the database is gone.
            Err(error) if is_conflict(&error) || !is_gone(&error) => {}
            Err(_) if self.wire.begin().await.is_ok() => self.wire.roll_back().await,
            Err(_) => return plans.iter().map(|_| Err(unknown_outcome().into())).collect(),
        }
        let mut answers = Vec::with_capacity(plans.len());
        for plan in plans {
            answers.push(self.alone(vec![plan], Try::Again, &mut None).await);
        }
        answers
    }

    /// Commits one plan.
    async fn alone(&mut self, plans: Vec<SendPlan>, first: Try, turn: &mut Option<Turn>) -> Answer {
        let mut tries = 0;
        let mut now = first;
        loop {
            tries += 1;
            match self.together(&plans, now, turn).await {
                Ok(outcomes) => {
                    let answered = plans.into_iter().zip(outcomes).map(answer).next();
                    return answered.unwrap_or_else(|| Err(unknown_outcome().into()));
                }
                Err(error) if tries < MOST_TRIES && (is_conflict(&error) || is_gone(&error)) => {
                    now = Try::Again;
                }
                Err(error) => return Err(CommitError::Store(error)),
            }
        }
    }

    async fn together(
        &mut self,
        plans: &[SendPlan],
        now: Try,
        turn: &mut Option<Turn>,
    ) -> Result<Vec<Outcome>, StoreError> {
        let doing = "accepting a send";
        let connection = self.wire.begin().await.context(doing)?;
        let settling = settle_all(connection, plans, now, &mut self.doubtful);
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
}

/// How long settling may take before the server is taken for gone: each statement has its own limit
/// there, and large sends have many.
fn longest(plans: &[SendPlan]) -> Duration {
    let texts: usize = plans.iter().map(|plan| plan.messages.len()).sum();
    let texts = u32::try_from(texts).unwrap_or(u32::MAX);
    Duration::from_secs(20) + Duration::from_millis(1) * texts
}

async fn settle_all(
    connection: &mut PgConnection,
    plans: &[SendPlan],
    now: Try,
    doubtful: &mut Doubtful,
) -> PgResult<Vec<Outcome>> {
    let mut before = BTreeSet::new();
    if now == Try::Again {
        if let Some(sent) = committed_before(connection, plans).await? {
            return Ok(vec![sent]);
        }
        let earlier = read_earlier(connection, plans).await?;
        let known = plans.iter().filter(|plan| is_remembered(plan, &earlier));
        before.extend(known.map(|plan| plan.batch));
    }
    // Staged before anything is locked: invisible until the commit, and in nobody's way. But for
    // what is a retry by all appearances, whose texts may be there already, and for what will
    // hardly be accepted.
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
        // Another send took a link's code, found when it is too late to plan again. Another try
        // finds it before.
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

/// The answer to a single plan whose texts are there already: the commit that seemed to fail,
/// because its answer was lost, did not. A plan with a key is found by its key instead.
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

fn answer((plan, outcome): (SendPlan, Outcome)) -> Answer {
    match outcome {
        Outcome::Accepted { balance } => Ok(plan.sent(balance)),
        Outcome::Replayed(sent) => Ok(sent),
        Outcome::Refused(refused) => Err(refused),
    }
}

pub(super) async fn replay(
    connection: &mut PgConnection,
    account: AccountId,
    earlier: EarlierSend,
) -> PgResult<Sent> {
    let rows =
        sqlx::query("SELECT * FROM message WHERE account_id = $1 AND batch_id = $2 ORDER BY id")
            .bind(uuid(account))
            .bind(uuid(earlier.batch))
            .fetch_all(connection)
            .await?;
    let texts: PgResult<Vec<Message>> = rows.iter().map(row::message).collect();
    Ok(earlier.sent(texts?))
}
