//! The outcome of a hand-over: what the worker reports, and what that changes.

use std::iter;
use std::sync::Arc;
use std::time::Duration;

use super::held::HeldMessage;
use super::queue::{LeaseToken, Left, QueueEntry};
use crate::change::{Changed, News, change, tidy_detail};
use crate::hand_over::{Comeback, HandOver, Simulated};
use crate::ids::{FollowUpId, Ids, MessageId};
use crate::message::error_code::ErrorCode;
use crate::message::record::{Message, TimelineEntry};
use crate::message::status::{MessageStatus, Trigger};
use crate::phone::E164;
use crate::receipt::report::{
    self, Beside, CLOCKS_DIFFER, EarlyReport, EarlyReports, NetworkId, SentSegment,
};
use crate::route_name::RouteName;
use crate::time::Timestamp;

/// Less than the promised 5 s, which leaves a worker time to poll again.
const FIRST_RETRY: Duration = Duration::from_secs(4);
const LONGEST_RETRY: Duration = Duration::from_mins(5);
/// How often a message is retried after a hand-over without an answer. The recipient may receive it
/// each time.
pub const AGAIN_UNANSWERED: u32 = 3;
/// How many refused hand-overs the timeline shows; a message throttled all day would fill it.
const RETRIES_TOLD: u32 = 5;

/// The outcome of one hand-over, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomePlan {
    /// The message that was handed over.
    pub message: MessageId,
    /// The lease under which it was handed over.
    pub token: LeaseToken,
    /// When the worker claimed it for this hand-over. No report on a segment submitted by this
    /// hand-over is older.
    pub claimed_at: Timestamp,
    /// What the route answered, or [`HandOver::GivenBack`] if it was not handed over.
    pub result: HandOver,
    /// When the route answered.
    pub at: Timestamp,
    /// The message as the worker knows it; `None` for one that an earlier run of the program held.
    ///
    /// A store may settle the outcome against this instead of what it reads, if it writes the
    /// verdict only where the message is still `sending`, still carries [`token`](Self::token), and
    /// no report came earlier for [`parts`](Self::parts). Whatever differs, it reads.
    pub held: Option<Arc<HeldMessage>>,
    /// Ids for the refund and the events.
    pub ids: Ids,
}

/// The verdict on one outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict has to be written by the store"]
pub enum OutcomeVerdict {
    /// The message was sent, may have been sent, or failed; it leaves the queue.
    Done {
        /// The changes of the message, in order: the hand-over, then the reports that arrived
        /// before it was recorded.
        changes: Vec<Changed>,
        /// What a simulated network brings back later.
        follow_ups: Vec<FollowUp>,
        /// Segments that the network accepted, kept so that its reports find them. They replace
        /// early reports, and segments of other messages that once had the same ids.
        parts: Vec<SentSegment>,
        /// What becomes of early reports beside the ids: `None` of one that counts for a segment,
        /// and those for other recipients, which give the ids up to the segments.
        beside: Beside,
    },
    /// It stays in the queue and is retried.
    Retry {
        /// Its place in the queue from now on.
        entry: QueueEntry,
        /// A line for its timeline; `None` once the timeline shows enough retries.
        note: Option<TimelineEntry>,
    },
    /// The worker no longer holds the message: nothing changes.
    LeaseLost,
}

/// Something that a simulated network brings back later for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// The id, by which its receipt or reply is recorded only once.
    pub id: FollowUpId,
    /// The message that it is about.
    pub message: MessageId,
    /// The account's number that the message was sent from.
    pub number: E164,
    /// The recipient of the message, who sends the reply.
    pub person: E164,
    /// The simulated route that the message was sent through.
    pub route: RouteName,
    /// When it is due.
    pub due_at: Timestamp,
    /// A receipt or an answer.
    pub what: Comeback,
}

impl OutcomePlan {
    /// The network's ids of the segments that it accepted; empty if it accepted none.
    pub fn parts(&self) -> &[NetworkId] {
        match &self.result {
            HandOver::Submitted { parts } => parts,
            _ => &[],
        }
    }

    /// The verdict on the message and its place in the queue, which the store found under its lock,
    /// given the reports that arrived earlier for [`parts`](Self::parts).
    pub fn settle(
        &mut self,
        found: Option<(&Message, &QueueEntry)>,
        early: &EarlyReports,
    ) -> OutcomeVerdict {
        let Some((message, entry)) = found else { return OutcomeVerdict::LeaseLost };
        // A message past `sending` is not changed, not even by a timeline line about a retry.
        if entry.lease != Some(self.token) || message.status != MessageStatus::Sending {
            return OutcomeVerdict::LeaseLost;
        }
        let news = match &self.result {
            HandOver::Taken { .. } | HandOver::Submitted { .. } => {
                News::new(Trigger::Leave, self.at)
            }
            HandOver::Refused { error, detail } => match entry.left() {
                Left::Nothing => News::failed(*error, self.at).with_detail(detail.clone()),
                Left::Perhaps => {
                    let said = detail.as_deref().unwrap_or(error.message());
                    let detail = format!("an earlier attempt may have sent it; {said}");
                    News::undelivered(*error, self.at).with_detail(Some(detail))
                }
            },
            HandOver::Abandoned { error, detail } => {
                News::undelivered(*error, self.at).with_detail(Some(detail.clone()))
            }
            HandOver::GivenBack => {
                let claimable_at = self.old_place();
                let entry = QueueEntry { claimable_at, lease: None, ..*entry };
                return OutcomeVerdict::Retry { entry, note: None };
            }
            HandOver::TryLater { detail } => {
                let note = (entry.attempt < RETRIES_TOLD).then_some(detail);
                return self.retry(entry, note);
            }
            HandOver::Unanswered { detail } if entry.unanswered < AGAIN_UNANSWERED => {
                let entry = QueueEntry { unanswered: entry.unanswered + 1, ..*entry };
                // Always in the timeline, because the recipient may receive it twice and ask why.
                return self.retry(&entry, Some(detail));
            }
            HandOver::Unanswered { detail } => {
                let detail = format!("{}; will not be retried", tidy_detail(detail));
                News::undelivered(ErrorCode::NetworkError, self.at).with_detail(Some(detail))
            }
        };
        let Some(changed) = change(message, &news, &mut self.ids) else {
            return OutcomeVerdict::LeaseLost;
        };
        let follow_ups = self.follow_ups(message);
        let mut parts = self.sent_segments();
        let mut beside = Beside::new();
        for part in &mut parts {
            if let Some(way) = early.get(&part.id)
                && let Some(name) = way.makes_way(&part.id, message.to)
            {
                beside.insert(name, Some(way.clone()));
            }
            let names = iter::once(part.id.clone()).chain(names_beside(&part.id, message));
            let mut known = names.filter_map(|name| Some((early.get(&name)?, name)));
            let own =
                known.find(|(early, _)| early.may_concern(message.to) && self.is_of_this(early));
            if let Some((report, name)) = own {
                part.report = Some(report.status);
                if name.is_beside() {
                    beside.insert(name, None);
                }
            }
        }
        let mut changes = vec![changed];
        let reports = parts.iter().map(|part| part.report);
        if let Some(status) = report::of_whole(parts.len().max(1), reports) {
            let left = &changes[0].message;
            changes.extend(report::whole_changed(left, status, self.at, &mut self.ids));
        }
        OutcomeVerdict::Done { changes, follow_ups, parts, beside }
    }

    /// When the message was due before the worker took it, so that it goes before what fell due
    /// later. If that is no longer known, it is the time of the claim, when the message was due.
    fn old_place(&self) -> Timestamp {
        let due_at = self.held.as_ref().map_or(self.claimed_at, |held| held.due_at);
        due_at.min(self.at)
    }

    fn follow_ups(&mut self, message: &Message) -> Vec<FollowUp> {
        let HandOver::Taken { simulated } = &self.result else { return Vec::new() };
        let follow_up = |Simulated { after, what }: &Simulated| FollowUp {
            id: self.ids.next(),
            message: message.id,
            number: message.from,
            person: message.to,
            route: message.route.clone(),
            due_at: self.at.plus(*after),
            what: what.clone(),
        };
        simulated.iter().map(follow_up).collect()
    }

    /// The segments to keep if the message turns out to be sent, without reports: a store may write
    /// them ahead of the verdict.
    pub fn sent_segments(&self) -> Vec<SentSegment> {
        let ids = self.parts();
        let part = |id: &NetworkId| SentSegment {
            id: id.clone(),
            message: self.message,
            total: ids.len(),
            report: None,
            at: self.at,
        };
        ids.iter().map(part).collect()
    }

    /// Whether an early report can be about a segment submitted by this hand-over. A network that
    /// restarts its counter of ids reuses the id of another segment, whose report may still be
    /// kept.
    fn is_of_this(&self, early: &EarlyReport) -> bool {
        early.at >= self.claimed_at.minus(CLOCKS_DIFFER)
    }

    fn retry(&self, entry: &QueueEntry, told: Option<&String>) -> OutcomeVerdict {
        // At its expiry at the latest, because the claim at that time ends it.
        let again_at = self.at.plus(retry_delay(entry.attempt)).min(entry.expires_at);
        let note = told.map(|detail| TimelineEntry {
            status: MessageStatus::Sending,
            detail: Some(format!("{}; will be retried", tidy_detail(detail))),
            at: self.at,
        });
        let attempt = entry.attempt.saturating_add(1);
        let entry = QueueEntry { claimable_at: again_at, attempt, lease: None, ..*entry };
        OutcomeVerdict::Retry { entry, note }
    }
}

/// The names beside an id under which early reports on this message may wait. A store looks there
/// if it has something else under the id: a segment of another message, or a report on another
/// recipient. A report names the recipient, and may name the sender before it.
pub fn names_beside(id: &NetworkId, message: &Message) -> [NetworkId; 2] {
    [id.beside(message.to), id.beside(message.from)]
}

/// How long to wait after hand-over number `attempt` (from 0) was refused for now: 4 s, then twice
/// as long each time, up to 5 minutes.
pub fn retry_delay(attempt: u32) -> Duration {
    let doubled = 2u32.checked_pow(attempt).and_then(|factor| FIRST_RETRY.checked_mul(factor));
    doubled.map_or(LONGEST_RETRY, |delay| delay.min(LONGEST_RETRY))
}

/// What recording an outcome did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeRecorded {
    /// The message left the queue with this status.
    Done(MessageStatus),
    /// The message stays in the queue and is retried.
    Retry,
    /// The worker no longer held the message; nothing was written.
    LeaseLost,
}
