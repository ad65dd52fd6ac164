//! The effects of one trigger on one message: its new state, timeline, refund and events.
//!
//! A store reads the message under its lock and settles its plan, which calls [`change`]. Only
//! [`Changes`](crate::commit::Changes) can open the result, and it computes everything that the
//! store writes. So a refund can neither be forgotten nor given twice: it exists only together with
//! the step into `failed` or `cancelled`, which a message takes once.

use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft};
use crate::event::{Event, EventData};
use crate::ids::{AccountId, Ids};
use crate::message::error_code::ErrorCode;
use crate::message::record::{Message, TimelineEntry, Times};
use crate::message::status::{MessageStatus, Step, Trigger};
use crate::phone::E164;
use crate::time::Timestamp;

pub mod cancel;
pub mod store;

/// Something that happened to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What happened, as the table of message states names it.
    pub trigger: Trigger,
    /// The cause of a failure; `None` for a trigger that is no failure.
    pub error: Option<ErrorCode>,
    /// An explanation for people, which goes into the timeline; `None` if there is none.
    pub detail: Option<String>,
    /// When it happened; becomes the time of the timeline entry and of the message's new state.
    pub at: Timestamp,
}

impl News {
    /// `trigger` happened at `at`, without an error or explanation.
    pub fn new(trigger: Trigger, at: Timestamp) -> Self {
        Self { trigger, error: None, detail: None, at }
    }

    /// The message failed before it was submitted.
    pub fn failed(error: ErrorCode, at: Timestamp) -> Self {
        Self { error: Some(error), ..Self::new(Trigger::Fail, at) }
    }

    /// The network could not deliver the message.
    pub fn undelivered(error: ErrorCode, at: Timestamp) -> Self {
        Self { error: Some(error), ..Self::new(Trigger::Undeliver, at) }
    }

    /// The same news with an explanation.
    #[must_use]
    pub(crate) fn with_detail(self, detail: Option<String>) -> Self {
        Self { detail: detail.map(|text| tidy_detail(&text)), ..self }
    }
}

/// The most characters that an explanation may have.
const MAX_DETAIL: usize = 300;

/// A network's explanation in a form that every store can keep: at most 300 characters, without
/// control characters.
pub(crate) fn tidy_detail(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_DETAIL).collect()
}

/// What one trigger changes about one message. [`Changes`](crate::commit::Changes) turns it into
/// what a store writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a change has to be written by the store"]
pub struct Changed {
    /// The message before the change, from which counts are updated.
    pub(crate) was: Was,
    /// The message after the change.
    pub(crate) message: Message,
    /// New lines of its timeline, in order.
    pub(crate) timeline: Vec<TimelineEntry>,
    /// Credits that go back to the account; `None` if there is no refund.
    pub(crate) refund: Option<Draft>,
    /// Events to deliver, in order.
    pub(crate) events: Vec<Event>,
}

/// What a message was before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Was {
    /// Its status before the change.
    pub status: MessageStatus,
    /// Its times before the change.
    pub times: Times,
}

/// Records that an account sent a message to a person from one of the operator's numbers, so that
/// the person's answer reaches this account. The later of two such records counts, whichever is
/// written first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contacted {
    /// The operator's number that the message was sent from.
    pub number: E164,
    /// The recipient, who may answer to that number.
    pub person: E164,
    /// The account that the answer belongs to.
    pub account: AccountId,
    /// When the message was sent.
    pub at: Timestamp,
}

impl Changed {
    /// The message after the change.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The contact that this change made by sending the message; `None` if it sent nothing. A test
    /// message makes no contact.
    pub fn texted(&self) -> Option<Contacted> {
        let left = self.timeline.iter().find(|line| line.status == MessageStatus::Sent)?;
        (!self.message.mode.is_test()).then_some(Contacted {
            number: self.message.from,
            person: self.message.to,
            account: self.message.account,
            at: left.at,
        })
    }
}

/// Computes what `news` does to `message`; `None` if it changes nothing.
pub fn change(message: &Message, news: &News, ids: &mut Ids) -> Option<Changed> {
    let statuses: &[MessageStatus] = match message.status.after(news.trigger) {
        Step::Stay => return None,
        Step::To(status) => &[status],
        Step::Through(first, second) => &[first, second],
    };
    // Reports on one message can arrive out of order. What is recorded later did not happen
    // earlier, and no message is sent before it is due.
    let earliest = match statuses {
        [MessageStatus::Sent, ..] => message.times.latest().max(message.due_at()),
        _ => message.times.latest(),
    };
    let news = &News { at: news.at.max(earliest), ..news.clone() };
    let mut changed = Changed {
        was: Was { status: message.status, times: message.times },
        message: message.clone(),
        timeline: Vec::new(),
        refund: None,
        events: Vec::new(),
    };
    for (position, status) in statuses.iter().enumerate() {
        let is_last = position + 1 == statuses.len();
        enter(&mut changed.message, *status, news);
        changed.timeline.push(TimelineEntry {
            status: *status,
            detail: if is_last { detail(news) } else { None },
            at: news.at,
        });
        if refunds(*status) && message.credits > Credits::ZERO {
            changed.refund = Some(refund(message, news.at, ids));
        }
        if let Some(data) = event(&changed.message) {
            changed.events.push(Event::new(message.account, data, news.at, ids));
        }
    }
    Some(changed)
}

/// Sets the fields that a message has in this status.
fn enter(message: &mut Message, status: MessageStatus, news: &News) {
    message.status = status;
    let times = &mut message.times;
    match status {
        MessageStatus::Sent => times.sent_at = Some(news.at),
        MessageStatus::Delivered => {
            times.delivered_at = Some(news.at);
            // An earlier receipt said that it failed, but it was delivered after all.
            times.failed_at = None;
            message.error = None;
        }
        MessageStatus::Undelivered | MessageStatus::Failed => {
            times.failed_at = Some(news.at);
            message.error = Some(news.error.unwrap_or(ErrorCode::NetworkError));
        }
        MessageStatus::Cancelled => times.cancelled_at = Some(news.at),
        MessageStatus::Received => times.received_at = Some(news.at),
        MessageStatus::Scheduled | MessageStatus::Queued | MessageStatus::Sending => {}
    }
}

/// Whether a message that enters this status is refunded.
fn refunds(status: MessageStatus) -> bool {
    matches!(status, MessageStatus::Failed | MessageStatus::Cancelled)
}

fn refund(message: &Message, at: Timestamp, ids: &mut Ids) -> Draft {
    let cause = Cause::Refund {
        message: message.id,
        batch: message.batch_id,
        campaign: message.campaign_id,
    };
    Draft { id: ids.next(), cause, amount: message.credits.gain(), note: None, at }
}

/// The event that a message raises when it enters its present status. Cancelling raises none.
fn event(message: &Message) -> Option<EventData> {
    let data: fn(Box<Message>) -> EventData = match message.status {
        MessageStatus::Sent => EventData::MessageSent,
        MessageStatus::Delivered => EventData::MessageDelivered,
        MessageStatus::Failed | MessageStatus::Undelivered => EventData::MessageFailed,
        MessageStatus::Received => EventData::MessageReceived,
        MessageStatus::Scheduled
        | MessageStatus::Queued
        | MessageStatus::Sending
        | MessageStatus::Cancelled => return None,
    };
    Some(data(Box::new(message.clone())))
}

fn detail(news: &News) -> Option<String> {
    news.detail.clone().or_else(|| news.error.map(|error| error.message().to_owned()))
}

#[cfg(test)]
mod tests;
