//! Accepting a send without a lock: on facts that a store remembers, under a guard.
//!
//! A store remembers facts of accounts from a plain read or its last commit. It counts up a version
//! of the account with everything that a verdict or its writes depend on, except the balance. A
//! plan that settles on remembered facts is written only if that still holds: the account has the
//! same version, and at least the balance that all its plans together need. Otherwise nothing is
//! written, and the plans are settled with the account locked. So no refusal is ever based on what
//! is remembered.
//!
//! Idempotency keys are part of the guard: the commit inserts them, and writes nothing if one of
//! them exists already, whether or not it has expired.

use super::idempotency::EarlierSend;
use super::plan::SendPlan;
use super::settle::{SendFacts, SendVerdict, SendWrites};
use crate::credits::Credits;
use crate::credits::ledger::Entry;
use crate::idempotency::key::IdempotencyKey;
use crate::ids::MessageId;
use crate::phone::E164;

/// What a guarded commit writes for a plan, besides its new messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an accepted send has to be written by the store"]
pub struct Guarded {
    /// What the account must have, over what the plans before this one take: what this one takes.
    pub at_least: Credits,
    /// The ledger entry of the charge; `None` for a send that costs nothing. Its balance follows
    /// from the balance that the commit finds.
    pub entry: Option<Entry>,
    /// What is remembered under the idempotency key, which must not exist yet; `None` without a
    /// key. Its balance follows from the balance that the commit finds.
    pub remembered: Option<(IdempotencyKey, EarlierSend)>,
    /// The recipients that may have conversations with the account, each with the newest message of
    /// this plan.
    pub conversations: Vec<(E164, MessageId)>,
}

impl SendPlan {
    /// Whether a commit of this plan may write under a guard: it is live and has no tracked links.
    pub fn is_plain(&self) -> bool {
        !self.mode.is_test() && self.links.is_empty()
    }

    /// The verdict on facts that the store remembers, as the plans before this one leave them:
    /// what to write under the guard; `None` if the plan has to be settled with the account locked.
    pub fn settle_guarded(&self, remembered: &SendFacts) -> Option<Guarded> {
        if !self.is_plain() {
            return None;
        }
        match self.settle(remembered) {
            Ok(SendVerdict::Accept(SendWrites {
                entry,
                balance: _,
                remembered,
                test_messages: None,
                conversations,
            })) => Some(Guarded { at_least: self.charge, entry, remembered, conversations }),
            Ok(_) | Err(_) => None,
        }
    }
}
