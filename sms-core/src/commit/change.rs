//! Changes of messages, collected from any number of verdicts.

use std::collections::BTreeMap;

use crate::campaign::counts::{CountChanges, CountDelta};
use crate::change::{Changed, Contacted};
use crate::credits::ledger::Draft;
use crate::event::{Event, Raised};
use crate::ids::{AccountId, Ids, MessageId};
use crate::message::record::{Message, TimelineEntry};
use crate::message::status::MessageStatus;
use crate::phone::E164;
use crate::receipt::report::{NetworkId, ReportPlan, ReportVerdict, Reported, SentSegment};
use crate::receipt::{ReceiptPlan, Recorded};
use crate::statistics::Tally;

/// What a commit writes because messages change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "what is gathered has to be written by the store"]
pub struct ChangeWrites {
    /// Messages that changed, by id, each once.
    pub messages: Vec<MessageWrite>,
    /// Messages that leave the queue if they are in it.
    pub unqueued: Vec<MessageId>,
    /// Who was contacted, each pair of numbers once. If the store has a later contact of the pair,
    /// it keeps that one.
    pub contacted: Vec<Contacted>,
    /// Refunds, [posted](super::LedgerWrites::post) against the balance of each account with the
    /// account locked. They always fit.
    pub refunds: BTreeMap<AccountId, Vec<Draft>>,
    /// The change of each campaign's counts, each campaign once.
    pub counts: Vec<CountDelta>,
    /// What the messages count in statistics. Refunds count in their [`super::LedgerWrites`].
    pub tally: Tally,
    /// Events to deliver, in order.
    pub raised: Vec<Raised>,
}

/// A message to write over its earlier state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageWrite {
    /// The message after the change. Only its status, error and times can differ, and where a claim
    /// lists a [new sender](super::ClaimWrites::senders), its number and route.
    pub message: Message,
    /// New lines of its timeline, in order.
    pub lines: Vec<TimelineEntry>,
}

/// Collects changes for one commit, in order. A later change of a message builds on an earlier one.
#[derive(Debug, Clone, Default)]
#[must_use = "what is gathered has to be written by the store"]
pub struct Changes {
    messages: BTreeMap<MessageId, MessageWrite>,
    contacted: BTreeMap<(E164, E164), Contacted>,
    refunds: BTreeMap<AccountId, Vec<Draft>>,
    counts: CountChanges,
    tally: Tally,
    raised: Vec<Raised>,
}

impl Changes {
    /// Adds the changes of one plan. The plan's remaining ids name the deliveries.
    pub fn add(&mut self, changes: impl IntoIterator<Item = Changed>, ids: &Ids) {
        let mut events = Vec::new();
        for changed in changes {
            self.add_silently(changed, &mut events);
        }
        self.raise(events, ids);
    }

    /// Adds one change, and appends its events to those that are still to be [raised](Self::raise).
    pub(super) fn add_silently(&mut self, changed: Changed, events: &mut Vec<Event>) {
        if let Some(texted) = changed.texted() {
            let last = self.contacted.entry((texted.number, texted.person)).or_insert(texted);
            if texted.at >= last.at {
                *last = texted;
            }
        }
        self.counts.add(&changed);
        let Changed { was, message, timeline, refund, events: more } = changed;
        self.tally.text(&was.times, &message);
        if let Some(draft) = refund {
            self.refunds.entry(message.account).or_default().push(draft);
        }
        events.extend(more);
        self.put(message, timeline);
    }

    /// Raises the events of one plan.
    pub(super) fn raise(&mut self, events: Vec<Event>, ids: &Ids) {
        if !events.is_empty() {
            self.raised.push(Raised { events, ids: ids.clone() });
        }
    }

    /// Adds a line to a message's timeline and changes nothing else.
    pub(super) fn note(&mut self, message: Message, line: TimelineEntry) {
        self.put(message, vec![line]);
    }

    fn put(&mut self, message: Message, lines: Vec<TimelineEntry>) {
        match self.messages.get_mut(&message.id) {
            Some(write) => {
                write.message = message;
                write.lines.extend(lines);
            }
            None => drop(self.messages.insert(message.id, MessageWrite { message, lines })),
        }
    }

    /// The message as the collected changes leave it; `None` if they do not change it.
    pub(super) fn latest(&self, id: MessageId) -> Option<&Message> {
        self.messages.get(&id).map(|write| &write.message)
    }

    /// Settles a receipt against the message that the store found under its lock, as the collected
    /// changes leave it.
    pub fn receipt(&mut self, plan: &mut ReceiptPlan, found: Option<&Message>) -> Recorded {
        let Some(found) = found else { return Recorded::NoSuchMessage };
        let message = self.latest(found.id).unwrap_or(found);
        let Some(changed) = plan.settle(message) else {
            return Recorded::Unchanged(message.clone());
        };
        let message = changed.message.clone();
        self.add([changed], &plan.ids);
        Recorded::Changed(message)
    }

    /// Settles a report on the segment under `of` against its message and all recorded segments,
    /// which the store found under its lock. The store keeps the report with its segment unless the
    /// answer is [`Reported::Repeat`].
    pub fn report(
        &mut self,
        plan: &mut ReportPlan,
        of: &NetworkId,
        found: &Message,
        parts: &[SentSegment],
    ) -> Reported {
        match plan.settle(of, self.latest(found.id).unwrap_or(found), parts) {
            ReportVerdict::Repeat => Reported::Repeat,
            ReportVerdict::Keep(_) => Reported::Kept,
            ReportVerdict::Change(_, changed) => {
                let message = changed.message.clone();
                self.add([*changed], &plan.ids);
                Reported::Changed(message)
            }
        }
    }

    /// Everything that was collected.
    pub fn finish(self) -> ChangeWrites {
        let Self { messages, contacted, refunds, counts, tally, raised } = self;
        let is_done =
            |write: &&MessageWrite| !MessageStatus::CLAIMABLE.contains(&write.message.status);
        let done = messages.values().filter(is_done).map(|write| write.message.id);
        ChangeWrites {
            unqueued: done.collect(),
            messages: messages.into_values().collect(),
            contacted: contacted.into_values().collect(),
            refunds,
            counts: counts.into_deltas(),
            tally,
            raised,
        }
    }
}

#[cfg(test)]
mod tests;
