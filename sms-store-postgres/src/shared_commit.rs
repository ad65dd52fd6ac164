//! Commands that share commits: what arrives while a commit is under way goes into the next one, so
//! that under load the cost of a commit is shared, and an idle store answers as fast as ever.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sms_core::store::StoreError;
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::begin::again_on_conflict;
use crate::error::is_gone;

/// Commits of one kind that run side by side. A second one works while the first waits for its
/// disk.
const COMMITTERS: usize = 2;
/// The most plans that share a commit; one call may bring more by itself.
const MOST_PLANS: usize = 500;

/// A command that takes plans and can settle several in one transaction.
#[async_trait]
pub(crate) trait Shared: 'static {
    /// What is asked.
    type Plan: Clone + Send + Sync + 'static;
    /// What became of it.
    type Answer: Send + fmt::Debug + 'static;
    /// What is being done, for errors.
    const DOING: &'static str;

    /// Settles plans in their order, in one transaction; answers in that order.
    async fn commit(pool: &PgPool, plans: Vec<Self::Plan>)
    -> Result<Vec<Self::Answer>, StoreError>;
}

type Answers<C> = Vec<Result<<C as Shared>::Answer, StoreError>>;

/// The plans of one call, which are settled in their order.
struct Waiting<C: Shared> {
    plans: Vec<C::Plan>,
    answer: oneshot::Sender<Answers<C>>,
}

/// The calls of one command that wait for a commit.
pub(crate) struct Commits<C: Shared> {
    queue: mpsc::UnboundedSender<Waiting<C>>,
}

impl<C: Shared> Clone for Commits<C> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<C: Shared> Commits<C> {
    /// Starts the tasks that commit. They end with the last clone.
    pub(crate) fn start(pool: &PgPool) -> Self {
        let (queue, waiting) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..COMMITTERS {
            tokio::spawn(commit_what_waits::<C>(pool.clone(), Arc::clone(&waiting)));
        }
        Self { queue }
    }

    /// Has plans settled, and waits for the commit. A caller that does not wait for the answer
    /// does not stop it.
    pub(crate) async fn settle(&self, plans: Vec<C::Plan>) -> Answers<C> {
        let count = plans.len();
        if count == 0 {
            return Vec::new();
        }
        let (answer, answered) = oneshot::channel();
        // A closed queue drops the sender, which reads as no answer below.
        let _ = self.queue.send(Waiting { plans, answer });
        answered.await.unwrap_or_else(|_| out_of_reach::<C>(count))
    }
}

fn out_of_reach<C: Shared>(count: usize) -> Answers<C> {
    let error = || StoreError::Unavailable { doing: C::DOING, source: None };
    (0..count).map(|_| Err(error())).collect()
}

/// Takes all that waits, commits it, answers, and begins again; ends with the store.
async fn commit_what_waits<C: Shared>(
    pool: PgPool,
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<Waiting<C>>>>,
) {
    loop {
        let mut callers = Vec::new();
        let mut plans = Vec::new();
        {
            let mut waiting = waiting.lock().await;
            let Some(first) = waiting.recv().await else { return };
            let mut next = Some(first);
            while let Some(Waiting { plans: more, answer }) = next {
                callers.push((more.len(), answer));
                plans.extend(more);
                next = if plans.len() < MOST_PLANS { waiting.try_recv().ok() } else { None };
            }
        }
        let mut answers = commit::<C>(&pool, plans).await.into_iter();
        for (count, caller) in callers {
            // The caller may have gone; what was committed stays committed.
            let _ = caller.send(answers.by_ref().take(count).collect());
        }
    }
}

/// Commits plans together; what fails is halved until it is known which plans are in the way, so
/// that none fails for another's sake.
async fn commit<C: Shared>(pool: &PgPool, plans: Vec<C::Plan>) -> Answers<C> {
    let mut answers = Vec::with_capacity(plans.len());
    // The part to be tried next is the last.
    let mut parts = vec![plans];
    while let Some(mut part) = parts.pop() {
        match again_on_conflict!(C::commit(pool, part.clone())) {
            Ok(settled) => answers.extend(settled.into_iter().map(Ok)),
            Err(error) if part.len() == 1 => answers.push(Err(error)),
            // What became of this part may be unknown, and the rest would only wait as long.
            Err(error) if is_gone(&error) => {
                let rest: usize = parts.iter().map(Vec::len).sum();
                answers.push(Err(error));
                answers.extend(out_of_reach::<C>(part.len() - 1 + rest));
                break;
            }
            Err(_) => {
                let second = part.split_off(part.len() / 2);
                parts.push(second);
                parts.push(part);
            }
        }
    }
    answers
}
