//! Messages: the allowed transitions of a status, and the effects of each.

use sms_core::credits::ledger::Cause;
use sms_core::event::{EventData, EventType};
use sms_core::ids::MessageId;
use sms_core::message::{ErrorCode, Message, MessageStatus, TimelineEntry};
use sms_core::time::Timestamp;

use super::commit::Owed;
use super::record::amount;
use super::record::is_open;
use super::{Check, Commit, MessageModel, Model, Moment, read};

/// What a commit must have done to a message.
#[derive(Debug, Clone, Copy)]
pub struct MessageStep<'a> {
    /// The statuses it took, in order.
    pub path: &'a [MessageStatus],
    /// When.
    pub at: Timestamp,
    /// Possible reasons of a failure; the message shows the first.
    pub errors: &'a [ErrorCode],
    /// Further details in its history.
    pub detail: Option<&'a str>,
}

/// The transitions of the specification.
fn is_arrow(from: MessageStatus, to: MessageStatus) -> bool {
    use MessageStatus::{
        Cancelled, Delivered, Failed, Queued, Scheduled, Sending, Sent, Undelivered,
    };
    matches!(
        (from, to),
        (Scheduled | Queued, Sending | Cancelled | Failed)
            | (Sending, Sent | Failed | Cancelled)
            | (Sent, Delivered | Undelivered)
            | (Undelivered, Delivered)
    )
}

fn enter(message: &mut Message, status: MessageStatus, at: Timestamp, why: Option<ErrorCode>) {
    message.status = status;
    match status {
        MessageStatus::Sent => message.times.sent_at = Some(at),
        MessageStatus::Delivered => {
            message.times.delivered_at = Some(at);
            message.times.failed_at = None;
            message.error = None;
        }
        MessageStatus::Undelivered | MessageStatus::Failed => {
            message.times.failed_at = Some(at);
            message.error = why;
        }
        MessageStatus::Cancelled => message.times.cancelled_at = Some(at),
        MessageStatus::Scheduled
        | MessageStatus::Queued
        | MessageStatus::Sending
        | MessageStatus::Received => {}
    }
}

/// The time of the last event of a message.
fn latest(message: &Message) -> Timestamp {
    let times = &message.times;
    let times = [times.sent_at, times.delivered_at, times.failed_at, times.cancelled_at];
    times.into_iter().flatten().fold(message.created_at(), Timestamp::max)
}

/// Checks that later events have later times.
fn check_order(message: &Message) -> Check {
    let times = &message.times;
    let due = message.due_at();
    if let Some(sent_at) = times.sent_at {
        ensure!(sent_at >= due, "{} was due at {due} and left at {sent_at}", message.id);
        for later in [times.delivered_at, times.failed_at].into_iter().flatten() {
            ensure!(later >= sent_at, "{} left at {sent_at} and ended at {later}", message.id);
        }
    }
    for end in [times.failed_at, times.cancelled_at].into_iter().flatten() {
        let made = message.created_at();
        ensure!(end >= made, "{} was made at {made} and ended at {end}", message.id);
    }
    Ok(())
}

fn event_of(status: MessageStatus) -> Option<EventType> {
    match status {
        MessageStatus::Sent => Some(EventType::MessageSent),
        MessageStatus::Delivered => Some(EventType::MessageDelivered),
        MessageStatus::Failed | MessageStatus::Undelivered => Some(EventType::MessageFailed),
        MessageStatus::Received => Some(EventType::MessageReceived),
        MessageStatus::Scheduled
        | MessageStatus::Queued
        | MessageStatus::Sending
        | MessageStatus::Cancelled => None,
    }
}

impl Model {
    /// A message of the model.
    pub fn text(&self, id: MessageId) -> Result<&MessageModel, String> {
        self.messages.get(&id).ok_or_else(|| format!("nobody made {id}"))
    }

    /// Adds a new message to the model and compares it with the store's.
    pub fn message_made(&mut self, moment: &Moment<'_>, text: MessageModel) -> Check {
        self.message_made_with(moment, text, None)
    }

    /// A message whose first line says this was made.
    pub fn message_made_with(
        &mut self,
        moment: &Moment<'_>,
        text: MessageModel,
        detail: Option<String>,
    ) -> Check {
        let id = text.last.id;
        let found = read(moment.books.message_get(text.last.account, id))?;
        let (stored, lines) = found.ok_or_else(|| format!("{id} was made and is not there"))?;
        ensure!(stored == text.last, "{stored:?} is kept for {:?}", text.last);
        let accepted = match text.last.scheduled_at {
            _ if text.last.status == MessageStatus::Received => MessageStatus::Received,
            Some(_) => MessageStatus::Scheduled,
            None => MessageStatus::Queued,
        };
        let sending = text.lease.map(|_| MessageStatus::Sending);
        let line = |(status, detail)| TimelineEntry { status, detail, at: text.last.created_at() };
        let sending = sending.map(|status| (status, None));
        let must: Vec<_> = std::iter::once((accepted, detail)).chain(sending).map(line).collect();
        ensure!(lines == must, "{id} is new and tells {lines:?} of itself");
        if let Some(at) = text.claimable_at() {
            self.queue.insert((at, id));
        }
        if let Some(account) = self.accounts.get_mut(&text.last.account) {
            account.messages.insert(id);
            account.inbox.note(&text.last);
        }
        self.recent_messages.push((text.last.account, id));
        let before = self.messages.insert(id, text);
        ensure!(before.is_none(), "{id} was made twice");
        Ok(())
    }

    /// Changes a message's position in the queue.
    pub fn requeue(&mut self, id: MessageId, change: impl FnOnce(&mut MessageModel)) {
        let Some(text) = self.messages.get_mut(&id) else { return };
        if let Some(at) = text.claimable_at() {
            self.queue.remove(&(at, id));
        }
        change(text);
        if let Some(at) = text.claimable_at() {
            self.queue.insert((at, id));
        }
    }

    /// Applies transitions to a message, and compares it with the store's.
    pub fn message_moved(
        &mut self,
        moment: &Moment<'_>,
        commit: &mut Commit,
        id: MessageId,
        step: MessageStep<'_>,
    ) -> Check {
        let text = self.text(id)?;
        let found = read(moment.books.message_get(text.last.account, id))?;
        let (stored, lines) = found.ok_or_else(|| format!("{id} vanished"))?;
        let before = text.last.status;
        // Reports of one text may cross on their way: none tells of a time before the last one's,
        // and no text left before it was due.
        let leaves = step.path.contains(&MessageStatus::Sent);
        let due = if leaves { text.last.due_at() } else { step.at };
        let step = MessageStep { at: step.at.max(latest(&text.last)).max(due), ..step };
        let why = step.errors.first().copied();
        let mut expected = text.last.clone();
        let mut told = Vec::new();
        for status in step.path {
            let from = expected.status;
            ensure!(is_arrow(from, *status), "{id} went from {from} to {status}");
            enter(&mut expected, *status, step.at, why);
            told.extend(event_of(*status).map(|kind| (kind, expected.clone())));
        }
        check_order(&stored)?;
        ensure!(stored == expected, "{stored:?} is kept, and must be {expected:?}");
        self.check_lines(id, &lines, step)?;
        self.requeue(id, |text| {
            text.last = stored.clone();
            text.lines = lines.len();
            if !is_open(stored.status) {
                text.lease = None;
            }
        });
        commit.touch(stored.account);
        self.settle_credits(&stored, before);
        for (kind, text) in told {
            let (account, data) = (stored.account, EventData::MessageSent(Box::new(text)));
            commit.owe(Owed { account, kind, data, at: step.at });
        }
        if step.path.contains(&MessageStatus::Sent) && !stored.mode.is_test() {
            let last = self.last_contacted.entry((stored.from, stored.to));
            let last = last.or_insert((stored.account, step.at));
            if step.at >= last.1 {
                *last = (stored.account, step.at);
            }
        }
        Ok(())
    }

    /// Checks that a commit did not change a message.
    pub fn message_stayed(&self, moment: &Moment<'_>, id: MessageId) -> Check {
        let Some(text) = self.messages.get(&id) else { return Ok(()) };
        let found = read(moment.books.message_get(text.last.account, id))?;
        let (stored, lines) = found.ok_or_else(|| format!("{id} vanished"))?;
        ensure!(stored == text.last, "{stored:?} is kept, and must still be {:?}", text.last);
        ensure!(lines.len() == text.lines, "{id} has a line for nothing");
        Ok(())
    }

    /// Checks that a message kept its state, and that its history has these lines more.
    pub fn message_told(
        &mut self,
        moment: &Moment<'_>,
        id: MessageId,
        must: &[TimelineEntry],
    ) -> Check {
        let text = self.text(id)?;
        let found = read(moment.books.message_get(text.last.account, id))?;
        let (stored, lines) = found.ok_or_else(|| format!("{id} vanished"))?;
        ensure!(stored == text.last, "{stored:?} is kept, and must still be {:?}", text.last);
        let new = lines.get(text.lines..).unwrap_or_default();
        ensure!(new == must, "{id} stays as it is, and tells {new:?} and not {must:?}");
        let count = lines.len();
        self.requeue(id, |text| text.lines = count);
        Ok(())
    }

    /// Checks that each status has a line, and that the last line has the details or the error.
    fn check_lines(&self, id: MessageId, lines: &[TimelineEntry], step: MessageStep<'_>) -> Check {
        let known = self.text(id)?.lines;
        let new = lines.get(known..).unwrap_or_default();
        let line =
            |status: &MessageStatus| TimelineEntry { status: *status, detail: None, at: step.at };
        let mut must: Vec<TimelineEntry> = step.path.iter().map(line).collect();
        if let Some(last) = must.last_mut() {
            let why = step.errors.first().map(|error| error.message());
            last.detail = step.detail.or(why).map(str::to_owned);
        }
        ensure!(new == must, "{id} tells {new:?} of itself and must tell {must:?}");
        Ok(())
    }

    /// Credits of a message are refunded when it fails before it is sent or is cancelled, and spent
    /// when it is sent.
    fn settle_credits(&mut self, message: &Message, before: MessageStatus) {
        let Some(account) = self.accounts.get_mut(&message.account) else { return };
        if !is_open(before) || is_open(message.status) {
            return;
        }
        let credits = amount(message.credits.get());
        account.reserved -= credits;
        match message.status {
            MessageStatus::Failed | MessageStatus::Cancelled if credits > 0 => {
                let cause = Cause::Refund {
                    message: message.id,
                    batch: message.batch_id,
                    campaign: message.campaign_id,
                };
                account.book_entry(cause, credits);
                self.tally.refunds += 1;
            }
            MessageStatus::Failed | MessageStatus::Cancelled => {}
            _ => account.spent += credits,
        }
    }
}
