//! What one trigger does to one text, whole: its new state, its timeline, its refund, its events.
//!
//! A store reads the text under its lock and has its plan settled, which calls [`change`]. Only
//! [`Changes`](crate::commit::Changes) can open what comes out, and makes of it everything that the
//! store writes. So a refund can neither be forgotten nor given twice: it exists only beside the
//! step into `failed` or `cancelled`, which a text takes once.

use super::status::{Step, Trigger};
use super::{ErrorCode, Message, MessageStatus, TimelineEntry, Times};
use crate::credits::Credits;
use crate::credits::ledger::{Cause, Draft};
use crate::event::{Event, EventData};
use crate::ids::{AccountId, Ids};
use crate::phone::E164;
use crate::time::Timestamp;

/// Something that happened to a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// What happened.
    pub trigger: Trigger,
    /// Why, when it went wrong.
    pub error: Option<ErrorCode>,
    /// What else is known, for people; goes into the timeline.
    pub detail: Option<String>,
    /// When it happened.
    pub at: Timestamp,
}

impl News {
    /// `trigger` happened at `at`.
    pub fn new(trigger: Trigger, at: Timestamp) -> Self {
        Self { trigger, error: None, detail: None, at }
    }

    /// The text failed before leaving.
    pub fn failed(error: ErrorCode, at: Timestamp) -> Self {
        Self { error: Some(error), ..Self::new(Trigger::Fail, at) }
    }

    /// The network could not deliver it.
    pub fn undelivered(error: ErrorCode, at: Timestamp) -> Self {
        Self { error: Some(error), ..Self::new(Trigger::Undeliver, at) }
    }

    /// The same with a word of explanation.
    #[must_use]
    pub fn with_detail(self, detail: Option<String>) -> Self {
        Self { detail: detail.map(|text| tidy_detail(&text)), ..self }
    }
}

/// How many characters a line of explanation may have.
const MAX_DETAIL: usize = 300;

/// What a network said, as it can be kept: not without end, and without characters that no store
/// can keep.
pub fn tidy_detail(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_DETAIL).collect()
}

/// What one trigger changes about one text. [`Changes`](crate::commit::Changes) makes of it what a
/// store writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a change has to be written by the store"]
pub struct Changed {
    /// What it was before, so that whatever is counted can be told from the difference.
    pub(crate) was: Was,
    /// The text as it is now.
    pub(crate) message: Message,
    /// New lines of its timeline, in order.
    pub(crate) timeline: Vec<TimelineEntry>,
    /// Credits that go back to the account.
    pub(crate) refund: Option<Draft>,
    /// Events to be delivered, in order.
    pub(crate) events: Vec<Event>,
}

/// What a text was before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Was {
    /// Where it stood.
    pub status: MessageStatus,
    /// When each thing had happened to it.
    pub times: Times,
}

/// That an account texted a person from one of the operator's numbers: it leads the person's answer
/// back to the account. Of two, the later counts, in whichever order they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Texted {
    /// The operator's number.
    pub number: E164,
    /// The person texted.
    pub person: E164,
    /// The account.
    pub account: AccountId,
    /// When.
    pub at: Timestamp,
}

impl Changed {
    /// The text as it is now.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The contact that came about when the text left with this change. A test text leaves nowhere.
    pub fn texted(&self) -> Option<Texted> {
        let left = self.timeline.iter().find(|line| line.status == MessageStatus::Sent)?;
        (!self.message.mode.is_test()).then_some(Texted {
            number: self.message.from,
            person: self.message.to,
            account: self.message.account,
            at: left.at,
        })
    }
}

/// Works out what `news` does to `message`; `None` when it changes nothing.
pub fn change(message: &Message, news: &News, ids: &mut Ids) -> Option<Changed> {
    let statuses: &[MessageStatus] = match message.status.after(news.trigger) {
        Step::Stay => return None,
        Step::To(status) => &[status],
        Step::Through(first, second) => &[first, second],
    };
    // Reports of one text can cross on their way here: what is recorded later did not happen
    // earlier, and nothing leaves before it is due.
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

/// Sets what a text carries once it has the status.
fn enter(message: &mut Message, status: MessageStatus, news: &News) {
    message.status = status;
    let times = &mut message.times;
    match status {
        MessageStatus::Sent => times.sent_at = Some(news.at),
        MessageStatus::Delivered => {
            times.delivered_at = Some(news.at);
            // It was delivered after all: what an earlier receipt said no longer holds.
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

/// Whether a text that takes this status gives its credits back.
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

/// The event that a text raises on taking its present status. Cancelling raises none.
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
