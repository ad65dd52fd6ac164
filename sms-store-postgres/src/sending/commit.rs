//! Commits of sends: what waits is settled together, and alone should that fail.

use std::collections::BTreeSet;

use sms_core::credits::Credits;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{Replay, Sent};
use sms_core::store::{CommitError, StoreError};
use sqlx::{PgConnection, PgPool};

use super::facts::{Locked, Settled, read_earlier};
use super::stage::{is_remembered, stage, unstage};
use super::{Answer, unknown_outcome};
use crate::begin::begin;
use crate::error::{failed, is_conflict, is_gone};
use crate::row::{self, Read, uuid};

/// How often one send is tried while others are in its way.
const MOST_TRIES: usize = 3;

/// Commits plans together; should that fail, each alone.
pub(super) async fn commit(pool: &PgPool, plans: Vec<SendPlan>) -> Vec<Answer> {
    if plans.len() > 1 {
        match commit_together(pool, &plans).await {
            Ok(answers) => return answers,
            // Trying each alone helps where one is in the way of the others, or finds that the
            // commit came about after all; not while the database is gone.
            Err(error) if is_conflict(&error) || !is_gone(&error) => {}
            Err(_) if sqlx::query("SELECT 1").execute(pool).await.is_ok() => {}
            Err(_) => return plans.iter().map(|_| Err(unknown_outcome().into())).collect(),
        }
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
            // The commit may have come about although its answer was lost.
            Err(error) if tries < MOST_TRIES && (is_conflict(&error) || is_gone(&error)) => {
                if let Some(sent) = committed_before(pool, &plans[0]).await? {
                    return Ok(sent);
                }
            }
            Err(error) => return Err(CommitError::Store(error)),
        }
    }
}

/// The answer to a plan whose texts are there already: the commit that seemed to fail, because its
/// answer was lost, did not. A plan with a key is found by its key instead.
async fn committed_before(pool: &PgPool, plan: &SendPlan) -> Result<Option<Sent>, StoreError> {
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
    .fetch_optional(pool)
    .await
    .map_err(failed("looking for a send"))?;
    let balance = row.map(|row| row.credits("balance")).transpose();
    Ok(balance.map_err(failed("looking for a send"))?.map(|balance| sent(plan, balance)))
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

pub(super) async fn replay(
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
