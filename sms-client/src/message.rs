//! Messages: reading, cancelling and exporting them.

use futures_util::stream::BoxStream;
use futures_util::stream::{StreamExt as _, try_unfold};
use reqwest::header::HeaderValue;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::choice::open_choice;
use crate::client::Client;
use crate::error::Error;
use crate::ids::{BatchId, CampaignId, ContactId, MessageId};
use crate::listing::Listing;
use crate::private_text::{Phone, Words};
use crate::timestamp::Timestamp;
use crate::transport::Outgoing;

open_choice! {
    /// Which way a message goes.
    Direction {
        /// From the account to a person.
        Outbound = "outbound",
        /// From a person to the account.
        Inbound = "inbound",
    }
}

open_choice! {
    /// How far a message has come.
    MessageStatus {
        /// It waits for its time.
        Scheduled = "scheduled",
        /// It waits to be handed over.
        Queued = "queued",
        /// It is being handed over.
        Sending = "sending",
        /// The network has it.
        Sent = "sent",
        /// The handset has it.
        Delivered = "delivered",
        /// The network could not deliver it. It stays charged.
        Undelivered = "undelivered",
        /// It failed before it left, and was refunded.
        Failed = "failed",
        /// It was cancelled, and refunded.
        Cancelled = "cancelled",
        /// It came in.
        Received = "received",
    }
}

open_choice! {
    /// How a text is encoded.
    Encoding {
        /// 160 characters in a single segment.
        Gsm7 = "gsm7",
        /// 70 characters in a single segment, for texts beyond GSM-7.
        Ucs2 = "ucs2",
    }
}

/// A message, sent or received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Which way it goes.
    pub direction: Direction,
    /// How far it has come.
    pub status: MessageStatus,
    /// Who gets it.
    pub to: Phone,
    /// Who sends it: a number, or of an inbound message a short code or a name, which cannot be
    /// answered.
    pub from: Phone,
    /// The other party: a number, or of an inbound message a short code or a name.
    pub contact_number: Phone,
    /// Its words.
    pub body: Words,
    /// How its words are encoded.
    pub encoding: Encoding,
    /// How many segments it has.
    pub segments: u64,
    /// What it was charged.
    pub credits: u64,
    /// What carries it.
    pub route: String,
    /// The sender name it is sent with; `None` for a number, and for an inbound message.
    pub sender: Option<String>,
    /// Your own reference.
    pub client_ref: Option<String>,
    /// The send that made it.
    pub batch_id: Option<BatchId>,
    /// The campaign that made it.
    pub campaign_id: Option<CampaignId>,
    /// The contact with the other party's number.
    pub contact_id: Option<ContactId>,
    /// Why it failed, for programs.
    pub error_code: Option<String>,
    /// Why it failed, for people.
    pub error_message: Option<String>,
    /// Whether a test key made it.
    pub test: bool,
    /// When it is to be sent.
    pub scheduled_at: Option<Timestamp>,
    /// When the network took it.
    pub sent_at: Option<Timestamp>,
    /// When the handset got it.
    pub delivered_at: Option<Timestamp>,
    /// When it failed.
    pub failed_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// When it came in.
    pub received_at: Option<Timestamp>,
    /// When it was marked as read.
    pub read_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A line of a message's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageEvent {
    /// The status that it reached.
    pub status: MessageStatus,
    /// What there is to say about it.
    pub detail: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A message and its timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageWithEvents {
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// Its timeline, oldest first.
    pub events: Vec<MessageEvent>,
}

/// Which messages a list or an export has. The default has all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MessageFilter {
    /// Only those that go this way.
    pub direction: Option<Direction>,
    /// Only those with this status.
    pub status: Option<MessageStatus>,
    /// A number in any form, a short code or a name exactly as it is shown, or text to find in the
    /// body.
    pub q: Option<Words>,
    /// Only those of this campaign.
    pub campaign_id: Option<CampaignId>,
    /// Only those of this send.
    pub batch_id: Option<BatchId>,
    /// Only those with this reference.
    pub client_ref: Option<String>,
    /// Only those made at this time or later.
    pub since: Option<Timestamp>,
    /// Only those made before this time.
    pub until: Option<Timestamp>,
}

impl Client {
    /// Lists messages, newest first.
    pub fn message_list(&self, filter: &MessageFilter) -> Listing<Message> {
        self.list(&["messages"], filter)
    }

    /// Reads a message with its timeline.
    pub fn message_get(&self, id: &MessageId) -> Call<MessageWithEvents> {
        self.get(&["messages", id.as_str()])
    }

    /// Cancels a message that waits, and refunds it.
    pub fn message_cancel(&self, id: &MessageId) -> Call<Message> {
        self.post(&["messages", id.as_str(), "cancel"])
    }

    /// Exports messages as CSV, up to 50,000 rows, newest first: chunks of bytes as they arrive,
    /// without a UTF-8 mark.
    ///
    /// # Errors
    ///
    /// As for every call. An item of the stream is an error if the connection breaks.
    pub async fn message_export(
        &self,
        filter: &MessageFilter,
    ) -> Result<BoxStream<'static, Result<Vec<u8>, Error>>, Error> {
        let mut url = self.url_with(&["messages", "export"], filter)?;
        url.query_pairs_mut().append_pair("bom", "false");
        let mut outgoing = Outgoing::get(url);
        outgoing.accept = HeaderValue::from_static("text/csv, application/json");
        let transport = self.transport().clone();
        let answer = transport.open(&outgoing, &transport.retries).await?;
        let chunks = try_unfold((transport, answer), |(transport, mut answer)| async move {
            let chunk = answer.chunk().await.map_err(|error| transport.no_answer(&error))?;
            Ok(chunk.map(|chunk| (chunk.to_vec(), (transport, answer))))
        });
        Ok(chunks.boxed())
    }
}
