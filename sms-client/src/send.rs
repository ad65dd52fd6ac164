//! Sending messages, and asking what a send would cost.

use serde::{Deserialize, Serialize};

use crate::call::{Answer, Call, KeyedCall, data_and_meta};
use crate::choice::open_choice;
use crate::client::Client;
use crate::ids::{BatchId, ContactId, ListId, TemplateId};
use crate::message::{Encoding, Message};
use crate::private_text::{Phone, Words};
use crate::timestamp::Timestamp;

open_choice! {
    /// Which messages go first.
    Priority {
        /// Somebody waits for it.
        Normal = "normal",
        /// It is one of many.
        Bulk = "bulk",
    }
}

open_choice! {
    /// Why a recipient gets no message.
    RejectionReason {
        /// It is not a phone number.
        InvalidNumber = "invalid_number",
        /// It is a number of another country.
        UnsupportedDestination = "unsupported_destination",
        /// It is not a mobile number.
        NotMobile = "not_mobile",
        /// The number occurs earlier in the request.
        Duplicate = "duplicate",
        /// The person has opted out.
        OptedOut = "opted_out",
        /// The text is too long once its fields are filled in.
        TooLong = "too_long",
        /// The text is empty once its fields are filled in.
        EmptyBody = "empty_body",
    }
}

/// What to send, and to whom. [`new`](Self::new) has the words; the recipients are all of
/// `to`, `contact_ids` and `list_id`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SendRequest {
    /// Numbers, in any common form; at most 1,000.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Phone>,
    /// Contacts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contact_ids: Vec<ContactId>,
    /// A whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_id: Option<ListId>,
    /// The words, up to 1,600 characters, with merge fields such as `{first_name}`, or
    /// `{first_name|there}` with a fallback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Words>,
    /// A template, used if there are no words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<TemplateId>,
    /// An approved sender name. Without one, people can reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// When to send; now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_at: Option<Timestamp>,
    /// Your own reference, up to 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ref: Option<String>,
    /// Whether to add the line that says how to opt out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_opt_out: Option<bool>,
    /// Whether to shorten and track links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_links: Option<bool>,
    /// Which messages go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
}

impl SendRequest {
    /// These words, to nobody yet.
    pub fn new(body: impl Into<Words>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// Adds a recipient.
    #[must_use]
    pub fn to(mut self, number: impl Into<Phone>) -> Self {
        self.to.push(number.into());
        self
    }

    /// Adds a whole list.
    #[must_use]
    pub fn to_list(mut self, list: ListId) -> Self {
        self.list_id = Some(list);
        self
    }
}

/// An accepted send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// What its messages have in common.
    pub batch_id: BatchId,
    /// The messages, one for each recipient that was accepted.
    pub messages: Vec<Message>,
    /// The recipients that get none. Look at them: a number that is no number is not an error.
    pub rejected: Vec<Rejection>,
    /// Words in braces that name no field of any contact. Without a fallback, they were sent as
    /// typed.
    #[serde(default)]
    pub unknown_fields: Vec<String>,
    /// Fields that some recipients have no value for. They were left out.
    #[serde(default)]
    pub blank_fields: Vec<BlankField>,
}

/// A merge field that is blank in some messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlankField {
    /// Its name.
    pub field: String,
    /// How many recipients have no value for it.
    pub recipients: u64,
}

/// A recipient that gets no message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The recipient as given.
    pub to: Phone,
    /// Why.
    pub reason: RejectionReason,
}

/// What a send did to the account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchMeta {
    /// What was charged.
    pub credits: u64,
    /// What is left.
    pub balance: u64,
    /// Whether this is the answer to an earlier request with the same key. Nothing was sent now.
    pub replayed: bool,
    /// Whether a test key sent it.
    pub test: bool,
}

/// What a send would cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// How many people would get a message.
    pub recipients: u64,
    /// Who would not.
    pub rejected: Vec<Rejection>,
    /// Words in braces that name no field of any contact. Without a fallback, they would be sent as
    /// typed.
    #[serde(default)]
    pub unknown_fields: Vec<String>,
    /// Fields that some recipients have no value for. They would be left out.
    #[serde(default)]
    pub blank_fields: Vec<BlankField>,
    /// The price.
    pub credits: u64,
    /// How the text would be encoded.
    pub encoding: Encoding,
    /// The text of the first message.
    pub preview: Option<Words>,
    /// What the account has.
    pub balance: u64,
}

impl Client {
    /// Sends messages.
    pub fn message_send(&self, send: &SendRequest) -> KeyedCall<Answer<Batch, BatchMeta>> {
        let path = ["messages"];
        self.send_json(reqwest::Method::POST, &path, send, data_and_meta::<Batch, BatchMeta>)
            .keyed()
    }

    /// Says what a send would cost, and sends nothing.
    pub fn message_quote(&self, send: &SendRequest) -> Call<Quote> {
        self.post_json(&["messages", "quote"], send).repeatable()
    }
}
