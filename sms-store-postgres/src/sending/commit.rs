//! Commits of sends: what waits is staged together and settled in turn.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::credits::Credits;
use sms_core::ids::{AccountId, BatchId};
use sms_core::message::Message;
use sms_core::sending::idempotency::EarlierSend;
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::store::{CommitError, StoreError};
use sqlx::{PgConnection, PgPool};

use super::doubtful::Doubtful;
use super::facts::{Locked, Settled, read_earlier};
use super::stage::{is_remembered, stage, unstage};
use crate::error::{Context, PgError, PgResult};
use crate::group_commit::{Attempt, Committer, Limits, LostAnswer, Turn};
use crate::row::{self, Read, uuid};
use crate::wire::{Wire, within};

/// What a caller is answered.
pub(super) type Answer = Result<Sent, CommitError<SendRefused>>;

/// The most texts that share a commit.
pub(super) const MOST_TEXTS: usize = 5_000;
/// So many texts are worth a commit; others need not wait to share it.
const WORTH_A_COMMIT: usize = 16;
/// The most sends that share a commit.
const MOST_SENDS: usize = 500;

/// How long a send may wait for its turn; less than a caller waits for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A committer that has nothing to do for so long ends its connection.
const IDLE: Duration = Duration::from_secs(10);

/// Commits sends on a connection of its own.
pub(super) struct SendCommitter {
    wire: Wire,
    doubtful: Doubtful,
}

/// What became of one plan.
pub(crate) enum Outcome {
    Accepted { balance: Credits },
    Replayed(Sent),
    Refused(CommitError<SendRefused>),
}

impl SendCommitter {
    pub(super) fn new(pool: PgPool) -> Self {
        Self { wire: Wire::new(pool), doubtful: Doubtful::default() }
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
        weight: MOST_TEXTS,
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
