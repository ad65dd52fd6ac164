//! The conversations of an account.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::MessageId;
use sms_core::message::{Direction, Message};
use sms_core::phone::E164;
use sms_core::time::Timestamp;

/// The expected conversations of an account.
#[derive(Debug, Default)]
pub struct InboxModel {
    /// The newest message of each number, with or without a conversation.
    pub(crate) newest: BTreeMap<E164, MessageId>,
    /// By number: unread messages, and times of automatic replies.
    pub threads: BTreeMap<E164, Thread>,
}

/// One conversation.
#[derive(Debug, Default)]
pub struct Thread {
    /// Unread messages.
    pub unread: BTreeSet<MessageId>,
    /// Times of keyword replies.
    pub replied: Vec<Timestamp>,
}

impl InboxModel {
    /// A message was created.
    pub fn note(&mut self, message: &Message) {
        let number = message.contact_number();
        let newest = self.newest.entry(number).or_insert(message.id);
        *newest = message.id.max(*newest);
        if message.direction == Direction::Inbound {
            self.threads.entry(number).or_default().unread.insert(message.id);
        }
    }

    pub(crate) fn unread(&self) -> u64 {
        self.threads.values().map(|thread| thread.unread.len() as u64).sum()
    }
}
