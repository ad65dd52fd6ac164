//! The verdict on a send, from the facts that a store reads with the account locked.

use std::time::Duration;

use super::idempotency::EarlierSend;
use super::plan::SendPlan;
use super::recipients::Rejection;
use crate::account::AccountStatus;
use crate::account::status::MayNotSend;
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::ids::BatchId;
use crate::message::Message;
use crate::store::CommitError;
use crate::time::Timestamp;

/// How many numbers one request of a test key may have.
pub const TEST_NUMBERS_PER_REQUEST: usize = 50;
/// How many test texts an account may make within an hour.
pub const TEST_TEXTS_PER_HOUR: u32 = 300;
/// The hour in which they are counted.
pub const TEST_WINDOW: Duration = Duration::from_hours(1);

/// What the verdict depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFacts {
    /// The state of the account.
    pub status: AccountStatus,
    /// What it can spend.
    pub balance: Credits,
    /// The send remembered under the plan's key, if it is [still kept](EarlierSend::is_kept).
    pub earlier: Option<EarlierSend>,
    /// Whether any number that the plan texts has opted out.
    pub opted_out: bool,
    /// Whether any code that the plan drew for a link is another link's already.
    pub codes_taken: bool,
    /// For a test send: when the account made test texts within the last hour, and how many, in any
    /// order. Empty for a live send.
    pub test_texts: Vec<(Timestamp, u32)>,
}

/// What a store does with the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum SendVerdict {
    /// Writes its texts, its place under its key, and this entry.
    Accept {
        /// The entry that takes the credits; none for a send that takes none.
        entry: Option<Entry>,
        /// The balance it leaves.
        balance: Credits,
    },
    /// Writes nothing: this is a retry of an earlier send.
    Replay(EarlierSend),
}

/// Why a send was refused; nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendRefused {
    /// There is no such account.
    #[error("no such account")]
    NoSuchAccount,
    /// Its state forbids it.
    #[error(transparent)]
    MayNotSend(#[from] MayNotSend),
    /// It costs more than there is.
    #[error("{needed} credits are needed and {balance} are there")]
    InsufficientCredit {
        /// What it costs.
        needed: Credits,
        /// What there is.
        balance: Credits,
    },
    /// The key names a request that meant something else.
    #[error("the idempotency key was used for another request")]
    IdempotencyConflict,
    /// The account made too many test texts within the hour.
    #[error("an account may make {TEST_TEXTS_PER_HOUR} test texts an hour")]
    TestTextsUsedUp {
        /// When there will be room for this many.
        retry_after: Duration,
    },
}

/// What an accepted send, or the replay of one, answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Names the texts it made.
    pub batch: BatchId,
    /// The texts, in the order of the recipients, as they were when accepted.
    pub messages: Vec<Message>,
    /// Who got none, and why.
    pub rejected: Vec<Rejection>,
    /// What it took.
    pub credits: Credits,
    /// The balance it left.
    pub balance: Credits,
    /// Whether it was sent now or before.
    pub replay: Replay,
}

/// Whether an answer is the first to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// It is; the texts were accepted now.
    First,
    /// It repeats the first answer; nothing was sent.
    Repeated,
}

impl SendPlan {
    /// Decides about this plan. Between reading the facts and writing the verdict no other commit
    /// of the account may run.
    pub fn settle(&self, facts: &SendFacts) -> Result<SendVerdict, CommitError<SendRefused>> {
        let SendFacts { status, balance, earlier, opted_out, codes_taken, test_texts } = facts;
        if let (Some(claim), Some(earlier)) = (&self.idempotency, earlier) {
            return if earlier.fingerprint == claim.fingerprint {
                Ok(SendVerdict::Replay(earlier.clone()))
            } else {
                Err(CommitError::Refused(SendRefused::IdempotencyConflict))
            };
        }
        status.may_send(self.mode).map_err(|reason| CommitError::Refused(reason.into()))?;
        if *opted_out || *codes_taken {
            return Err(CommitError::Stale);
        }
        if self.mode.is_test()
            && let Some(retry_after) = test_wait(test_texts, self.messages.len() as u64, self.at)
        {
            return Err(CommitError::Refused(SendRefused::TestTextsUsedUp { retry_after }));
        }
        self.charge(*balance)
    }

    fn charge(&self, balance: Credits) -> Result<SendVerdict, CommitError<SendRefused>> {
        if self.charge == Credits::ZERO {
            return Ok(SendVerdict::Accept { entry: None, balance });
        }
        let draft = Draft {
            id: self.entry_id,
            cause: Cause::Send { batch: self.batch, campaign: None },
            amount: self.charge.loss(),
            note: None,
            at: self.at,
        };
        let (entries, balance) = post(balance, vec![draft]).map_err(|_| {
            let needed = self.charge;
            CommitError::Refused(SendRefused::InsufficientCredit { needed, balance })
        })?;
        Ok(SendVerdict::Accept { entry: entries.into_iter().next(), balance })
    }
}

/// How long to wait until `wanted` more test texts fit into the hour; `None` when they fit now.
pub(crate) fn test_wait(
    made: &[(Timestamp, u32)],
    wanted: u64,
    now: Timestamp,
) -> Option<Duration> {
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    // The edge of the hour is settled here: a text made exactly an hour ago counts no more, or
    // who waits as long as told would be refused again.
    let counts = || made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW);
    let mut used: u32 = counts().map(|(_, count)| count).sum();
    if used.saturating_add(wanted) <= TEST_TEXTS_PER_HOUR {
        return None;
    }
    let mut oldest_first: Vec<(Timestamp, u32)> = counts().copied().collect();
    oldest_first.sort_unstable();
    for (at, count) in oldest_first {
        used -= count;
        if used.saturating_add(wanted) <= TEST_TEXTS_PER_HOUR {
            return Some(at.plus(TEST_WINDOW).since(now).max(Duration::from_secs(1)));
        }
    }
    Some(TEST_WINDOW)
}

#[cfg(test)]
mod tests;
