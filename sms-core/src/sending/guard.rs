//! Accepting a send without a lock: on facts that a store remembers, under a guard.
//!
//! A store remembers facts of accounts from a plain read or its last commit. It counts up a version
//! of the account with everything that a verdict depends on, except the balance. A plan that
//! settles on remembered facts is written only if that still holds: the account has the same
//! version, and at least the balance that all its plans together need. Otherwise nothing is
//! written, and the plans are settled with the account locked. So no refusal is ever based on what
//! is remembered.

use super::plan::SendPlan;
use super::settle::{SendFacts, SendVerdict, SendWrites};
use crate::credits::Credits;
use crate::credits::ledger::Entry;

/// What a guarded commit writes for a plan, besides its new messages.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an accepted send has to be written by the store"]
pub struct Guarded {
    /// What the account must have, over what the plans before this one take: what this one takes.
    pub at_least: Credits,
    /// The ledger entry of the charge; `None` for a send that costs nothing. Its balance follows
    /// from the balance that the commit finds.
    pub entry: Option<Entry>,
}

impl SendPlan {
    /// Whether a commit of this plan may write under a guard: it is live, and has neither a key nor
    /// tracked links.
    pub fn is_plain(&self) -> bool {
        !self.mode.is_test() && self.idempotency.is_none() && self.links.is_empty()
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
                remembered: None,
                test_messages: None,
                conversations,
            })) if conversations.is_empty() => Some(Guarded { at_least: self.charge, entry }),
            Ok(_) | Err(_) => None,
        }
    }
}
