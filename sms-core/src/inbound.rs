//! Texts that come in: whose they are, and what they set off.
//!
//! A dedicated number's texts belong to the account that rents it. A shared number's go to the
//! account that last texted that person from it, within 30 days; other texts are kept for the
//! operator, and no account sees them.

use std::time::Duration;

use crate::account::Mode;
use crate::contact::Contact;
use crate::credits::Credits;
use crate::dispatch::VALIDITY;
use crate::event::{Event, EventData, Raised};
use crate::ids::{AccountId, ContactId, FollowUpId, Ids, MessageId};
use crate::keyword::Word;
use crate::keyword::reply::{self, MatchFacts, Matched, Occasion};
use crate::message::{Body, Direction, Message, MessageStatus, TimelineEntry, Times};
use crate::number::Holder;
use crate::opt_out::{OptOut, OptOutSource};
use crate::phone::E164;
use crate::route::RouteName;
use crate::statistics::Tally;
use crate::text::{Encoding, Segments, StopWord, measure, stop_word};
use crate::time::Timestamp;

pub mod part;
pub mod store;

/// How long a text from a shared number leads the answer to its account.
pub const SHARED_REACH: Duration = Duration::from_hours(30 * 24);

/// A text as a route reports it; long ones already joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundText {
    /// Who sent it.
    pub from: E164,
    /// Which of our numbers it was sent to.
    pub to: E164,
    /// Its words.
    pub body: Body,
    /// The route that brought it.
    pub route: RouteName,
}

/// Where an inbound text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A network.
    Network,
    /// A simulated network, as the answer to a text.
    Answer {
        /// The text answered, whose account the answer belongs to.
        to: MessageId,
        /// The comeback it fulfils; if that is gone, it was taken in before.
        follow_up: FollowUpId,
    },
}

/// An inbound text to be taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundPlan {
    /// The id it will have.
    pub id: MessageId,
    /// The text.
    pub text: InboundText,
    /// Where it came from.
    pub origin: Origin,
    /// How its words are coded.
    pub encoding: Encoding,
    /// How many parts it took.
    pub segments: Segments,
    /// When it came.
    pub at: Timestamp,
    /// How long a text that answers it may wait for a route.
    pub validity: Duration,
    /// Ids for what taking it in makes.
    pub ids: Ids,
}

/// What decides whose a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingFacts {
    /// Who holds the number that was texted; `None` when it is not one of ours.
    pub holder: Option<Holder>,
    /// The account that last texted this person from this number, and when.
    pub last_texted: Option<(AccountId, Timestamp)>,
    /// For an [`Origin::Answer`]: account and mode of the text answered.
    pub answered: Option<(AccountId, Mode)>,
}

/// What else the verdict depends on, once the account is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundFacts {
    /// Whose the text is.
    pub account: AccountId,
    /// Whether it answers a test text.
    pub mode: Mode,
    /// Whether the person has opted out already.
    pub opted_out: bool,
    /// The saved contact with the person's number.
    pub contact: Option<Contact>,
    /// The account's enabled keyword with [the text's word](InboundPlan::word), and what a match
    /// with it depends on.
    pub matched: Option<Box<MatchFacts>>,
}

/// What happens to an account's opt-outs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptOutChange {
    /// Nothing.
    Keep,
    /// The person opts out.
    Add(OptOut),
    /// The person asked to hear from the account again.
    Remove(E164),
}

/// What a commit writes for an inbound text that belongs to an account.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub struct InboundWrites {
    /// The text as kept.
    pub message: Message,
    /// The first line of its timeline.
    pub timeline: TimelineEntry,
    /// What it counts in statistics.
    pub tally: Tally,
    /// The other number of the conversation that it begins or moves to the front, and in which it
    /// is unread.
    pub conversation: E164,
    /// What happens to the account's opt-outs.
    pub opt_out: OptOutChange,
    /// What the keyword that it begins with sets off.
    pub matched: Option<Box<Matched>>,
    /// Events to be delivered, in order.
    pub raised: Raised,
}

/// A text that belongs to no account, kept for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrouted {
    /// Its id.
    pub id: MessageId,
    /// Who sent it.
    pub from: E164,
    /// The number it was sent to.
    pub to: E164,
    /// Its words.
    pub body: Body,
    /// How they are coded.
    pub encoding: Encoding,
    /// How many parts it took.
    pub segments: Segments,
    /// When it came.
    pub received_at: Timestamp,
}

impl InboundPlan {
    /// Plans to take in a text that came at `at`. The character U+0000, which no handset shows and
    /// no store can keep, is left out of its words.
    pub fn new(text: InboundText, origin: Origin, at: Timestamp, mut ids: Ids) -> Self {
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
            ids,
        }
    }

    /// The word that makes it match a keyword of the account it belongs to, should there be one.
    pub fn word(&self) -> Option<Word> {
        Word::of_text(self.text.body.as_str())
    }

    /// Whose the text is; `None` when no account's.
    pub fn owner(&self, facts: RoutingFacts) -> Option<(AccountId, Mode)> {
        let recent = |(_, at): &(AccountId, Timestamp)| self.at.since(*at) <= SHARED_REACH;
        match (self.origin, facts.holder) {
            (Origin::Answer { .. }, _) => facts.answered,
            (Origin::Network, Some(Holder::Dedicated(account))) => Some((account, Mode::Live)),
            (Origin::Network, Some(Holder::Shared)) => {
                facts.last_texted.filter(recent).map(|(account, _)| (account, Mode::Live))
            }
            (Origin::Network, None) => None,
        }
    }

    /// What an unrouted text is kept as.
    pub fn unrouted(&self) -> Unrouted {
        Unrouted {
            id: self.id,
            from: self.text.from,
            to: self.text.to,
            body: self.text.body.clone(),
            encoding: self.encoding,
            segments: self.segments,
            received_at: self.at,
        }
    }

    /// What the text sets off in the account it belongs to.
    pub fn settle(&mut self, facts: InboundFacts) -> InboundWrites {
        let InboundFacts { account, mode, opted_out, contact, matched } = facts;
        let word = stop_word(self.text.body.as_str(), |_| matched.is_some());
        let (matched, contact) = match matched {
            Some(facts) if word.is_none() => self.match_keyword(mode, opted_out, &facts),
            _ => (None, contact),
        };
        let message = self.message(account, mode, contact.map(|contact| contact.id));
        let mut events =
            vec![self.event(account, EventData::MessageReceived(Box::new(message.clone())))];
        let opt_out = match word {
            Some(StopWord::OptOut) if !opted_out => {
                let opt_out = OptOut {
                    phone: self.text.from,
                    source: OptOutSource::Sms,
                    note: None,
                    created_at: self.at,
                };
                events.push(self.event(account, EventData::OptOutCreated(opt_out.clone())));
                OptOutChange::Add(opt_out)
            }
            Some(StopWord::OptIn) if opted_out => OptOutChange::Remove(self.text.from),
            _ => OptOutChange::Keep,
        };
        let timeline = TimelineEntry { status: MessageStatus::Received, detail: None, at: self.at };
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
    ) -> (Option<Box<Matched>>, Option<Contact>) {
        let InboundText { from, to, body: _, route } = &self.text;
        let (from, to, at, validity) = (*from, *to, self.at, self.validity);
        let occasion = Occasion { from, to, route, mode, opted_out, validity, at };
        let (matched, contact) = reply::settle(&occasion, facts, &mut self.ids);
        (Some(Box::new(matched)), contact)
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
            from: self.text.from,
            body: self.text.body.clone(),
            encoding: self.encoding,
            segments: self.segments,
            credits: Credits::ZERO,
            route: self.text.route.clone(),
            sender: None,
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

fn without_nul(text: InboundText) -> InboundText {
    if text.body.as_str().contains('\0') {
        InboundText { body: Body::new(text.body.as_str().replace('\0', "")), ..text }
    } else {
        text
    }
}

/// What became of an inbound text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// It belongs to an account.
    Routed(Message),
    /// It belongs to an account, and its keyword answered it with the other text.
    Answered(Message, Box<Message>),
    /// It belongs to none.
    Unrouted(Unrouted),
    /// The simulated comeback was fulfilled before; nothing was written.
    AlreadyDone,
}

impl TakenIn {
    /// What became of a text that belongs to an account: what its keyword answered, if it did.
    pub fn of(message: Message, answer: Option<Message>) -> Self {
        match answer {
            Some(answer) => Self::Answered(message, Box::new(answer)),
            None => Self::Routed(message),
        }
    }
}

#[cfg(test)]
mod tests;
