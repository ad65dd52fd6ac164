//! Everything an accepted send will write, worked out with no lock held.
//!
//! Quote and send go through this one function, so a quote cannot differ from the charge; the texts
//! themselves are written by [`super::writer`], for campaigns too.

use super::idempotency::{Fingerprint, IdempotencyClaim};
use super::recipients::{Candidate, Recipients, Rejection, RejectionReason};
use super::request::SendRequest;
use super::writer::{NewMessages, Origin, TextWriter, Timing};
use crate::account::Mode;
use crate::credits::Credits;
use crate::ids::{AccountId, BatchId, Ids, LedgerEntryId};
use crate::link::Link;
use crate::message::Message;
use crate::time::Timestamp;

pub use super::facts::{Codes, PlanFacts, Shortening};

/// Everything an accepted send will write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct SendPlan {
    /// Who sends.
    pub account: AccountId,
    /// Live or test.
    pub mode: Mode,
    /// Names the texts.
    pub batch: BatchId,
    /// The key under which it is remembered.
    pub idempotency: Option<IdempotencyClaim>,
    /// The texts, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
    /// Who gets none, and why.
    pub rejected: Vec<Rejection>,
    /// What a live send of these texts takes.
    pub price: Credits,
    /// What this send takes: the price, or nothing for a test.
    pub charge: Credits,
    /// The id of the ledger entry that takes it.
    pub entry_id: LedgerEntryId,
    /// When workers may take the texts.
    pub claimable_at: Timestamp,
    /// When the texts are no longer valid.
    pub expires_at: Timestamp,
    /// When it was planned.
    pub at: Timestamp,
}

impl SendPlan {
    fn timing(&self) -> Timing {
        Timing { at: self.at, claimable_at: self.claimable_at, expires_at: self.expires_at }
    }
}

/// What a commit writes of the texts of plans, should they be accepted.
pub fn new_messages<'a>(plans: impl IntoIterator<Item = &'a SendPlan>) -> NewMessages<'a> {
    let mut new = NewMessages::default();
    for plan in plans {
        new.add(&plan.timing(), &plan.messages, &plan.links);
    }
    new
}

/// Plans a send to the recipients of a request that passed its checks.
pub fn plan(
    request: &SendRequest,
    recipients: &Recipients,
    facts: PlanFacts<'_>,
    ids: &mut Ids,
) -> SendPlan {
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
    let mut writer = TextWriter::new(origin, &facts);
    let (mut messages, mut links) = (Vec::new(), Vec::new());
    let (mut rejected, mut price) = (Vec::new(), Credits::ZERO);
    for candidate in &recipients.candidates {
        let number = match candidate {
            Candidate::Rejected(rejection) => {
                rejected.push(rejection.clone());
                continue;
            }
            Candidate::Number(number) => *number,
        };
        let text = if facts.opted_out.contains(&number) {
            Err(RejectionReason::OptedOut)
        } else {
            writer.write(number, recipients.contact(number), ids, &mut links)
        };
        match text {
            Ok(message) => {
                // At most 1,000 numbers, a body full of contacts and the largest list, of 11 parts
                // each: far below what credits can count.
                let more = Credits::for_segments(message.segments);
                price = price.checked_add(more).unwrap_or(Credits::MAX);
                messages.push(message);
            }
            Err(reason) => rejected.push(Rejection::of(number, reason)),
        }
    }
    let Timing { at, claimable_at, expires_at } = Timing::of(&facts, scheduled_at);
    SendPlan {
        account: facts.account,
        mode: facts.mode,
        batch,
        idempotency: request
            .idempotency_key
            .clone()
            .map(|key| IdempotencyClaim { key, fingerprint: Fingerprint::of(request, facts.mode) }),
        messages,
        links,
        rejected,
        price,
        charge: if facts.mode.is_test() { Credits::ZERO } else { price },
        entry_id: ids.next(),
        claimable_at,
        expires_at,
        at,
    }
}

#[cfg(test)]
mod tests;
