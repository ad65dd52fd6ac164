//! The lanes in which sends wait for a commit.

use sms_core::sending::plan::SendPlan;
use sqlx::PgPool;

use super::commit::{Answer, MOST_MESSAGES, SendCommitter};
use crate::group_commit::{Committer, Lane};

/// The number of concurrent commits. One stages while the other waits for the disk.
const COMMITTERS: usize = 2;

/// The lanes in which sends wait for a commit.
#[derive(Clone)]
pub(crate) struct Sends {
    usual: Lane<SendCommitter>,
    /// For calls of more than [`MOST_MESSAGES`] messages, so that they do not delay the others.
    large: Lane<SendCommitter>,
}

impl Sends {
    /// Starts the tasks that commit.
    pub(crate) fn start(pool: &PgPool) -> Self {
        let start = |committers: usize| {
            let committer = || SendCommitter::new(pool.clone());
            Lane::start(pool, std::iter::repeat_with(committer).take(committers))
        };
        Self { usual: start(COMMITTERS), large: start(1) }
    }

    pub(super) async fn accept(&self, plans: Vec<SendPlan>) -> Vec<Answer> {
        let messages: usize = plans.iter().map(SendCommitter::weight).sum();
        let lane = if messages > MOST_MESSAGES { &self.large } else { &self.usual };
        let answers = lane.settle(plans).await.into_iter();
        answers.map(|answer| answer.unwrap_or_else(|error| Err(error.into()))).collect()
    }
}
