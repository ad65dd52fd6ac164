//! Inbound messages: which account they belong to, and what they trigger.
//!
//! A message to a dedicated number belongs to the account that rents it. A message to a shared
//! number, or to one that was released within 30 days, belongs to the account that last sent a
//! message to that person from it, within 30 days.
//! Other messages are kept for the operator, and no account sees them.
//!
//! A message may come from a short code or a name. It is stored as it came and does nothing else,
//! because it cannot be answered: it is no STOP or START, matches no keyword and makes no contact.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contact::saved::Contact;
use crate::credits::Credits;
use crate::dispatch::queue::VALIDITY;
use crate::event::replies_paused::RepliesPaused;
use crate::event::{Event, EventData, Raised};
use crate::idempotency::Answer;
use crate::ids::{AccountId, ContactId, FollowUpId, Ids, MessageId};
use crate::keyword::Word;
use crate::keyword::reply::{self, MatchFacts, Matched, Occasion, Triggered};
use crate::keyword::reply_limit::ReplyLimits;
use crate::message::record::{Body, Direction, Message, TimelineEntry, Times};
use crate::message::status::MessageStatus;
use crate::mode::Mode;
use crate::number::Holder;
use crate::number::release::Release;
use crate::opt_out::{OptOut, OptOutSource};
use crate::originator::Originator;
use crate::phone::E164;
use crate::route_name::RouteName;
use crate::statistics::Tally;
use crate::text::encoding::{Encoding, Segments};
use crate::text::segments::measure;
use crate::text::stop_words::{StopWord, stop_word};
use crate::time::Timestamp;

pub mod segment;
pub mod store;

/// How long a message from a shared number leads answers to its account: 30 days.
pub const SHARED_REACH: Duration = Duration::from_hours(30 * 24);

/// The longest text, in characters: 255 segments of 153 septets.
pub const MAX_BODY: usize = 39_015;

/// An inbound message as a route reports it, with its segments joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundMessage {
    /// Who sent it: a number that can be answered, or a short code or name that cannot.
    pub from: Originator,
    /// The number of the operator that it was sent to.
    pub to: E164,
    /// Its text, at most [`MAX_BODY`] characters.
    pub body: Body,
    /// The route that received it.
    pub route: RouteName,
}

/// Where an inbound message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From a real network, or entered by the operator.
    Network,
    /// From a simulated network, as the answer to a message.
    Answer {
        /// The answered message, to whose account the answer belongs.
        to: MessageId,
        /// The follow-up that it fulfils. If that no longer exists, the answer was recorded before.
        follow_up: FollowUpId,
    },
}

/// An inbound message to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundPlan {
    /// The id that it gets.
    pub id: MessageId,
    /// The message as its route reported it.
    pub text: InboundMessage,
    /// Where it came from.
    pub origin: Origin,
    /// GSM 7-bit or UCS-2.
    pub encoding: Encoding,
    /// The number of its segments.
    pub segments: Segments,
    /// When it arrived, UTC; becomes the message's `received_at`.
    pub at: Timestamp,
    /// How long a message that a keyword sends in answer may wait for its route.
    pub validity: Duration,
    /// What its timeline says about it, at most 300 characters; `None` for nothing.
    pub note: Option<String>,
    /// How many messages keywords may send in answer.
    pub reply_limits: ReplyLimits,
    /// Ids for everything that recording it creates.
    pub ids: Ids,
}

/// What decides which account a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingFacts {
    /// The holder of the number that it was sent to; `None` if the number is not the operator's.
    pub holder: Option<Holder>,
    /// The last release of that number; `None` if it was never released.
    pub released: Option<Release>,
    /// The account that last sent a message to this person from this number, and when; `None` if
    /// none did.
    pub last_contacted: Option<(AccountId, Timestamp)>,
    /// For an [`Origin::Answer`]: the account and mode of the answered message.
    pub answered: Option<(AccountId, Mode)>,
}

/// What else the verdict depends on, once the account is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundFacts {
    /// The account that the message belongs to.
    pub account: AccountId,
    /// Live, or test for an answer to a test message.
    pub mode: Mode,
    /// Whether the person has already opted out.
    pub opted_out: bool,
    /// The saved contact with the person's number; `None` if there is none.
    pub contact: Option<Contact>,
    /// The account's enabled keyword with [the message's word](InboundPlan::word), and what a match
    /// depends on; `None` if there is no such keyword.
    pub matched: Option<Box<MatchFacts>>,
}

/// What happens to an account's opt-outs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptOutChange {
    /// Nothing: the message is no STOP or START, or would change nothing.
    Keep,
    /// The person opts out.
    Add(OptOut),
    /// The person opts in again. Carries the number.
    Remove(E164),
}

/// What a commit writes for an inbound message that belongs to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct InboundWrites {
    /// The message as it is stored.
    pub message: Message,
    /// The first line of its timeline.
    pub timeline: TimelineEntry,
    /// What it counts in statistics.
    pub tally: Tally,
    /// The other party of the conversation that it starts or moves to the front, in which it is
    /// unread.
    pub conversation: E164,
    /// What happens to the account's opt-outs.
    pub opt_out: OptOutChange,
    /// What the matching keyword triggers; `None` if no keyword matches.
    pub matched: Option<Box<Matched>>,
    /// Events to deliver, in order.
    pub raised: Raised,
}

/// An inbound message that belongs to no account, kept for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrouted {
    /// The id, of the same kind as that of any message.
    pub id: MessageId,
    /// Who sent it, as the route reported it.
    pub from: Originator,
    /// The number that it was sent to.
    pub to: E164,
    /// Its text, with its segments joined.
    pub body: Body,
    /// GSM 7-bit or UCS-2.
    pub encoding: Encoding,
    /// The number of its segments.
    pub segments: Segments,
    /// When the route reported it.
    pub received_at: Timestamp,
}

impl InboundPlan {
    /// Plans to record a message that arrived at `at`. Removes the character U+0000 from its text,
    /// because no handset shows it and no store can keep it.
    pub fn new(text: InboundMessage, origin: Origin, at: Timestamp, mut ids: Ids) -> Self {
        let text = without_nul(text);
        let measure = measure(text.body.as_str());
        Self {
            id: ids.next(),
            text,
            origin,
            encoding: measure.encoding,
            segments: measure.segments,
            at,
            validity: VALIDITY,
            note: None,
            reply_limits: ReplyLimits::default(),
            ids,
        }
    }

    /// The word that can match a keyword of its account; `None` if it has no such word, or comes
    /// from a short code or a name.
    pub fn word(&self) -> Option<Word> {
        if self.is_from_name() { None } else { Word::of_text(self.text.body.as_str()) }
    }

    fn is_from_name(&self) -> bool {
        self.text.from.name().is_some()
    }

    /// The account and mode that the message belongs to; `None` if it belongs to no account.
    pub fn owner(&self, facts: RoutingFacts) -> Option<(AccountId, Mode)> {
        let recent = |(_, at): &(AccountId, Timestamp)| self.at.since(*at) <= SHARED_REACH;
        let texted = || facts.last_contacted.filter(recent).map(|(account, _)| account);
        let is_released = facts.released.is_some_and(|release| release.is_recent(self.at));
        let account = match (self.origin, facts.holder) {
            (Origin::Answer { .. }, _) => return facts.answered,
            // The person may answer a message of the former holder.
            (Origin::Network, Some(Holder::Dedicated(account))) if is_released => {
                texted().or(Some(account))
            }
            (Origin::Network, Some(Holder::Dedicated(account))) => Some(account),
            (Origin::Network, Some(Holder::Shared)) => texted(),
            (Origin::Network, None) if is_released => texted(),
            (Origin::Network, None) => None,
        };
        Some((account?, Mode::Live))
    }

    /// The message as it is kept if it belongs to no account.
    pub fn unrouted(&self) -> Unrouted {
        Unrouted {
            id: self.id,
            from: self.text.from.clone(),
            to: self.text.to,
            body: self.text.body.clone(),
            encoding: self.encoding,
            segments: self.segments,
            received_at: self.at,
        }
    }

    /// What the message triggers in the account that it belongs to.
    pub fn settle(&mut self, facts: InboundFacts) -> InboundWrites {
        let InboundFacts { account, mode, opted_out, contact, matched } = facts;
        let (contact, matched) =
            if self.is_from_name() { (None, None) } else { (contact, matched) };
        let word = stop_word(self.text.body.as_str(), |_| matched.is_some())
            .filter(|_| !self.is_from_name());
        let (matched, contact, paused) = match matched {
            Some(facts) if word.is_none() => self.match_keyword(mode, opted_out, &facts),
            _ => (None, contact, None),
        };
        let message = self.message(account, mode, contact.map(|contact| contact.id));
        let mut events =
            vec![self.event(account, EventData::MessageReceived(Box::new(message.clone())))];
        let opt_out = match word {
            Some(StopWord::OptOut) if !opted_out => {
                let opt_out = OptOut {
                    phone: self.text.from.number(),
                    source: OptOutSource::Sms,
                    note: None,
                    created_at: self.at,
                };
                events.push(self.event(account, EventData::OptOutCreated(opt_out.clone())));
                OptOutChange::Add(opt_out)
            }
            Some(StopWord::OptIn) if opted_out => OptOutChange::Remove(self.text.from.number()),
            _ => OptOutChange::Keep,
        };
        events.extend(paused.map(|told| self.event(account, EventData::RepliesPaused(told))));
        let (status, detail) = (MessageStatus::Received, self.note.take());
        let timeline = TimelineEntry { status, detail, at: self.at };
        let mut tally = Tally::default();
        tally.text(&Times::default(), &message);
        let raised = Raised { events, ids: self.ids.clone() };
        let conversation = message.contact_number();
        InboundWrites { message, timeline, tally, conversation, opt_out, matched, raised }
    }

    fn match_keyword(
        &mut self,
        mode: Mode,
        opted_out: bool,
        facts: &MatchFacts,
    ) -> (Option<Box<Matched>>, Option<Contact>, Option<RepliesPaused>) {
        let InboundMessage { from, to, body: _, route } = &self.text;
        let (from, to, at, validity) = (from.number(), *to, self.at, self.validity);
        let limits = &self.reply_limits;
        let occasion = Occasion { from, to, route, mode, opted_out, validity, limits, at };
        let Triggered { matched, contact, paused } = reply::settle(&occasion, facts, &mut self.ids);
        (Some(Box::new(matched)), contact, paused)
    }

    fn event(&mut self, account: AccountId, data: EventData) -> Event {
        Event::new(account, data, self.at, &mut self.ids)
    }

    fn message(&self, account: AccountId, mode: Mode, contact_id: Option<ContactId>) -> Message {
        Message {
            id: self.id,
            account,
            direction: Direction::Inbound,
            status: MessageStatus::Received,
            to: self.text.to,
            from: self.text.from.number(),
            body: self.text.body.clone(),
            encoding: self.encoding,
            segments: self.segments,
            credits: Credits::ZERO,
            route: self.text.route.clone(),
            sender: self.text.from.name().map(str::to_owned),
            client_ref: None,
            batch_id: None,
            campaign_id: None,
            contact_id,
            error: None,
            mode,
            scheduled_at: None,
            times: Times { received_at: Some(self.at), ..Times::default() },
        }
    }
}

fn without_nul(text: InboundMessage) -> InboundMessage {
    if text.body.as_str().contains('\0') {
        InboundMessage { body: Body::new(text.body.as_str().replace('\0', "")), ..text }
    } else {
        text
    }
}

/// The result of recording an inbound message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// It belongs to an account.
    Routed(Message),
    /// It belongs to an account, and a keyword answered it with the second message.
    Answered(Message, Box<Message>),
    /// It belongs to no account.
    Unrouted(Unrouted),
    /// The simulated follow-up was fulfilled before; nothing was written.
    AlreadyDone,
}

/// A repetition returns the message, if it belonged to an account.
impl Answer for TakenIn {
    type Kept = KeptInbound;

    fn kept(&self) -> KeptInbound {
        KeptInbound {
            message: match self {
                Self::Routed(message) | Self::Answered(message, _) => {
                    Some((message.account, message.id))
                }
                Self::Unrouted(_) | Self::AlreadyDone => None,
            },
        }
    }
}

/// What is kept of an inbound message that was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptInbound {
    /// The message and its account; `None` if it belonged to no account.
    pub message: Option<(AccountId, MessageId)>,
}

impl TakenIn {
    /// The result for a message that belongs to an account, with its keyword's answer, if any.
    pub fn of(message: Message, answer: Option<Message>) -> Self {
        match answer {
            Some(answer) => Self::Answered(message, Box::new(answer)),
            None => Self::Routed(message),
        }
    }
}

#[cfg(test)]
mod tests;
