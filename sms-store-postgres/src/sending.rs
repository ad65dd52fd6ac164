//! Accepting sends. What arrives while a commit is under way goes into the next one, staged
//! together and settled in turn, so that the cost of a commit is shared.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::message::Message;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{SendRefused, Sent};
use sms_core::sending::store::SendingStore;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::{PgConnection, PgPool};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use commit::Committer;
use doubtful::Doubtful;

use crate::PgStore;
use crate::error::{Context, PgError, PgResult};
use crate::row::{time, uuid};
use crate::wire::Wire;

mod commit;
mod doubtful;
mod facts;
mod stage;

pub(crate) use facts::write_tests;

type Answer = Result<Sent, CommitError<SendRefused>>;

/// Commits that run side by side. A second one stages while the first waits for its disk.
const COMMITTERS: usize = 2;
/// The most texts that share a commit. Larger sends go by a way of their own, so that none of them
/// holds up the others.
const MOST_TEXTS: usize = 5_000;
/// So many texts are worth a commit; others need not wait to share it.
const WORTH_A_COMMIT: usize = 16;
/// The most sends that share a commit.
const MOST_SENDS: usize = 500;

/// How long a send may wait for its turn; less than a caller waits for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A committer that has nothing to do for so long ends its connection.
const IDLE: Duration = Duration::from_secs(10);

/// Plans of one call, which are settled in their order.
struct Waiting {
    plans: Vec<SendPlan>,
    answer: oneshot::Sender<Vec<Answer>>,
    since: Instant,
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
    large: mpsc::UnboundedSender<Waiting>,
}

/// What waits, and the first of it that did not fit into the last commit.
struct Inbox {
    waiting: mpsc::UnboundedReceiver<Waiting>,
    held: Option<Waiting>,
}

impl Sends {
    /// Starts the tasks that commit.
    pub(crate) fn start(pool: &PgPool) -> Self {
        let start = |committers: usize| {
            let (queue, waiting) = mpsc::unbounded_channel();
            let inbox = Arc::new(Mutex::new(Inbox { waiting, held: None }));
            for _ in 0..committers {
                tokio::spawn(commit_what_waits(pool.clone(), Arc::clone(&inbox)));
            }
            queue
        };
        Self { queue: start(COMMITTERS), large: start(1) }
    }

    async fn accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        let count = plans.len();
        let (answer, answered) = oneshot::channel();
        let waiting = Waiting { plans, answer, since: Instant::now() };
        let queue = if waiting.texts() > MOST_TEXTS { &self.large } else { &self.queue };
        // A closed queue drops the sender, which reads as no answer below.
        let _ = queue.send(waiting);
        let lost = || (0..count).map(|_| Err(CommitError::Store(unknown_outcome()))).collect();
        answered.await.unwrap_or_else(|_| lost())
    }
}

/// Commits a send of one text with the rest of a transaction; the text, unless the send is refused.
pub(crate) async fn send_within(
    connection: &mut PgConnection,
    mut plan: SendPlan,
) -> PgResult<Option<Message>> {
    let plans = std::slice::from_ref(&plan);
    // It has no links.
    let mut state = facts::Locked::read(connection, plans, BTreeSet::new()).await?;
    let facts::Settled::Accepted { .. } = state.settle(&plan) else { return Ok(None) };
    stage::stage(connection, &[&plan]).await?;
    state.write(connection).await?;
    Ok(plan.messages.pop())
}

pub(super) fn unknown_outcome() -> StoreError {
    PgError::OutcomeUnknown(Box::new(PgError::Stopped)).during("accepting a send")
}

type Queue = Arc<Mutex<Inbox>>;

/// Takes all that waits, commits it, answers, and begins again; ends with the store.
async fn commit_what_waits(pool: PgPool, waiting: Queue) {
    let mut committer = Committer { wire: Wire::new(pool.clone()), doubtful: Doubtful::default() };
    loop {
        let taken = tokio::select! {
            taken = timeout(IDLE, next(&waiting)) => taken,
            () = pool.close_event() => Ok(None),
        };
        let Ok(taken) = taken else {
            committer.wire.close().await;
            continue;
        };
        let Some((taken, turn)) = taken else { return committer.wire.close().await };
        let mut callers = Vec::with_capacity(taken.len());
        let mut plans = Vec::with_capacity(taken.len());
        for Waiting { plans: more, answer, since } in taken {
            if since.elapsed() > LONGEST_WAIT {
                // Its caller has been told that it did not work, and may have asked again.
                drop(answer);
                continue;
            }
            callers.push((more.len(), answer));
            plans.extend(more);
        }
        let mut answers = committer.commit(plans, turn).await.into_iter();
        for (count, caller) in callers {
            // The caller may have gone; what was committed stays committed.
            let _ = caller.send(answers.by_ref().take(count).collect());
        }
    }
}

/// The turn to take what waits. Kept until a commit is on its way to the disk: what comes meanwhile
/// goes into one commit rather than many, and the next is prepared while this one is written.
type Turn = OwnedMutexGuard<Inbox>;

/// All that waits, once something does; nothing once the store is gone. Dropped while it waits, it
/// has taken nothing.
async fn next(waiting: &Queue) -> Option<(Vec<Waiting>, Option<Turn>)> {
    let mut inbox = Arc::clone(waiting).lock_owned().await;
    let first = match inbox.held.take() {
        Some(held) => held,
        None => inbox.waiting.recv().await?,
    };
    let mut texts = first.texts();
    let mut taken = vec![first];
    while taken.len() < MOST_SENDS && texts < MOST_TEXTS {
        let Ok(next) = inbox.waiting.try_recv() else { break };
        if texts + next.texts() > MOST_TEXTS {
            inbox.held = Some(next);
            break;
        }
        texts += next.texts();
        taken.push(next);
    }
    Some((taken, (texts < WORTH_A_COMMIT).then_some(inbox)))
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
        let doing = "looking up an idempotency key";
        let row = sqlx::query("SELECT * FROM idempotency_key WHERE account_id = $1 AND key = $2")
            .bind(uuid(account))
            .bind(key.as_str())
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        let earlier = row.as_ref().map(facts::earlier_send).transpose().context(doing)?;
        Ok(earlier.filter(|earlier| earlier.is_kept(at)))
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        let doing = "repeating an answer";
        let mut connection = self.pool.acquire().await.context(doing)?;
        commit::replay(&mut connection, account, earlier).await.context(doing)
    }

    async fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let doing = "tidying idempotency keys";
        let deleted = sqlx::query(
            "DELETE FROM idempotency_key WHERE (account_id, key) IN (
                 SELECT account_id, key FROM idempotency_key WHERE accepted_at < $1
                 ORDER BY accepted_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(time(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await
        .context(doing)?;
        Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
    }

    async fn test_sends_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let doing = "tidying test sends";
        let deleted = sqlx::query(
            "DELETE FROM test_send WHERE (account_id, batch_id) IN (
                 SELECT account_id, batch_id FROM test_send WHERE made_at < $1
                 ORDER BY made_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(time(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await
        .context(doing)?;
        Ok(usize::try_from(deleted.rows_affected()).unwrap_or(usize::MAX))
    }
}
