//! What the clients requested, and the answers they got.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::ids::{BatchId, MessageId};

/// What the caller knows about a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// It was accepted, with this answer.
    Accepted { batch: BatchId, messages: Vec<MessageId> },
    /// It was refused: nothing was sent or charged.
    Refused,
    /// There was no answer, or an inconclusive one.
    Nothing,
}

/// Opt-outs: the account, the number, and the millisecond from which every server knows.
pub(super) type OptedOut = (usize, u64, i64);

#[derive(Debug, Default)]
pub(super) struct All {
    /// The result of each send, by its body, which is unique.
    pub(super) sends: BTreeMap<String, Told>,
    /// Messages that the API said were cancelled.
    pub(super) cancelled: Vec<MessageId>,
    pub(super) opted_out: Vec<OptedOut>,
    /// The number of answers with each status; status 0 means no answer.
    pub(super) statuses: BTreeMap<u16, u64>,
    /// Answers that must not occur, with the body of their request.
    pub(super) wrong: Vec<String>,
    /// The number of requests that were cut off.
    pub(super) cut_off: u64,
}

/// Shared by all clients.
#[derive(Debug, Clone, Default)]
pub(super) struct Records(Arc<Mutex<All>>);

impl Records {
    pub(super) fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl All {
    /// Records what the caller of a send learned. A known answer stays, and a second one must equal
    /// it. A refusal after a request whose answer was lost says nothing about the lost one.
    pub(super) fn tell(&mut self, words: &str, told: Told) {
        match self.sends.get(words) {
            Some(Told::Nothing) if told == Told::Refused => {}
            None | Some(Told::Nothing) => {
                self.sends.insert(words.to_owned(), told);
            }
            Some(known) if told != Told::Nothing && *known != told => {
                self.wrong.push(format!("two different answers to {words}"));
            }
            Some(_) => {}
        }
    }

    /// How many messages the API said were accepted.
    pub(super) fn accepted(&self) -> usize {
        let count = |told: &Told| match told {
            Told::Accepted { messages, .. } => messages.len(),
            Told::Refused | Told::Nothing => 0,
        };
        self.sends.values().map(count).sum()
    }
}
