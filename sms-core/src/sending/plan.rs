//! Everything that an accepted send writes, computed without a lock.
//!
//! Quotes and sends both go through this function, so a quote cannot differ from the charge.
//! [`super::writer`] writes the messages themselves, for campaigns too.

use super::idempotency::{Fingerprint, IdempotencyClaim};
use super::recipients::{Candidate, Recipients, Rejection, RejectionReason};
use super::request::SendRequest;
use super::writer::{MessageWriter, NewMessages, Origin, Timing};
use crate::account::Mode;
use crate::credits::Credits;
use crate::ids::{AccountId, BatchId, Ids, LedgerEntryId};
use crate::link::Link;
use crate::message::Message;
use crate::time::Timestamp;

pub use super::facts::{Codes, PlanFacts, Shortening};

/// Everything that an accepted send writes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a plan does nothing until a store commits it"]
pub struct SendPlan {
    /// The account that sends.
    pub account: AccountId,
    /// Live or test.
    pub mode: Mode,
    /// The id shared by the messages.
    pub batch: BatchId,
    /// The idempotency key under which the send is remembered; `None` without a key.
    pub idempotency: Option<IdempotencyClaim>,
    /// The messages, in the order of the recipients.
    pub messages: Vec<Message>,
    /// The tracked links in them.
    pub links: Vec<Link>,
    /// The recipients that receive no message, each with the reason.
    pub rejected: Vec<Rejection>,
    /// The price of a live send of these messages.
    pub price: Credits,
    /// The charge of this send: the price, or zero for a test.
    pub charge: Credits,
    /// The id of the ledger entry of the charge.
    pub entry_id: LedgerEntryId,
    /// From when workers may claim the messages.
    pub claimable_at: Timestamp,
    /// When the messages expire.
    pub expires_at: Timestamp,
    /// When the send was planned.
    pub at: Timestamp,
}

impl SendPlan {
    fn timing(&self) -> Timing {
        Timing { at: self.at, claimable_at: self.claimable_at, expires_at: self.expires_at }
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
    let mut writer = MessageWriter::new(origin, &facts);
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
                // At most 1,000 numbers, the contacts of one request and the largest list, with 11
                // segments each: far below the maximum of credits.
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
