//! The filters of a list or an export of messages.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::record::{Direction, Message};
use super::status::MessageStatus;
use crate::ids::{BatchId, CampaignId, MessageId, MessageKind};
use crate::page::PageRequest;
use crate::phone::{E164, parse_any};
use crate::setters::setters;
use crate::time::Timestamp;

/// The conditions that a message has to meet, all of them. An empty filter accepts every message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageFilter {
    /// Sent or received; `None` for both.
    pub direction: Option<Direction>,
    /// The status; `None` for any.
    pub status: Option<MessageStatus>,
    /// The other party's number, or words in the body; `None` for any.
    pub search: Option<Search>,
    /// The campaign that it belongs to; `None` for any message, also of no campaign.
    pub campaign_id: Option<CampaignId>,
    /// The send or launch that created it; `None` for any.
    pub batch_id: Option<BatchId>,
    /// The caller's own reference, compared exactly; `None` for any.
    pub client_ref: Option<String>,
    /// Created at this time or later; `None` for no lower bound.
    pub since: Option<Timestamp>,
    /// Created before this time; `None` for no upper bound.
    pub until: Option<Timestamp>,
}

/// What the query parameter `q` searches for.
#[derive(Clone, PartialEq, Eq)]
pub enum Search {
    /// The other party's number.
    Number(E164),
    /// Words in the body, in any case; kept in lower case.
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

/// The age at which a message is settled: no message with a smaller id can still be written. Much
/// longer than a send waits for its commit, and than the clocks of two servers differ.
pub const SETTLED_AFTER: Duration = Duration::from_mins(5);

impl Search {
    /// Reads `q`: a phone number in any format, else words; `None` if `q` is blank.
    pub fn parse(q: &str) -> Option<Self> {
        let q = q.trim();
        match parse_any(q) {
            _ if q.is_empty() => None,
            Ok(number) => Some(Self::Number(number)),
            Err(_) => Some(Self::Words(q.to_lowercase())),
        }
    }

    /// Whether the search finds this message.
    pub fn finds(&self, message: &Message) -> bool {
        match self {
            Self::Number(number) => message.contact_number() == *number,
            Self::Words(words) => body_has(message.body.as_str(), words),
        }
    }
}

/// Whether a body contains these words, which are in lower case.
pub fn body_has(body: &str, words: &str) -> bool {
    body.to_lowercase().contains(words)
}

impl MessageFilter {
    /// Whether no message can match, because received messages are inbound and all others outbound.
    pub fn is_contradiction(&self) -> bool {
        match (self.direction, self.status) {
            (Some(direction), Some(status)) => {
                (direction == Direction::Inbound) != (status == MessageStatus::Received)
            }
            _ => false,
        }
    }

    /// Whether a page is looked for among messages that are not on it: by words, by several
    /// conditions, or by what nearly all messages are.
    pub(crate) fn looks_through(&self) -> bool {
        let Self { direction, status, search, campaign_id, batch_id, client_ref, .. } = self;
        let conditions = [
            direction.is_some() || status.is_some(),
            search.is_some(),
            campaign_id.is_some(),
            batch_id.is_some(),
            client_ref.is_some(),
        ];
        let is_common = match (status, direction) {
            (Some(status), _) => {
                matches!(status, MessageStatus::Sent | MessageStatus::Delivered)
            }
            (None, direction) => *direction == Some(Direction::Outbound),
        };
        is_common
            || matches!(search, Some(Search::Words(_)))
            || conditions.into_iter().filter(|is_set| *is_set).count() > 1
    }

    /// The ids that messages of this page may have, by the times of the filter and by where the
    /// page begins. The range is empty if no message can be on it.
    pub fn ids(&self, page: PageRequest) -> RangeInclusive<MessageId> {
        let first_at = |at| MessageId::first_at(at).as_u128();
        let oldest = self.since.map_or(0, first_at);
        let until = self.until.map_or(u128::MAX, first_at);
        let cursor = page.after.map_or(u128::MAX, |at| at.id::<MessageKind>().as_u128());
        // No message has the id 0.
        let (first, last) = match until.min(cursor) {
            0 => (1, 0),
            end => (oldest, end - 1),
        };
        MessageId::from_u128(first)..=MessageId::from_u128(last)
    }

    /// Whether the message meets every condition.
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

setters! { MessageFilter {
    /// Accepts messages in this direction.
    direction(direction: Direction) = Some(direction);
    /// Accepts messages with this status.
    status(status: MessageStatus) = Some(status);
    /// Accepts messages with this number, or with these words in the body.
    search(query: &str) = Search::parse(query);
    /// Accepts messages of this campaign.
    campaign_id(campaign: CampaignId) = Some(campaign);
    /// Accepts messages of this send request.
    batch_id(batch: BatchId) = Some(batch);
    /// Accepts messages with this reference of the caller, exactly.
    client_ref(reference: impl Into<String>) = Some(reference.into());
    /// Accepts messages created at this time or later.
    since(start: Timestamp) = Some(start);
    /// Accepts messages created before this time.
    until(end: Timestamp) = Some(end);
} }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Body;
    use crate::page::{Cursor, Limit};
    use crate::samples::{message, millis, our_number, person, seconds};

    fn any() -> MessageFilter {
        MessageFilter::default()
    }

    fn sent() -> Message {
        Message {
            body: Body::new("Dein TISCH für 2, Straße 5"),
            client_ref: Some("booking-42".to_owned()),
            campaign_id: Some(CampaignId::from_u128(2)),
            ..message(MessageStatus::Sent)
        }
    }

    fn q(text: &str) -> MessageFilter {
        MessageFilter { search: Search::parse(text), ..any() }
    }

    #[test]
    fn an_empty_filter_wants_every_message() {
        for status in MessageStatus::ALL {
            assert!(any().accepts(&message(status)), "{status}");
        }
    }

    #[test]
    fn each_condition_accepts_exactly_the_messages_that_meet_it() {
        let other = Some("booking-4".to_owned());
        let made = seconds(-60);
        for (filter, accepted) in [
            (MessageFilter { direction: Some(Direction::Outbound), ..any() }, true),
            (MessageFilter { direction: Some(Direction::Inbound), ..any() }, false),
            (MessageFilter { status: Some(MessageStatus::Sent), ..any() }, true),
            (MessageFilter { status: Some(MessageStatus::Delivered), ..any() }, false),
            (MessageFilter { campaign_id: Some(CampaignId::from_u128(2)), ..any() }, true),
            (MessageFilter { campaign_id: Some(CampaignId::from_u128(3)), ..any() }, false),
            (MessageFilter { batch_id: Some(BatchId::from_u128(3)), ..any() }, true),
            (MessageFilter { batch_id: Some(BatchId::from_u128(4)), ..any() }, false),
            (MessageFilter { client_ref: sent().client_ref, ..any() }, true),
            (MessageFilter { client_ref: other, ..any() }, false),
            (MessageFilter { since: Some(made), ..any() }, true),
            (MessageFilter { since: Some(millis(-59_999)), ..any() }, false),
            (MessageFilter { until: Some(made), ..any() }, false),
            (MessageFilter { until: Some(millis(-59_999)), ..any() }, true),
        ] {
            assert_eq!(filter.accepts(&sent()), accepted, "{filter:?}");
        }
    }

    #[test]
    fn all_conditions_have_to_be_met() {
        let both = MessageFilter { status: Some(MessageStatus::Sent), ..q("tisch") };
        assert!(both.accepts(&sent()));
        let one = MessageFilter { status: Some(MessageStatus::Failed), ..q("tisch") };
        assert!(!one.accepts(&sent()));
    }

    #[test]
    fn a_message_without_the_filtered_value_does_not_match() {
        let bare = Message { batch_id: None, ..message(MessageStatus::Queued) };
        for filter in [
            MessageFilter { batch_id: Some(BatchId::from_u128(3)), ..any() },
            MessageFilter { campaign_id: Some(CampaignId::from_u128(3)), ..any() },
            MessageFilter { client_ref: Some(String::new()), ..any() },
        ] {
            assert!(!filter.accepts(&bare), "{filter:?}");
        }
    }

    #[test]
    fn q_is_a_number_in_any_format_else_words_else_no_search() {
        for number in ["07700 900123", "+44 7700 900123", " (07700) 900-123 ", "447700900123"] {
            assert_eq!(Search::parse(number), Some(Search::Number(person())), "{number}");
        }
        for words in ["Tisch", "900123", "07700 900123 please"] {
            let expected = Some(Search::Words(words.to_lowercase()));
            assert_eq!(Search::parse(words), expected, "{words}");
        }
        assert_eq!(Search::parse(""), None);
        assert_eq!(Search::parse(" \t"), None);
    }

    #[test]
    fn words_are_found_in_the_body_in_any_case() {
        for (text, found) in
            [("tisch", true), ("TISCH FÜR", true), ("straße", true), ("dinner", false)]
        {
            assert_eq!(q(text).accepts(&sent()), found, "{text}");
        }
    }

    #[test]
    fn a_number_is_the_other_partys_in_both_directions() {
        let ours = our_number().to_string();
        for status in [MessageStatus::Sent, MessageStatus::Received] {
            assert!(q("07700 900123").accepts(&message(status)));
            assert!(!q(&ours).accepts(&message(status)));
        }
    }

    #[test]
    fn only_a_direction_that_its_status_cannot_have_is_a_contradiction() {
        for direction in [None, Some(Direction::Inbound), Some(Direction::Outbound)] {
            for status in MessageStatus::ALL {
                let filter = MessageFilter { direction, status: Some(status), ..any() };
                let answered = MessageStatus::ALL.map(message).iter().any(|m| filter.accepts(m));
                assert_eq!(filter.is_contradiction(), !answered, "{filter:?}");
            }
            assert!(!MessageFilter { direction, ..any() }.is_contradiction());
        }
    }

    #[test]
    fn a_page_ends_before_its_cursor_and_both_times_bound_it() {
        let first_at = |second| MessageId::first_at(seconds(second)).as_u128();
        let (since, until) = (Some(seconds(1)), Some(seconds(9)));
        let (none, most) = (RangeInclusive::new(1, 0), u128::MAX - 1);
        for (since, until, after, ids) in [
            (None, None, None, 0..=most),
            (since, None, None, first_at(1)..=most),
            (None, until, None, 0..=first_at(9) - 1),
            (None, None, Some(7), 0..=6),
            (None, until, Some(first_at(5)), 0..=first_at(5) - 1),
            (since, until, Some(u128::MAX), first_at(1)..=first_at(9) - 1),
            (since, None, Some(0), none.clone()),
        ] {
            let filter = MessageFilter { since, until, ..any() };
            let after = after.map(|id| Cursor::after(MessageId::from_u128(id)));
            let page = PageRequest { limit: Limit::default(), after };
            let found = filter.ids(page);
            assert_eq!(found.start().as_u128()..=found.end().as_u128(), ids, "{filter:?}");
        }
        let past = MessageFilter { since: until, until: since, ..any() };
        assert!(past.ids(PageRequest::default()).is_empty());
    }

    #[test]
    fn debug_does_not_show_what_was_searched_for() {
        assert!(!format!("{:?}", q("dinner")).contains("dinner"));
    }
}
