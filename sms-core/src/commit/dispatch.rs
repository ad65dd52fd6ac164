//! Claims and outcomes, settled message by message.

use std::collections::BTreeMap;

use super::change::{ChangeWrites, Changes};
use crate::change::Changed;
use crate::dispatch::held::HeldMessage;
use crate::dispatch::outcome::{FollowUp, OutcomePlan, OutcomeRecorded, OutcomeVerdict};
use crate::dispatch::queue::QueueEntry;
use crate::dispatch::sender::NewSender;
use crate::dispatch::turns::TurnsTaken;
use crate::dispatch::{ClaimFacts, ClaimPlan, ClaimVerdict, Claimed};
use crate::event::Event;
use crate::ids::MessageId;
use crate::lane::RouteLane;
use crate::message::record::Message;
use crate::phone::E164;
use crate::receipt::report::{Beside, EarlyReports, NetworkId, SentSegment};

/// What a commit writes for a claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "what is claimed has to be written by the store"]
pub struct ClaimWrites {
    /// Places in the queue, written over the earlier ones.
    pub queue: Vec<QueueEntry>,
    /// Messages that get another number and route. Also changes the route of their places in the
    /// queue.
    pub senders: Vec<NewSender>,
    /// What the claim changes about messages.
    pub changes: ChangeWrites,
}

/// Collects a claim for one commit: settles one due message after another.
#[derive(Debug, Clone)]
#[must_use = "what is claimed has to be written by the store"]
pub struct Claim {
    plan: ClaimPlan,
    claimed: Claimed,
    queue: Vec<QueueEntry>,
    senders: Vec<NewSender>,
    dropped: Vec<MessageId>,
    changes: Changes,
    events: Vec<Event>,
    turns: TurnsTaken,
}

impl Claim {
    /// A claim without messages yet.
    pub fn new(plan: ClaimPlan) -> Self {
        Self {
            plan,
            claimed: Claimed::default(),
            queue: Vec::new(),
            senders: Vec::new(),
            dropped: Vec::new(),
            changes: Changes::default(),
            events: Vec::new(),
            turns: TurnsTaken::default(),
        }
    }

    /// Settles one message that the store found under its lock.
    pub fn settle(&mut self, facts: ClaimFacts<'_>) {
        let (message, before) = (facts.entry.message, facts.message);
        let due_at = facts.entry.claimable_at;
        let lane = RouteLane::new(before.route.clone(), facts.entry.lane);
        self.turns.note(lane, facts.entry.account);
        match self.plan.settle(facts) {
            ClaimVerdict::Take { changed, text, entry, new_sender, note } => {
                self.queue.push(entry);
                self.claimed.messages.push(text);
                let moved = new_sender.as_ref().map(|sender| sender.put_on(before));
                let message = moved.unwrap_or_else(|| before.clone());
                if let Some(line) = note {
                    self.changes.note(message.clone(), line);
                }
                let message = changed.as_ref().map_or(message, |it| it.message().clone());
                self.claimed.held.push(HeldMessage { message, entry, due_at });
                self.senders.extend(new_sender.map(|sender| *sender));
                if let Some(changed) = changed {
                    self.change(*changed);
                }
            }
            ClaimVerdict::Fail(changed) => {
                self.claimed.failed += 1;
                self.change(*changed);
            }
            ClaimVerdict::GiveUp(changed) => {
                self.claimed.given_up += 1;
                self.change(*changed);
            }
            ClaimVerdict::Cancel(changed) => {
                self.claimed.cancelled += 1;
                self.change(*changed);
            }
            ClaimVerdict::Drop => self.dropped.push(message),
        }
    }

    fn change(&mut self, changed: Changed) {
        self.changes.add_silently(changed, &mut self.events);
    }

    /// What the store writes, and what the worker receives once that is committed.
    pub fn finish(self) -> (ClaimWrites, Claimed) {
        let Self { plan, mut claimed, queue, senders, dropped, mut changes, events, turns } = self;
        claimed.turns = turns.next(&plan.turns, plan.limit, |lane| plan.wanted.concerns(lane));
        changes.raise(events, &plan.ids);
        let mut changes = changes.finish();
        changes.unqueued.extend(dropped);
        (ClaimWrites { queue, senders, changes }, claimed)
    }
}

/// What a commit writes for outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "what is recorded has to be written by the store"]
pub struct OutcomeWrites {
    /// Places in the queue, written over the earlier ones, each message once.
    pub queue: Vec<QueueEntry>,
    /// What simulated networks bring back later.
    pub follow_ups: Vec<FollowUp>,
    /// Segments that networks accepted, each id once, in the order of the ids. They are written
    /// over early reports. A segment of another message that once had the same id is kept
    /// [beside](NetworkId::beside) it, under its recipient, and replaces what is there.
    pub parts: Vec<SentSegment>,
    /// Early reports, written or removed. None is written over a segment.
    pub beside: Beside,
    /// What the outcomes change about messages.
    pub changes: ChangeWrites,
}

/// Collects outcomes for one commit: settles one after another.
#[derive(Debug, Clone)]
#[must_use = "what is recorded has to be written by the store"]
pub struct Outcomes {
    /// Reports that arrived before their segments and that no outcome has used yet.
    early: EarlyReports,
    queue: BTreeMap<MessageId, QueueEntry>,
    follow_ups: Vec<FollowUp>,
    /// By the network's id, with the recipients.
    parts: BTreeMap<NetworkId, (SentSegment, E164)>,
    beside: Beside,
    changes: Changes,
    recorded: Vec<OutcomeRecorded>,
}

impl Outcomes {
    /// No outcomes yet. `early` holds the reports that arrived earlier for segments of any of them.
    pub fn new(early: EarlyReports) -> Self {
        Self {
            early,
            queue: BTreeMap::new(),
            follow_ups: Vec::new(),
            parts: BTreeMap::new(),
            beside: Beside::new(),
            changes: Changes::default(),
            recorded: Vec::new(),
        }
    }

    /// Settles one outcome against the message and its place in the queue, which the store found
    /// under its lock, as the earlier outcomes leave them.
    pub fn settle(&mut self, plan: &mut OutcomePlan, found: Option<(&Message, &QueueEntry)>) {
        let found = found.map(|(message, entry)| {
            let message = self.changes.latest(message.id).unwrap_or(message);
            (message, self.queue.get(&message.id).unwrap_or(entry))
        });
        let verdict = plan.settle(found, &self.early);
        let recorded = match verdict {
            OutcomeVerdict::Done { changes, follow_ups, parts, beside } => {
                self.queue.remove(&plan.message);
                let last = changes.last().map(|changed| &changed.message);
                let (status, to) = (last.map(|it| it.status), last.map(|it| it.to));
                self.changes.add(changes, &plan.ids);
                self.follow_ups.extend(follow_ups);
                for part in parts {
                    self.early.remove(&part.id);
                    if let Some(to) = to {
                        self.put(part, to);
                    }
                }
                for (name, early) in &beside {
                    match early {
                        Some(early) => drop(self.early.insert(name.clone(), early.clone())),
                        None => drop(self.early.remove(name)),
                    }
                }
                self.beside.extend(beside);
                status.map_or(OutcomeRecorded::LeaseLost, OutcomeRecorded::Done)
            }
            OutcomeVerdict::Retry { entry, note } => {
                if let Some(((message, _), line)) = found.zip(note) {
                    let message = message.clone();
                    self.changes.note(message, line);
                }
                self.queue.insert(plan.message, entry);
                OutcomeRecorded::Retry
            }
            OutcomeVerdict::LeaseLost => OutcomeRecorded::LeaseLost,
        };
        self.recorded.push(recorded);
    }

    /// Adds a segment. One of an earlier outcome with the same id moves beside it.
    fn put(&mut self, part: SentSegment, to: E164) {
        let id = part.id.clone();
        let Some((former, its)) = self.parts.insert(id.clone(), (part, to)) else { return };
        if its != to {
            let name = id.beside(its);
            self.parts.insert(name.clone(), (SentSegment { id: name, ..former }, its));
        }
    }

    /// What the store writes, and what it answers once that is committed, in the order settled.
    pub fn finish(self) -> (OutcomeWrites, Vec<OutcomeRecorded>) {
        let Self { early: _, queue, follow_ups, parts, beside, changes, recorded } = self;
        let queue = queue.into_values().collect();
        let parts = parts.into_values().map(|(part, _)| part).collect();
        (OutcomeWrites { queue, follow_ups, parts, beside, changes: changes.finish() }, recorded)
    }
}

#[cfg(test)]
mod tests;
