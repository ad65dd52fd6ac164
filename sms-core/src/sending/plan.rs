//! Everything that an accepted send writes, computed without a lock and in portions.
//!
//! Quotes and sends both go through one [`Planner`], so a quote cannot differ from the charge. Its
//! caller adds recipients page by page and calls [`Planner::next_portion`] until the page is done.
//! Each call does a bounded amount of work, so the caller can let other work run in between, or
//! make the calls on a separate thread. [`super::writer`] writes the messages themselves, for
//! campaigns too.

use std::collections::VecDeque;

use super::gaps::FieldGaps;
use super::idempotency::IdempotencyClaim;
use super::recipients::{Candidate, Recipients, Rejection, RejectionReason};
use super::request::SendRequest;
use super::writer::{EACH, MessageWriter, NewMessages, Origin, Timing};
use crate::credits::Credits;
use crate::dispatch::held::HeldMessage;
use crate::dispatch::queue::Lease;
use crate::idempotency::fingerprint::Fingerprint;
use crate::ids::{AccountId, BatchId, Ids, LedgerEntryId, ListId};
use crate::lane::{Lane, Reach};
use crate::link::Link;
use crate::message::record::Message;
use crate::message::status::MessageStatus;
use crate::mode::Mode;
use crate::time::Timestamp;

pub use super::facts::{Codes, PlanFacts, Shortening};

/// Everything that an accepted send writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct SendPlan {
    /// The account that sends.
    pub account: AccountId,
    /// The kind of key. In test mode nothing is charged and nothing reaches a network.
    pub mode: Mode,
    /// The id shared by the messages.
    pub batch: BatchId,
    /// The idempotency key under which the send is remembered; `None` without a key.
    pub idempotency: Option<IdempotencyClaim>,
    /// Whether the plan holds its messages.
    pub extent: Extent,
    /// The messages, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
    /// The recipients that receive no message, each with the reason.
    pub rejected: Vec<Rejection>,
    /// What the merge fields of the messages could not show.
    pub gaps: FieldGaps,
    /// The price of a live send of all messages.
    pub price: Credits,
    /// The charge of this send: the price, or zero for a test.
    pub charge: Credits,
    /// The id of the ledger entry of the charge.
    pub entry_id: LedgerEntryId,
    /// The lane that the messages wait in.
    pub lane: Lane,
    /// From when workers may claim the messages.
    pub claimable_at: Timestamp,
    /// When the messages expire.
    pub expires_at: Timestamp,
    /// When the send was planned.
    pub at: Timestamp,
    /// The lease of the worker that holds the messages from the start; `None` if none does. They
    /// are `sending` then, and the answer still says `queued`.
    pub held: Option<Lease>,
}

/// What a plan holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All messages and their links.
    Whole,
    /// Only the price of the messages, because the account could not pay for them when planning
    /// began. Such a plan is never accepted: if the account can pay now, the plan is stale.
    PriceOnly,
}

impl SendPlan {
    fn timing(&self) -> Timing {
        let Self { at, claimable_at, expires_at, lane, held, .. } = *self;
        Timing { at, claimable_at, expires_at, lane, held }
    }

    /// Whether the messages are due as soon as they are accepted, so that a worker may hold them
    /// from the start.
    pub fn is_due(&self) -> bool {
        self.claimable_at <= self.at
    }

    /// Has a worker hold the messages from the start, under this lease. They have to be
    /// [due](Self::is_due).
    pub fn hold(&mut self, lease: Lease) {
        self.held = Some(lease);
        for message in &mut self.messages {
            message.status = MessageStatus::Sending;
        }
    }

    /// The messages as the worker knows that holds them from the start, once they are accepted.
    /// None if no worker does.
    pub fn held_messages(&self) -> Vec<HeldMessage> {
        if self.held.is_none() {
            return Vec::new();
        }
        let timing = self.timing();
        let held = |message: &Message| HeldMessage {
            entry: timing.queue_entry(message),
            message: message.clone(),
            due_at: self.claimable_at,
        };
        self.messages.iter().map(held).collect()
    }
}

/// What a commit writes for the messages of plans, if they are accepted.
pub fn new_messages<'a>(plans: impl IntoIterator<Item = &'a SendPlan>) -> NewMessages<'a> {
    let mut new = NewMessages::default();
    for plan in plans {
        new.add(&plan.timing(), &plan.messages, &plan.links);
    }
    new
}

/// The most recipients of a portion.
const MOST_RECIPIENTS: usize = 256;

/// About how many characters are rendered in a portion: less than a millisecond's work.
const PORTION: usize = 64_000;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is: call again.
    More,
    /// There is not: the portion just made was the last.
    Done,
}

/// How many messages are freed in a portion. Each has at most some dozens of links.
const FREED: usize = 64;

/// What the recipients of a quote or a send receive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Planned {
    /// The messages, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
    /// The recipients that receive no message, each with the reason.
    pub rejected: Vec<Rejection>,
}

/// Plans a send in portions.
#[derive(Debug)]
pub struct Planner {
    account: AccountId,
    mode: Mode,
    batch: BatchId,
    idempotency: Option<IdempotencyClaim>,
    timing: Timing,
    priority: Option<Lane>,
    to_list: Option<ListId>,
    writer: MessageWriter,
    ids: Ids,
    waiting: VecDeque<Candidate>,
    planned: Planned,
    price: Credits,
    /// What the account can pay; above it, messages are not kept.
    means: Credits,
    extent: Extent,
}

impl Planner {
    /// A planner for a request that passed its checks, without recipients yet.
    pub fn new(request: &SendRequest, facts: &PlanFacts<'_>, mut ids: Ids) -> Self {
        let batch = ids.next();
        let scheduled_at = request.scheduled_at(facts.at);
        let origin = Origin {
            batch,
            campaign: None,
            client_ref: request.client_ref.as_deref(),
            append_opt_out: request.append_opt_out,
            track_links: request.track_links,
            scheduled_at,
        };
        let key = request.idempotency_key.clone();
        let fingerprint = |key| {
            let fingerprint = Fingerprint::of(request, facts.mode);
            IdempotencyClaim { key, fingerprint }
        };
        Self {
            account: facts.account,
            mode: facts.mode,
            batch,
            idempotency: key.map(fingerprint),
            timing: Timing::of(facts, scheduled_at, Lane::Normal),
            priority: request.priority,
            to_list: request.list_id,
            writer: MessageWriter::new(origin, facts),
            ids,
            waiting: VecDeque::new(),
            planned: Planned::default(),
            price: Credits::ZERO,
            means: Credits::MAX,
            extent: Extent::Whole,
        }
    }

    /// Keeps the messages only while `means` pay for a live send of them. From then on the plan
    /// has only their price, which is what a refusal names.
    #[must_use]
    pub fn within(self, means: Credits) -> Self {
        Self { means, ..self }
    }

    /// Adds the next page of recipients.
    pub fn add(&mut self, page: Vec<Candidate>) {
        if self.waiting.is_empty() {
            self.waiting = page.into();
        } else {
            self.waiting.extend(page);
        }
    }

    /// Plans the messages of the next recipients: a bounded amount of work.
    pub fn next_portion(&mut self) -> Progress {
        let portion = PORTION / (EACH + self.writer.most_characters());
        for _ in 0..portion.clamp(1, MOST_RECIPIENTS) {
            match self.waiting.pop_front() {
                Some(candidate) => self.plan(candidate),
                None => break,
            }
        }
        let is_done = self.waiting.is_empty() && self.free() == Progress::Done;
        if is_done { Progress::Done } else { Progress::More }
    }

    /// Keeps no messages, and frees some of those that it has.
    pub fn next_freed(&mut self) -> Progress {
        self.extent = Extent::PriceOnly;
        self.free()
    }

    fn free(&mut self) -> Progress {
        let Planned { messages, links, rejected: _ } = &mut self.planned;
        if self.extent == Extent::Whole || (messages.is_empty() && links.is_empty()) {
            return Progress::Done;
        }
        let each = links.len().div_ceil(messages.len().max(1));
        messages.truncate(messages.len().saturating_sub(FREED));
        links.truncate(links.len().saturating_sub(FREED * each));
        Progress::More
    }

    fn plan(&mut self, candidate: Candidate) {
        let (number, contact) = match candidate {
            Candidate::Rejected(rejection) => return self.planned.rejected.push(rejection),
            Candidate::Number(number) => (number, None),
            Candidate::Contact(contact) => (contact.phone, Some(contact)),
        };
        let links = self.planned.links.len();
        let written = if contact.as_ref().is_some_and(|contact| contact.opted_out) {
            Err(RejectionReason::OptedOut)
        } else {
            let contact = contact.as_deref();
            self.writer.write(number, contact, &mut self.ids, &mut self.planned.links)
        };
        match written {
            Ok(message) => {
                // At most 1,000 numbers, the contacts of one request and the largest list, with 11
                // segments each: far below the maximum of credits.
                let more = Credits::for_segments(message.segments);
                self.price = self.price.checked_add(more).unwrap_or(Credits::MAX);
                if self.charge() > self.means {
                    self.extent = Extent::PriceOnly;
                }
                if self.extent == Extent::Whole {
                    self.planned.messages.push(message);
                } else {
                    self.planned.links.truncate(links);
                }
            }
            Err(reason) => self.planned.rejected.push(Rejection::of(number, reason)),
        }
    }

    /// Takes what was planned since the last call, for a caller that keeps no messages.
    pub fn take_planned(&mut self) -> Planned {
        std::mem::take(&mut self.planned)
    }

    /// What was planned and not taken.
    pub fn planned(&self) -> &Planned {
        &self.planned
    }

    /// The price of all messages so far, for a live send.
    pub fn price(&self) -> Credits {
        self.price
    }

    /// What the merge fields of all messages so far could not show.
    pub fn gaps(&self) -> FieldGaps {
        self.writer.gaps()
    }

    /// What a send of all messages so far takes from the balance.
    fn charge(&self) -> Credits {
        if self.mode.is_test() { Credits::ZERO } else { self.price }
    }

    /// About how much memory all messages so far take in a send, in bytes.
    pub fn bytes(&self) -> usize {
        self.writer.bytes()
    }

    /// The plan of a send of everything that was planned and not taken.
    pub fn finish(self) -> SendPlan {
        self.finish_with_ids().0
    }

    fn finish_with_ids(mut self) -> (SendPlan, Ids) {
        let (charge, gaps) = (self.charge(), self.gaps());
        let Planned { messages, links, rejected } = self.planned;
        let Timing { at, claimable_at, expires_at, lane: _, held } = self.timing;
        let reach = match self.to_list {
            Some(_) => Reach::List,
            None => Reach::Recipients(messages.len()),
        };
        let plan = SendPlan {
            account: self.account,
            mode: self.mode,
            batch: self.batch,
            idempotency: self.idempotency,
            extent: self.extent,
            messages,
            links,
            rejected,
            gaps,
            price: self.price,
            charge,
            entry_id: self.ids.next(),
            lane: Lane::of_send(self.priority, self.mode, reach),
            claimable_at,
            expires_at,
            at,
            held,
        };
        (plan, self.ids)
    }
}

/// Plans a send to the recipients of a request that passed its checks, all at once.
pub fn plan(
    request: &SendRequest,
    mut recipients: Recipients,
    facts: PlanFacts<'_>,
    ids: &mut Ids,
) -> SendPlan {
    let mut planner = Planner::new(request, &facts, ids.clone());
    planner.add(recipients.take_page());
    while planner.next_portion() == Progress::More {}
    let (plan, rest) = planner.finish_with_ids();
    *ids = rest;
    plan
}

#[cfg(test)]
mod tests;
