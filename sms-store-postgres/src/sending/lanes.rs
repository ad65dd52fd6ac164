//! The lanes in which sends wait for a commit.

use sms_core::sending::plan::SendPlan;
use sqlx::PgPool;

use super::commit::{Answer, MOST_MESSAGES, SendCommitter};
use super::waiting::{Order, Waiting};
use crate::group_commit::Lane;

/// The most messages of a call that counts as small. Writing more of them takes longer than the
/// commit.
const MOST_SMALL: usize = 50;

/// The lanes in which sends wait for a commit, with a committer each. What arrives during a commit
/// makes up the next one, so a second committer of the same lane would only halve the commits: each
/// costs the database the same whatever is in it.
#[derive(Clone)]
pub(crate) struct Sends {
    small: Lane<SendCommitter>,
    /// For calls of more than [`MOST_SMALL`] messages.
    large: Lane<SendCommitter>,
    /// For calls of more than [`MOST_MESSAGES`] messages, so that they do not delay the others.
    huge: Lane<SendCommitter>,
}

impl Sends {
    /// Starts the tasks that commit.
    pub(crate) fn start(pool: &PgPool) -> Self {
        let start = || Lane::start(pool, [SendCommitter::new(pool.clone())]);
        Self { small: start(), large: start(), huge: start() }
    }

    pub(super) async fn accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        let messages: usize = plans.iter().map(|plan| plan.messages.len()).sum();
        let lane = if messages <= MOST_SMALL {
            &self.small
        } else if messages <= MOST_MESSAGES {
            &self.large
        } else {
            &self.huge
        };
        let order = if plans.len() > 1 { Order::InTurn } else { Order::Any };
        let plans = plans.into_iter().map(|plan| Waiting { plan, order }).collect();
        let answers = lane.settle(plans).await.into_iter();
        answers.map(|answer| answer.unwrap_or_else(|error| Err(error.into()))).collect()
    }
}
