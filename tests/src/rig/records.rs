//! What the clients asked for and were told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::ids::{BatchId, MessageId};

/// What the caller of a send knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// Accepted, and this is it.
    Accepted { batch: BatchId, messages: Vec<MessageId> },
    /// Refused: nothing was sent or charged.
    Refused,
    /// No answer, or one that leaves it open.
    Nothing,
}

/// Numbers that opted out: the account, the number, and the millisecond from which all knew.
pub(super) type OptedOut = (usize, u64, i64);

#[derive(Debug, Default)]
pub(super) struct All {
    /// What became of each send, by the text's words, which no two sends share.
    pub(super) sends: BTreeMap<String, Told>,
    /// Texts that were cancelled, as their caller was told.
    pub(super) cancelled: Vec<MessageId>,
    pub(super) opted_out: Vec<OptedOut>,
    /// How many answers had each status; 0 for none.
    pub(super) statuses: BTreeMap<u16, u64>,
    /// Answers that must not be, with the words of their request.
    pub(super) wrong: Vec<String>,
    /// Requests that were cut off.
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
    /// Notes what a send's caller knows now. What is known stays; two answers must be the same. A
    /// refusal after a request whose answer was lost says nothing of that one.
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

    /// How many texts were accepted, as their callers were told.
    pub(super) fn accepted(&self) -> usize {
        let count = |told: &Told| match told {
            Told::Accepted { messages, .. } => messages.len(),
            Told::Refused | Told::Nothing => 0,
        };
        self.sends.values().map(count).sum()
    }
}
