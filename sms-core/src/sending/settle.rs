//! The verdict on a send, from the facts that a store reads with the account locked.

use std::time::Duration;

use super::idempotency::{EarlierSend, IdempotencyClaim, IdempotencyKey};
use super::plan::SendPlan;
use super::recipients::Rejection;
use crate::account::status::MayNotSend;
use crate::account::{AccountStatus, Mode};
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::ids::{AccountId, BatchId, MessageId};
use crate::message::Message;
use crate::phone::E164;
use crate::store::CommitError;
use crate::time::Timestamp;

/// How many numbers one request of a test key may have.
pub const TEST_NUMBERS_PER_REQUEST: usize = 50;
/// How many test texts an account may make within an hour.
pub const TEST_TEXTS_PER_HOUR: u32 = 300;
/// The hour in which they are counted.
pub const TEST_WINDOW: Duration = Duration::from_hours(1);
/// How long it is remembered that test texts were made: longer than they count, as what was made
/// later may be committed earlier.
pub const TEST_TEXTS_KEPT: Duration = TEST_WINDOW.saturating_mul(2);

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
    /// Whether the account may have conversations.
    pub has_conversations: bool,
}

/// What a store does with the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
#[expect(clippy::large_enum_variant, reason = "nearly every send is accepted")]
pub enum SendVerdict {
    /// Writes its [new messages](super::plan::new_messages), and this.
    Accept(SendWrites),
    /// Writes nothing: this is a retry of an earlier send.
    Replay(EarlierSend),
}

/// What a commit writes for an accepted send, beside its new messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an accepted send has to be written by the store"]
pub struct SendWrites {
    /// The ledger entry that takes the credits; `None` for a send that takes none.
    pub entry: Option<Entry>,
    /// The balance that the entry leaves.
    pub balance: Credits,
    /// What is remembered under its idempotency key, in place of a send that is no longer kept.
    pub remembered: Option<(IdempotencyKey, EarlierSend)>,
    /// What counts towards [`TEST_TEXTS_PER_HOUR`].
    pub test_texts: Option<TestTexts>,
    /// The conversations that there may be with its recipients, each with its newest message from
    /// now on. One that has a newer message stays where it is.
    pub conversations: Vec<(E164, MessageId)>,
}

/// Test texts that an account made at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestTexts {
    /// Whose.
    pub account: AccountId,
    /// Their batch.
    pub batch: BatchId,
    /// When. Texts made [so long](TEST_TEXTS_KEPT) before may be forgotten.
    pub at: Timestamp,
    /// How many, at least one.
    pub count: u32,
}

impl TestTexts {
    /// So many texts of a batch; `None` when they count for nothing.
    pub(crate) fn of(
        (account, mode): (AccountId, Mode),
        batch: BatchId,
        count: u64,
        at: Timestamp,
    ) -> Option<Self> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        (mode.is_test() && count > 0).then_some(Self { account, batch, at, count })
    }
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
        let SendFacts {
            status,
            balance,
            earlier,
            opted_out,
            codes_taken,
            test_texts,
            has_conversations,
        } = facts;
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
        let (entry, balance) = self.charge(*balance)?;
        let texted = self.messages.iter().filter(|_| *has_conversations);
        Ok(SendVerdict::Accept(SendWrites {
            entry,
            balance,
            remembered: self.remembered(balance),
            test_texts: TestTexts::of(
                (self.account, self.mode),
                self.batch,
                self.messages.len() as u64,
                self.at,
            ),
            conversations: texted.map(|text| (text.to, text.id)).collect(),
        }))
    }

    fn remembered(&self, balance: Credits) -> Option<(IdempotencyKey, EarlierSend)> {
        let IdempotencyClaim { key, fingerprint } = self.idempotency.as_ref()?;
        let earlier = EarlierSend {
            fingerprint: *fingerprint,
            batch: self.batch,
            rejected: self.rejected.clone(),
            credits: self.charge,
            balance,
            accepted_at: self.at,
        };
        Some((key.clone(), earlier))
    }

    fn charge(
        &self,
        balance: Credits,
    ) -> Result<(Option<Entry>, Credits), CommitError<SendRefused>> {
        if self.charge == Credits::ZERO {
            return Ok((None, balance));
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
        Ok((entries.into_iter().next(), balance))
    }

    /// The answer to this plan, once it is committed and left this balance.
    pub fn sent(self, balance: Credits) -> Sent {
        Sent {
            batch: self.batch,
            messages: self.messages,
            rejected: self.rejected,
            credits: self.charge,
            balance,
            replay: Replay::First,
        }
    }
}

impl EarlierSend {
    /// The answer to a retry of this send, from the texts of its batch in the order of their ids.
    pub fn sent(self, texts: impl IntoIterator<Item = Message>) -> Sent {
        let Self { fingerprint: _, batch, rejected, credits, balance, accepted_at: _ } = self;
        let messages = texts.into_iter().map(Message::as_accepted).collect();
        Sent { batch, messages, rejected, credits, balance, replay: Replay::Repeated }
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
    let counts = made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW);
    let mut counts: Vec<(Timestamp, u32)> = counts.copied().collect();
    counts.sort_unstable();
    let mut used: u32 = counts.iter().map(|(_, count)| count).sum();
    if used.saturating_add(wanted) <= TEST_TEXTS_PER_HOUR {
        return None;
    }
    for (at, count) in counts {
        used -= count;
        if used.saturating_add(wanted) <= TEST_TEXTS_PER_HOUR {
            return Some(at.plus(TEST_WINDOW).since(now).max(Duration::from_secs(1)));
        }
    }
    Some(TEST_WINDOW)
}

#[cfg(test)]
mod tests;
