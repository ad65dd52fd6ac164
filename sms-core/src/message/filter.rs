//! Which texts a list or an export wants.

use super::{Direction, Message, MessageStatus};
use crate::ids::{BatchId, CampaignId};
use crate::phone::{E164, parse_any};
use crate::time::Timestamp;

/// Questions that a text has to answer with yes, all of them. Empty wants every text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageFilter {
    /// Sent or received.
    pub direction: Option<Direction>,
    /// Where it stands.
    pub status: Option<MessageStatus>,
    /// A number it goes to or comes from, or words in its body.
    pub search: Option<Search>,
    /// The campaign it came from.
    pub campaign_id: Option<CampaignId>,
    /// The send request it came from.
    pub batch_id: Option<BatchId>,
    /// The caller's own reference, exactly.
    pub client_ref: Option<String>,
    /// Made at this moment or later.
    pub since: Option<Timestamp>,
    /// Made before this moment.
    pub until: Option<Timestamp>,
}

/// What `q` looks for.
#[derive(Clone, PartialEq, Eq)]
pub enum Search {
    /// The other party's number.
    Number(E164),
    /// Words in the body, whatever their case; kept in lower case.
    Words(String),
}

impl std::fmt::Debug for Search {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Number(_) => "Number(…)",
            Self::Words(_) => "Words(…)",
        })
    }
}

impl Search {
    /// A number in any format, else words; nothing when `q` is blank.
    pub fn parse(q: &str) -> Option<Self> {
        let q = q.trim();
        match parse_any(q) {
            _ if q.is_empty() => None,
            Ok(number) => Some(Self::Number(number)),
            Err(_) => Some(Self::Words(q.to_lowercase())),
        }
    }

    /// Whether the text is one of those looked for.
    pub fn finds(&self, message: &Message) -> bool {
        match self {
            Self::Number(number) => message.contact_number() == *number,
            Self::Words(words) => message.body.as_str().to_lowercase().contains(words),
        }
    }
}

impl MessageFilter {
    /// Whether the text answers every question with yes.
    pub fn accepts(&self, message: &Message) -> bool {
        let Self { direction, status, search, campaign_id, batch_id, client_ref, since, until } =
            self;
        let created_at = message.created_at();
        direction.is_none_or(|wanted| wanted == message.direction)
            && status.is_none_or(|wanted| wanted == message.status)
            && campaign_id.is_none_or(|wanted| message.campaign_id == Some(wanted))
            && batch_id.is_none_or(|wanted| message.batch_id == Some(wanted))
            && client_ref.as_ref().is_none_or(|w| message.client_ref.as_ref() == Some(w))
            && since.is_none_or(|since| created_at >= since)
            && until.is_none_or(|until| created_at < until)
            && search.as_ref().is_none_or(|search| search.finds(message))
    }
}
