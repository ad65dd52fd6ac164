//! Group commit: plans that arrive during a commit go into the next one. Concurrent callers share
//! the cost of a commit, and an idle store answers without delay.
//!
//! Callers put plans into a [`Lane`]. The lane's tasks take the waiting plans, commit them together
//! through their [`Committer`], and answer. If that fails, they split the plans until they know
//! which ones fail, so that no plan fails because of another. Most commands borrow a connection
//! from the pool for each commit ([`pooled`]); sends have their own ([`crate::sending`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::store::StoreError;
use sqlx::PgPool;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::begin::MOST_TRIES;
use crate::error::{is_conflict, is_gone, is_out_of_service};

mod callers;
pub(crate) mod pooled;

use callers::{Callers, Placed};

/// Commits plans of one kind, several in one transaction.
#[async_trait]
pub(crate) trait Committer: Sized + Send + 'static {
    /// What a caller asks for.
    type Plan: Send + Sync + 'static;
    /// The result of one plan within a commit.
    type Outcome: Send;
    /// What the caller gets.
    type Answer: Send + 'static;
    /// What the command does, for errors.
    const DOING: &'static str;
    /// How much may share a commit.
    const LIMITS: Limits;

    /// What a plan adds to a commit, in the unit of [`Limits::weight`].
    fn weight(plan: &Self::Plan) -> usize;

    /// Settles those of the plans that need no transaction of several statements, and returns
    /// their outcomes by their places. They are committed, and answered before the others are
    /// settled. Nothing is committed if it fails.
    async fn settle_at_once(
        &mut self,
        _plans: &[Self::Plan],
    ) -> Result<BTreeMap<usize, Self::Outcome>, StoreError> {
        Ok(BTreeMap::new())
    }

    /// Settles plans in order, in one transaction, and returns their outcomes in the same order.
    /// May pass on the [turn](Turn) once this commit is on its way to the disk.
    async fn commit(
        &mut self,
        plans: &[Self::Plan],
        attempt: Attempt,
        turn: &mut Option<Turn<Self>>,
    ) -> Result<Vec<Self::Outcome>, StoreError>;

    /// The answer to a plan, once its outcome is committed.
    fn answer(plan: Self::Plan, outcome: Self::Outcome) -> Self::Answer;

    /// Whether the database can be reached again, after an answer was lost.
    async fn is_reachable(&mut self) -> bool;

    /// Runs after [`Limits::idle`] without work, and when the store closes.
    async fn rest(&mut self);
}

/// How much may share a commit, and how often it is tried.
pub(crate) struct Limits {
    /// The most calls.
    pub(crate) calls: usize,
    /// The most weight. A single call may exceed it.
    pub(crate) weight: usize,
    /// From this weight on, the next commit starts at once, instead of collecting calls until this
    /// one is on its way to the disk.
    pub(crate) worth_a_commit: usize,
    /// How often several plans are tried together after conflicts with other transactions.
    pub(crate) tries_together: usize,
    /// What happens to plans whose commit gets no answer.
    pub(crate) lost: LostAnswer,
    /// How long a call may wait for its commit to begin. `None` means without limit.
    pub(crate) longest_wait: Option<Duration>,
    /// After this long without work, a committer rests. `None` means never.
    pub(crate) idle: Option<Duration>,
}

/// What happens to plans whose commit gets no answer, so that its outcome is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostAnswer {
    /// They fail, and so do the other plans taken with them, which would only wait as long.
    Fails,
    /// They are tried again, each alone: the committer recognises its own rows.
    TriedAgain,
}

/// Whether plans may have been committed before, by an attempt whose answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Again,
}

type Answers<C> = Vec<Result<<C as Committer>::Answer, StoreError>>;

/// The plans of one call, which are settled in their order.
pub(crate) struct Call<C: Committer> {
    plans: Vec<C::Plan>,
    answer: oneshot::Sender<Answers<C>>,
    since: Instant,
}

impl<C: Committer> Call<C> {
    fn weight(&self) -> usize {
        self.plans.iter().map(C::weight).sum()
    }
}

/// The calls that wait, and the one that did not fit into the last commit.
pub(crate) struct Waiting<C: Committer> {
    calls: mpsc::UnboundedReceiver<Call<C>>,
    held: Option<Call<C>>,
}

/// The right to take waiting calls. A committer keeps it until its commit is on its way to the
/// disk. So the calls that arrive meanwhile share one commit, which is prepared while this one is
/// written.
pub(crate) type Turn<C> = OwnedMutexGuard<Waiting<C>>;

/// The calls that wait for a commit.
pub(crate) struct Lane<C: Committer> {
    queue: mpsc::UnboundedSender<Call<C>>,
}

impl<C: Committer> Clone for Lane<C> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<C: Committer> Lane<C> {
    /// Starts a task for each committer. The tasks end when the last clone of the lane is dropped,
    /// or when the pool closes.
    pub(crate) fn start(pool: &PgPool, committers: impl IntoIterator<Item = C>) -> Self {
        let (queue, calls) = mpsc::unbounded_channel();
        let waiting = Arc::new(Mutex::new(Waiting { calls, held: None }));
        for committer in committers {
            tokio::spawn(commit_what_waits(pool.clone(), committer, Arc::clone(&waiting)));
        }
        Self { queue }
    }

    /// Queues plans, and waits until they are committed. Dropping the future does not stop the
    /// commit.
    pub(crate) async fn settle(&self, plans: Vec<C::Plan>) -> Answers<C> {
        let count = plans.len();
        if count == 0 {
            return Vec::new();
        }
        let (answer, answered) = oneshot::channel();
        // A closed queue drops the sender, which reads as no answer below.
        let _ = self.queue.send(Call { plans, answer, since: Instant::now() });
        answered.await.unwrap_or_else(|_| no_answer::<C>(count).collect())
    }
}

fn no_answer<C: Committer>(count: usize) -> impl Iterator<Item = Result<C::Answer, StoreError>> {
    (0..count).map(|_| Err(unavailable::<C>()))
}

fn unavailable<C: Committer>() -> StoreError {
    StoreError::Unavailable { doing: C::DOING, source: None }
}

/// Takes waiting calls, commits and answers them, in a loop that ends with the store.
async fn commit_what_waits<C: Committer>(
    pool: PgPool,
    mut committer: C,
    waiting: Arc<Mutex<Waiting<C>>>,
) {
    loop {
        let next = next(&waiting);
        let taken = tokio::select! {
            taken = async {
                match C::LIMITS.idle {
                    Some(idle) => timeout(idle, next).await,
                    None => Ok(next.await),
                }
            } => taken,
            () = pool.close_event() => Ok(None),
        };
        let Ok(taken) = taken else {
            committer.rest().await;
            continue;
        };
        let Some((taken, turn)) = taken else { return committer.rest().await };
        let mut callers = Callers::<C::Answer>::default();
        let mut plans = Vec::with_capacity(taken.len());
        for Call { plans: more, answer, since } in taken {
            if C::LIMITS.longest_wait.is_some_and(|longest| since.elapsed() > longest) {
                // The caller gets an error and may retry, so these plans must not be committed.
                drop(answer);
                continue;
            }
            plans.extend(callers.add(answer, more));
        }
        commit(&mut committer, plans, &mut callers, turn).await;
    }
}

/// Waits for calls, and takes as many as fit into one commit. Returns `None` once the store is
/// gone. Dropping the future while it waits loses no call.
async fn next<C: Committer>(
    waiting: &Arc<Mutex<Waiting<C>>>,
) -> Option<(Vec<Call<C>>, Option<Turn<C>>)> {
    let mut turn = Arc::clone(waiting).lock_owned().await;
    let first = match turn.held.take() {
        Some(held) => held,
        None => turn.calls.recv().await?,
    };
    let Limits { calls, weight: most, worth_a_commit, .. } = C::LIMITS;
    let mut weight = first.weight();
    let mut taken = vec![first];
    while taken.len() < calls && weight < most {
        let Ok(next) = turn.calls.try_recv() else { break };
        if weight + next.weight() > most {
            turn.held = Some(next);
            break;
        }
        weight += next.weight();
        taken.push(next);
    }
    Some((taken, (weight < worth_a_commit).then_some(turn)))
}

/// Commits plans together. Splits what fails until each plan has its answer.
async fn commit<C: Committer>(
    committer: &mut C,
    plans: Vec<Placed<C::Plan>>,
    callers: &mut Callers<C::Answer>,
    mut turn: Option<Turn<C>>,
) {
    let (places, plans): (Vec<_>, Vec<_>) =
        plans.into_iter().map(|Placed { place, plan }| (place, plan)).unzip();
    let mut attempt = Attempt::First;
    // The last part is tried next.
    let mut parts = vec![Part { places, plans }];
    while let Some(mut part) = parts.pop() {
        let tried = tries(committer, &mut part, attempt, callers, &mut turn).await;
        turn = None;
        let error = match tried {
            Ok(outcomes) => {
                let settled = part.places.into_iter().zip(part.plans).zip(outcomes);
                for ((place, plan), outcome) in settled {
                    callers.answer(place, Ok(C::answer(plan, outcome)));
                }
                continue;
            }
            Err(error) => error,
        };
        attempt = Attempt::Again;
        let is_hopeless = is_out_of_service(&error);
        if part.plans.len() <= 1 && !is_hopeless {
            part.fail::<C>(callers, error);
        } else if !is_gone(&error) && !is_hopeless {
            // The database rolled back: one of the plans makes the others fail.
            let second = part.split_off(part.plans.len() / 2);
            parts.push(second);
            parts.push(part);
        } else if !is_hopeless
            && C::LIMITS.lost == LostAnswer::TriedAgain
            && committer.is_reachable().await
        {
            parts.extend(part.each().rev());
        } else {
            part.fail::<C>(callers, error);
            for rest in parts {
                rest.fail::<C>(callers, unavailable::<C>());
            }
            return;
        }
    }
}

/// Plans that are tried together.
struct Part<P> {
    places: Vec<usize>,
    plans: Vec<P>,
}

impl<P> Part<P> {
    fn split_off(&mut self, at: usize) -> Self {
        Self { places: self.places.split_off(at), plans: self.plans.split_off(at) }
    }

    /// Each plan alone.
    fn each(self) -> impl DoubleEndedIterator<Item = Self> {
        let pairs = self.places.into_iter().zip(self.plans);
        pairs.map(|(place, plan)| Self { places: vec![place], plans: vec![plan] })
    }

    /// Tells the first plan why, and the others that they have no answer.
    fn fail<C: Committer>(self, callers: &mut Callers<C::Answer>, error: StoreError) {
        let mut error = Some(error);
        for place in self.places {
            callers.answer(place, Err(error.take().unwrap_or_else(unavailable::<C>)));
        }
    }
}

/// Commits a part, and retries it after conflicts. What is settled at once is answered and leaves
/// the part.
async fn tries<C: Committer>(
    committer: &mut C,
    part: &mut Part<C::Plan>,
    mut attempt: Attempt,
    callers: &mut Callers<C::Answer>,
    turn: &mut Option<Turn<C>>,
) -> Result<Vec<C::Outcome>, StoreError> {
    if attempt == Attempt::First {
        let mut settled = committer.settle_at_once(&part.plans).await?;
        let (mut places, mut plans) = (Vec::new(), Vec::new());
        let all = std::mem::take(&mut part.places).into_iter().zip(std::mem::take(&mut part.plans));
        for (nth, (place, plan)) in all.enumerate() {
            if let Some(outcome) = settled.remove(&nth) {
                callers.answer(place, Ok(C::answer(plan, outcome)));
            } else {
                places.push(place);
                plans.push(plan);
            }
        }
        *part = Part { places, plans };
    }
    if part.plans.is_empty() {
        return Ok(Vec::new());
    }
    let is_alone = part.plans.len() == 1;
    let most = if is_alone { MOST_TRIES } else { C::LIMITS.tries_together };
    let tries_lost = is_alone && C::LIMITS.lost == LostAnswer::TriedAgain;
    let mut tried = 1;
    loop {
        match committer.commit(&part.plans, attempt, turn).await {
            Err(error)
                if tried < most && (is_conflict(&error) || tries_lost && is_gone(&error)) =>
            {
                attempt = Attempt::Again;
                tried += 1;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
