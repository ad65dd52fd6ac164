//! What a program writes to its journal while it hands messages over, and what it records of an
//! earlier run.
//!
//! The program continues if the journal cannot be written: then its messages take room in their
//! routes until they are recorded.
//!
//! [`from_birth`](super::from_birth) draws where in a message's life entries are written.

use super::Dispatched;
use super::group::{Carried, Group};
use super::held::Known;
use super::hold::Hold;
use crate::dispatch::journal::{Entry, IfUnanswered};
use crate::error::Error;
use crate::hand_over::HandOver;
use crate::ids::MessageId;
use crate::route::RouteKind;
use crate::service::sms::Sms;
use crate::service::wake::Work;

/// How many outcomes of an earlier run are recorded together.
const AT_ONCE: usize = 500;

impl Sms {
    /// Notes that messages were claimed, before any of them is handed over. Simulated networks send
    /// nothing, so nothing of theirs is noted.
    pub(super) fn note_claim(&self, groups: &[Group<'_>]) {
        let Some(journal) = &self.inner.journal else { return };
        let (mut entries, mut submitted) = (Vec::new(), Vec::new());
        let mut claims: Vec<(Hold, Vec<MessageId>)> = Vec::new();
        for Group { messages: _, carried, carrier } in groups {
            let Some(carrier) = carrier else { continue };
            if carrier.kind() == RouteKind::Simulated {
                continue;
            }
            for Carried { held, hold, permit: _ } in carried {
                let message = held.message.id;
                match claims.last_mut() {
                    Some((last, messages)) if last == hold => messages.push(message),
                    _ => claims.push((*hold, vec![message])),
                }
                if !carrier.journals_submissions() {
                    submitted.push(message);
                }
            }
        }
        entries.extend(claims.into_iter().map(|(Hold { token: lease, since: at }, messages)| {
            Entry::Claimed { lease, at, messages }
        }));
        let unanswered = IfUnanswered::Again;
        entries.push(Entry::Submitting { messages: submitted, unanswered });
        // Outcomes of messages that the journal does not know are noted nowhere.
        let _ = journal.append(entries);
    }

    /// Notes outcomes. Once they are in the journal, their messages take no more room.
    pub(super) fn note_outcomes(&self, known: &mut Known) {
        let Some(journal) = &self.inner.journal else { return };
        // What a simulated network brings back later belongs to the record alone.
        let all = known.plans.len();
        let plans = known.plans.iter().filter(|plan| !plan.result.comes_back());
        let entry = |message, result: &HandOver, at| {
            let result = result.clone();
            Entry::Answered { message, result, at }
        };
        let entries: Vec<_> =
            plans.map(|plan| entry(plan.message, &plan.result, plan.at)).collect();
        let is_all = entries.len() == all;
        if journal.append(entries).is_ok() && is_all {
            known.rooms.clear();
        }
    }

    /// Notes that nothing is left to record about these messages.
    pub(super) fn note_settled(&self, messages: impl Iterator<Item = MessageId>) {
        if let Some(journal) = &self.inner.journal {
            // What is not noted is recorded again, which changes nothing.
            let _ = journal.append(vec![Entry::Settled { messages: messages.collect() }]);
        }
    }

    /// Records what an earlier run of this program left in its journal. Calls at the same time wait
    /// for it, so that nothing is claimed before.
    pub(super) async fn record_left_over(&self, done: &mut Dispatched) -> Result<(), Error> {
        let mut left = self.inner.left_over.lock().await;
        while !left.is_empty() {
            let rest = left.len().saturating_sub(AT_ONCE);
            let at = self.now();
            let plans: Vec<_> =
                left[rest..].iter().map(|one| one.clone().outcome(at, self.ids(at))).collect();
            let recorded = self.store().dispatch_record(plans).await?;
            tracing::info!(
                outcomes = recorded.len(),
                "recorded outcomes from the journal of an earlier run"
            );
            for outcome in recorded {
                done.count(outcome);
            }
            self.note_settled(left[rest..].iter().map(|one| one.message));
            left.truncate(rest);
            self.wake(Work::Webhooks);
        }
        Ok(())
    }
}
