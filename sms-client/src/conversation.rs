//! Conversations: what people wrote to the account, and the answers.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::client::Client;
use crate::contact::Contact;
use crate::ids::ContactId;
use crate::listing::{Listing, NextPage};
use crate::message::Message;
use crate::private_text::{Phone, Words};

/// Everything between the account and one number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The other party: a number, or a short code or a name, which cannot be answered.
    pub contact_number: Phone,
    /// The contact with this number.
    pub contact_id: Option<ContactId>,
    /// The contact's name.
    pub contact_name: Option<Words>,
    /// How many messages are unread.
    pub unread: u64,
    /// The newest message.
    pub last_message: Message,
}

/// The last 200 messages of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The other party: a number, or a short code or a name, which cannot be answered.
    pub contact_number: Phone,
    /// The contact with this number.
    pub contact: Option<Contact>,
    /// Whether the person has opted out.
    pub opted_out: bool,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
}

/// What marking a conversation as read did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationRead {
    /// How many messages were unread.
    pub marked_read: u64,
}

/// The meta of a page of conversations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxMeta {
    /// Where the next page begins; `None` on the last one.
    pub next_cursor: Option<String>,
    /// How many messages are unread in all.
    pub unread_total: u64,
}

impl NextPage for InboxMeta {
    fn next_page(&self, _read: u64) -> Option<(&'static str, String)> {
        Some(("cursor", self.next_cursor.clone()?))
    }
}

/// Which conversations a list has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ConversationFilter {
    /// Only those with unread messages, or only those without.
    pub unread: Option<bool>,
    /// A number or part of one, a short code or a name exactly as it is shown, or words to find in
    /// the contact's name.
    pub q: Option<Words>,
}

impl Client {
    /// Lists conversations, the newest activity first.
    pub fn conversation_list(
        &self,
        filter: &ConversationFilter,
    ) -> Listing<Conversation, InboxMeta> {
        self.list(&["conversations"], filter)
    }

    /// Reads a conversation.
    pub fn conversation_get(&self, number: &Phone) -> Call<Thread> {
        self.get(&["conversations", number.as_str()])
    }

    /// Marks a conversation as read.
    pub fn conversation_read(&self, number: &Phone) -> Call<ConversationRead> {
        self.post(&["conversations", number.as_str(), "read"]).repeatable()
    }
}
