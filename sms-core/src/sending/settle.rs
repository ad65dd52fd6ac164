//! The verdict on a send, given the facts that a store reads with the account locked.

use std::time::Duration;

use super::gaps::FieldGaps;
use super::idempotency::{EarlierSend, IdempotencyClaim, KeyUse};
use super::plan::{Extent, SendPlan};
use super::recipients::Rejection;
use crate::account::status::{AccountStatus, MayNotSend};
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft, Entry, post};
use crate::dispatch::sender::{NameStanding, keeps_number};
pub use crate::idempotency::Replay;
use crate::idempotency::key::IdempotencyKey;
use crate::ids::{AccountId, BatchId, MessageId};
use crate::message::record::Message;
use crate::mode::Mode;
use crate::number::Number;
use crate::phone::E164;
use crate::store_error::CommitError;
use crate::time::Timestamp;

/// The most recipients of a request with a test key.
pub const TEST_NUMBERS_PER_REQUEST: usize = 50;
/// The most test messages of an account in [`TEST_WINDOW`].
pub const TEST_MESSAGES_PER_HOUR: u32 = 300;
/// The window in which test messages are counted: 1 hour, sliding.
pub const TEST_WINDOW: Duration = Duration::from_hours(1);
/// How long a record of test messages is kept: 2 hours. That is longer than they count, because
/// messages that were created later may be committed earlier.
pub const TEST_MESSAGES_KEPT: Duration = TEST_WINDOW.saturating_mul(2);

/// What the verdict on a send depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendFacts {
    /// The status of the account.
    pub status: AccountStatus,
    /// The balance of the account.
    pub balance: Credits,
    /// What is remembered under the plan's idempotency key, if it is [still
    /// kept](KeyUse::is_kept).
    pub earlier: Option<KeyUse>,
    /// Whether any recipient of the plan has opted out.
    pub opted_out: bool,
    /// Whether another link already has a code that the plan drew.
    pub codes_taken: bool,
    /// For a test send: the times within the last hour at which the account created test messages,
    /// and how many each time, in any order. Empty for a live send.
    pub test_messages: Vec<(Timestamp, u32)>,
    /// Whether the account may have conversations.
    pub has_conversations: bool,
    /// What a claim would look at again, of a plan whose messages a worker
    /// [holds](SendPlan::held) from the start; `None` for another.
    pub departure: Option<DepartureFacts>,
}

/// What messages that a worker holds from the start are sent from. No claim checks it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepartureFacts {
    /// Whether the sender name that the messages show is still approved.
    pub name: NameStanding,
    /// The operator's number that they are sent from, if there still is one.
    pub number: Option<Number>,
}

/// What a store does with the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
#[expect(clippy::large_enum_variant, reason = "nearly every send is accepted")]
pub enum SendVerdict {
    /// Writes its [new messages](super::plan::new_messages) and these effects.
    Accept(SendWrites),
    /// Writes nothing, because this request repeats an earlier send.
    Replay(EarlierSend),
}

/// What a commit writes for an accepted send, besides its new messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an accepted send has to be written by the store"]
pub struct SendWrites {
    /// The ledger entry of the charge; `None` for a send that costs nothing.
    pub entry: Option<Entry>,
    /// The balance after the charge.
    pub balance: Credits,
    /// What is remembered under the idempotency key, in place of a send that is no longer kept;
    /// `None` without a key.
    pub remembered: Option<(IdempotencyKey, EarlierSend)>,
    /// What counts towards [`TEST_MESSAGES_PER_HOUR`]; `None` for a live send.
    pub test_messages: Option<TestMessages>,
    /// The recipients that may have conversations with the account, each with the newest message of
    /// the plan to them. A conversation with a newer message does not move.
    pub conversations: Vec<(E164, MessageId)>,
}

/// The test messages that an account created in one send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestMessages {
    /// The account, whose test messages of each hour are bounded.
    pub account: AccountId,
    /// The batch of the messages.
    pub batch: BatchId,
    /// When they were created. Records [this much older](TEST_MESSAGES_KEPT) may be removed.
    pub at: Timestamp,
    /// How many messages, at least one.
    pub count: u32,
}

impl TestMessages {
    /// The record of `count` messages of a batch; `None` if they do not count.
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

/// Why a send was refused. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendRefused {
    /// The account does not exist.
    #[error("no such account")]
    NoSuchAccount,
    /// The account's status forbids sending.
    #[error(transparent)]
    MayNotSend(#[from] MayNotSend),
    /// The send costs more than the balance.
    #[error("this send costs {}, but the balance is {balance}", .needed.with_unit())]
    InsufficientCredit {
        /// The price of the send.
        needed: Credits,
        /// The balance of the account.
        balance: Credits,
    },
    /// The idempotency key belongs to an earlier request with a different meaning.
    #[error("this idempotency key was used for another request; use a new key")]
    IdempotencyConflict,
    /// The account has sent too many test messages within the hour.
    #[error(
        "the account has sent its {TEST_MESSAGES_PER_HOUR} test messages this hour; retry later"
    )]
    TestMessagesUsedUp {
        /// How long to wait until this many fit into the hour.
        retry_after: Duration,
    },
}

/// The answer to an accepted send, or to a replay of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// The id shared by its messages.
    pub batch: BatchId,
    /// The messages as they were accepted, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The recipients that receive no message, each with the reason.
    pub rejected: Vec<Rejection>,
    /// What the merge fields of the messages could not show.
    pub gaps: FieldGaps,
    /// What the send was charged: one credit a segment, or zero for a test.
    pub credits: Credits,
    /// The balance after the charge.
    pub balance: Credits,
    /// Whether this is the first answer or a replay.
    pub replay: Replay,
}

impl Sent {
    /// The answer to a repeated request: the same, but for saying so.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self { replay: Replay::Repeated, ..self }
    }
}

impl SendPlan {
    /// Decides on this plan. No other commit of the account may run between reading the facts and
    /// writing the verdict.
    pub fn settle(&self, facts: &SendFacts) -> Result<SendVerdict, CommitError<SendRefused>> {
        let SendFacts {
            status,
            balance,
            earlier,
            opted_out,
            codes_taken,
            test_messages,
            has_conversations,
            departure,
        } = facts;
        if let Some(earlier) = earlier
            && let Some(repeated) = self.settle_repeated(earlier)
        {
            return repeated.map(SendVerdict::Replay).map_err(CommitError::Refused);
        }
        status.may_send(self.mode).map_err(|reason| CommitError::Refused(reason.into()))?;
        if *opted_out || *codes_taken || !self.may_depart(departure.as_ref()) {
            return Err(CommitError::Stale);
        }
        if self.mode.is_test()
            && let Some(retry_after) = test_wait(test_messages, self.messages.len() as u64, self.at)
        {
            return Err(CommitError::Refused(SendRefused::TestMessagesUsedUp { retry_after }));
        }
        let (entry, balance) = self.charge(*balance)?;
        if self.extent == Extent::PriceOnly {
            return Err(CommitError::Stale);
        }
        let texted = self.messages.iter().filter(|_| *has_conversations);
        Ok(SendVerdict::Accept(SendWrites {
            entry,
            balance,
            remembered: self.remembered(balance),
            test_messages: TestMessages::of(
                (self.account, self.mode),
                self.batch,
                self.messages.len() as u64,
                self.at,
            ),
            conversations: texted.map(|text| (text.to, text.id)).collect(),
        }))
    }

    /// The verdict on a plan whose idempotency key was used before, which depends on nothing else:
    /// the send to replay, or the conflict. `None` if the plan has no key. `earlier` must be [still
    /// kept](KeyUse::is_kept).
    pub fn settle_repeated(&self, earlier: &KeyUse) -> Option<Result<EarlierSend, SendRefused>> {
        let claim = self.idempotency.as_ref()?;
        Some(match earlier {
            KeyUse::Send(earlier) if earlier.fingerprint == claim.fingerprint => {
                Ok(earlier.clone())
            }
            KeyUse::Send(_) | KeyUse::Other { .. } => Err(SendRefused::IdempotencyConflict),
        })
    }

    /// Whether nothing keeps messages that a worker holds from the start from being sent as they
    /// are. Others are checked when they are claimed.
    fn may_depart(&self, departure: Option<&DepartureFacts>) -> bool {
        let (Some(_), Some(message)) = (self.held, self.messages.first()) else { return true };
        departure.is_some_and(|DepartureFacts { name, number }| {
            *name != NameStanding::NotApproved && keeps_number(message, number.as_ref(), self.at)
        })
    }

    fn remembered(&self, balance: Credits) -> Option<(IdempotencyKey, EarlierSend)> {
        let IdempotencyClaim { key, fingerprint } = self.idempotency.as_ref()?;
        let earlier = EarlierSend {
            fingerprint: *fingerprint,
            batch: self.batch,
            rejected: self.rejected.clone(),
            gaps: self.gaps.clone(),
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
            messages: match self.held {
                Some(_) => self.messages.into_iter().map(Message::as_accepted).collect(),
                None => self.messages,
            },
            rejected: self.rejected,
            gaps: self.gaps,
            credits: self.charge,
            balance,
            replay: Replay::First,
        }
    }
}

impl EarlierSend {
    /// The answer to a repetition of this send, from the messages of its batch in the order of
    /// their ids.
    pub fn sent(self, messages: impl IntoIterator<Item = Message>) -> Sent {
        let Self { fingerprint: _, batch, rejected, gaps, credits, balance, accepted_at: _ } = self;
        let messages = messages.into_iter().map(Message::as_accepted).collect();
        Sent { batch, messages, rejected, gaps, credits, balance, replay: Replay::Repeated }
    }
}

/// How long to wait until `wanted` more test messages fit into the hour; `None` if they fit now.
pub(crate) fn test_wait(
    made: &[(Timestamp, u32)],
    wanted: u64,
    now: Timestamp,
) -> Option<Duration> {
    let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
    // A message created exactly an hour ago no longer counts. If it did, a client that waits
    // exactly `retry_after` would be refused again.
    let counts = made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW);
    let mut counts: Vec<(Timestamp, u32)> = counts.copied().collect();
    counts.sort_unstable();
    let mut used: u32 = counts.iter().map(|(_, count)| count).sum();
    if used.saturating_add(wanted) <= TEST_MESSAGES_PER_HOUR {
        return None;
    }
    for (at, count) in counts {
        used -= count;
        if used.saturating_add(wanted) <= TEST_MESSAGES_PER_HOUR {
            return Some(at.plus(TEST_WINDOW).since(now).max(Duration::from_secs(1)));
        }
    }
    Some(TEST_WINDOW)
}

#[cfg(test)]
mod tests;
