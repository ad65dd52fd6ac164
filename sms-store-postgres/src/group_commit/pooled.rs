//! Commands that share commits on connections of the pool.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::store::StoreError;
use sqlx::PgPool;

use super::{Attempt, Committer, Lane, Limits, LostAnswer, Turn};
use crate::begin::MOST_TRIES;

/// The number of concurrent commits of one kind. One works while the other waits for the disk.
const COMMITTERS: usize = 2;
/// The most plans that share a commit. A single call may exceed it.
const MOST_PLANS: usize = 500;

/// A command that takes plans and can settle several in one transaction.
#[async_trait]
pub(crate) trait Shared: Send + 'static {
    /// What a caller asks for.
    type Plan: Clone + Send + Sync + 'static;
    /// The answer to one plan.
    type Answer: Send + 'static;
    /// What the command does, for errors.
    const DOING: &'static str;

    /// Settles what needs no transaction of several statements: see [`Committer::settle_at_once`].
    async fn settle_at_once(
        _pool: &PgPool,
        _plans: &[Self::Plan],
    ) -> Result<BTreeMap<usize, Self::Answer>, StoreError> {
        Ok(BTreeMap::new())
    }

    /// Settles plans in order, in one transaction, and returns the answers in the same order.
    async fn commit(pool: &PgPool, plans: Vec<Self::Plan>)
    -> Result<Vec<Self::Answer>, StoreError>;
}

/// Commits a shared command with the pool.
pub(crate) struct Pooled<S> {
    pool: PgPool,
    command: std::marker::PhantomData<fn() -> S>,
}

impl<S> Pooled<S> {
    pub(super) fn new(pool: PgPool) -> Self {
        Self { pool, command: std::marker::PhantomData }
    }
}

/// Starts the tasks that commit a shared command.
pub(crate) fn start<S: Shared>(pool: &PgPool) -> Lane<Pooled<S>> {
    let committer = || Pooled::new(pool.clone());
    Lane::start(pool, std::iter::repeat_with(committer).take(COMMITTERS))
}

#[async_trait]
impl<S: Shared> Committer for Pooled<S> {
    type Plan = S::Plan;
    type Outcome = S::Answer;
    type Answer = S::Answer;
    const DOING: &'static str = S::DOING;
    const LIMITS: Limits = Limits {
        calls: MOST_PLANS,
        weight: MOST_PLANS,
        worth_a_commit: 0,
        tries_together: MOST_TRIES,
        lost: LostAnswer::Fails,
        longest_wait: None,
        idle: None,
    };

    fn weight(_: &S::Plan) -> usize {
        1
    }

    async fn settle_at_once(
        &mut self,
        plans: &[S::Plan],
    ) -> Result<BTreeMap<usize, S::Answer>, StoreError> {
        S::settle_at_once(&self.pool, plans).await
    }

    async fn commit(
        &mut self,
        plans: &[S::Plan],
        _: Attempt,
        _: &mut Option<Turn<Self>>,
    ) -> Result<Vec<S::Answer>, StoreError> {
        S::commit(&self.pool, plans.to_vec()).await
    }

    fn answer(_: S::Plan, outcome: S::Answer) -> S::Answer {
        outcome
    }

    async fn is_reachable(&mut self) -> bool {
        !self.pool.is_closed()
    }

    async fn rest(&mut self) {}
}
