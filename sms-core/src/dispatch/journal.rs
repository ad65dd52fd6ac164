//! The journal of hand-overs: what a program knows about claimed messages, written down where the
//! end of the program does not destroy it.
//!
//! A program that is killed loses what it has not recorded: which messages it had submitted, and
//! what the network had answered. A [`Journal`] keeps that for the next run of the program, which
//! records it before it claims anything. An answer in the journal is safe, so a route need not wait
//! for the store before it submits the next message.
//!
//! This module decides what the entries mean ([`Unsettled`]) and how they are written
//! ([`mod@line`]). It writes no files: `FileJournal` of `sms-workers` does. Entries hold ids, lease
//! tokens, networks' ids and codes, and never a number or a body.

use std::collections::BTreeMap;
use std::fmt;

use super::outcome::OutcomePlan;
use super::queue::LeaseToken;
use crate::hand_over::HandOver;
use crate::ids::{Ids, MessageId};
use crate::message::error_code::ErrorCode;
use crate::time::Timestamp;

pub mod line;

/// Keeps entries beyond the end of the program.
///
/// Its calls are made on the runtime's threads, several for each message: they must not take long.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Writes entries, in order. Once this returns, they survive the end of the program, however it
    /// ends. Whether they survive the end of the machine is up to the implementation.
    ///
    /// # Errors
    ///
    /// When not all of them are kept, or when there is an answer to a message that the journal does
    /// not know as claimed. A journal that could not write an entry must forget all claims before
    /// it: it must not say that a message was not submitted when it was.
    fn append(&self, entries: Vec<Entry>) -> Result<(), NotKept>;

    /// What an earlier run of the program left unsettled.
    fn left_over(&self) -> Vec<LeftOver>;
}

/// A journal did not keep an entry. The program continues without it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotKept {
    /// It cannot be written.
    #[error("the journal cannot be written")]
    Unwritable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It does not know that the message was claimed, because it could not write that down.
    #[error("the journal does not know the message")]
    Unknown,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Messages were claimed, and none of them is submitted yet.
    Claimed {
        /// The lease of the claim.
        lease: LeaseToken,
        /// When they were claimed.
        at: Timestamp,
        /// All messages of the claim.
        messages: Vec<MessageId>,
    },
    /// Messages are about to be submitted.
    Submitting {
        /// Those that are about to be submitted.
        messages: Vec<MessageId>,
        /// Their outcome if no answer follows.
        unanswered: IfUnanswered,
    },
    /// The outcome of a hand-over is known. A simulated network's follow-ups are not kept.
    Answered {
        /// The message that was handed over.
        message: MessageId,
        /// What the route returned.
        result: HandOver,
        /// When the route returned it.
        at: Timestamp,
    },
    /// The store has recorded the outcomes of these messages, or there are none to record.
    Settled {
        /// Those of which the next run of the program has nothing left to record.
        messages: Vec<MessageId>,
    },
}

/// What happens to a message that was submitted when the program ended before the answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfUnanswered {
    /// It is handed over again; the recipient may get it twice.
    Again,
    /// It ends as `undelivered` with `network_error`, without a refund.
    Undelivered,
}

/// A message that an earlier run of the program claimed and did not settle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOver {
    /// The message without a recorded outcome.
    pub message: MessageId,
    /// The lease under which it was claimed.
    pub lease: LeaseToken,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// How far its hand-over came.
    pub stage: Stage,
}

/// How far the hand-over of a message came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It was claimed and not submitted.
    Claimed,
    /// It was submitted, at least in part, so it may have been sent.
    Submitting(IfUnanswered),
    /// Its outcome was known at this time.
    Answered(HandOver, Timestamp),
}

impl LeftOver {
    /// The outcome to record. It counts only if no other program has taken the message over.
    pub fn outcome(self, now: Timestamp, ids: Ids) -> OutcomePlan {
        let Self { message, lease: token, claimed_at, stage } = self;
        let (result, at) = match stage {
            Stage::Claimed => {
                let detail = "the server stopped before it submitted the message".to_owned();
                (HandOver::TryLater { detail }, now)
            }
            Stage::Submitting(unanswered) => {
                let detail = "the server stopped before the network answered; the message may \
                              have been sent"
                    .to_owned();
                let result = match unanswered {
                    IfUnanswered::Again => HandOver::Unanswered { detail },
                    IfUnanswered::Undelivered => {
                        HandOver::Abandoned { error: ErrorCode::NetworkError, detail }
                    }
                };
                (result, now)
            }
            Stage::Answered(result, at) => (result, at),
        };
        OutcomePlan { message, token, claimed_at, result, at, held: None, ids }
    }
}

/// Whether a journal that is read has all entries that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// It has all of them.
    Whole,
    /// Some may be missing: the machine crashed, or the journal was damaged. A message that is not
    /// said to be submitted may have been.
    Doubtful,
}

/// The messages of a journal that are claimed and not settled.
#[derive(Debug, Clone, Default)]
pub struct Unsettled(BTreeMap<MessageId, Open>);

#[derive(Debug, Clone)]
struct Open {
    lease: LeaseToken,
    at: Timestamp,
    stage: Stage,
}

impl Unsettled {
    /// Takes an entry in. Returns the part of it that changes something, which is what has to be
    /// written; `None` if nothing does.
    ///
    /// # Errors
    ///
    /// An answer to a message that is not claimed.
    pub fn apply(&mut self, entry: Entry) -> Result<Option<Entry>, NotKept> {
        match entry {
            Entry::Claimed { lease, at, messages } => {
                for message in &messages {
                    let stage = Stage::Claimed;
                    self.0.insert(*message, Open { lease, at, stage });
                }
                let is_some = !messages.is_empty();
                Ok(is_some.then_some(Entry::Claimed { lease, at, messages }))
            }
            Entry::Submitting { mut messages, unanswered } => {
                messages.retain(|message| match self.0.get_mut(message) {
                    Some(Open { stage: stage @ Stage::Claimed, .. }) => {
                        *stage = Stage::Submitting(unanswered);
                        true
                    }
                    // It is known already, or the journal says nothing about the message.
                    Some(_) | None => false,
                });
                let is_some = !messages.is_empty();
                Ok(is_some.then_some(Entry::Submitting { messages, unanswered }))
            }
            Entry::Answered { message, result, at } => {
                let open = self.0.get_mut(&message).ok_or(NotKept::Unknown)?;
                // The route may have noted it already.
                if matches!(&open.stage, Stage::Answered(known, _) if *known == result) {
                    return Ok(None);
                }
                open.stage = Stage::Answered(result.clone(), at);
                Ok(Some(Entry::Answered { message, result, at }))
            }
            Entry::Settled { mut messages } => {
                messages.retain(|message| self.0.remove(message).is_some());
                Ok((!messages.is_empty()).then_some(Entry::Settled { messages }))
            }
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the messages whose state is in doubt if entries are missing: all but those with an
    /// answer. Their leases run out, and the claim that takes them over notes that they may be sent
    /// twice.
    pub fn keep_answered(&mut self) {
        self.0.retain(|_, open| matches!(open.stage, Stage::Answered(..)));
    }

    /// Entries from which the same messages follow, for a journal that is rewritten.
    pub fn entries(&self) -> Vec<Entry> {
        let mut claims: BTreeMap<(LeaseToken, Timestamp), Vec<MessageId>> = BTreeMap::new();
        let mut stages = Vec::new();
        for (message, Open { lease, at, stage }) in &self.0 {
            let message = *message;
            claims.entry((*lease, *at)).or_default().push(message);
            match stage {
                Stage::Claimed => {}
                Stage::Submitting(unanswered) => stages
                    .push(Entry::Submitting { messages: vec![message], unanswered: *unanswered }),
                Stage::Answered(result, at) => {
                    stages.push(Entry::Answered { message, result: result.clone(), at: *at });
                }
            }
        }
        let claimed = |((lease, at), messages)| Entry::Claimed { lease, at, messages };
        claims.into_iter().map(claimed).chain(stages).collect()
    }

    /// The messages, as a new run of the program finds them.
    pub fn left_over(&self) -> Vec<LeftOver> {
        let left = |(message, Open { lease, at, stage }): (&MessageId, &Open)| LeftOver {
            message: *message,
            lease: *lease,
            claimed_at: *at,
            stage: stage.clone(),
        };
        self.0.iter().map(left).collect()
    }
}

#[cfg(test)]
mod tests;
