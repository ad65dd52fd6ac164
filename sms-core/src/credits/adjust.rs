//! Top-ups and adjustments by the operator.

use serde::{Deserialize, Serialize};

use super::ledger::{Cause, DoesNotFit, Draft};
use super::{Change, Credits};
use crate::idempotency::Answer;
use crate::ids::{AccountId, Ids};
use crate::time::Timestamp;

/// The maximum length of a note, in characters.
pub const MAX_NOTE: usize = 500;

/// A change of a balance by the operator. A positive amount makes a `top_up`, a negative one an
/// `adjustment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdjustPlan {
    /// The account whose balance changes.
    pub account: AccountId,
    /// The entry to book.
    pub draft: Draft,
}

impl AdjustPlan {
    /// Plans a change of the account's balance by `amount`.
    pub fn new(
        account: AccountId,
        amount: Change,
        note: Option<String>,
        at: Timestamp,
        ids: &mut Ids,
    ) -> Self {
        let cause = if amount.get() < 0 { Cause::Adjustment } else { Cause::TopUp };
        Self { account, draft: Draft { id: ids.next(), cause, amount, note, at } }
    }
}

/// Why a balance was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdjustRefused {
    /// The account does not exist.
    #[error("no such account")]
    NoSuchAccount,
    /// The balance would leave the range that an account can hold.
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
}

/// The result of an adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjusted {
    /// The balance after it.
    pub balance: Credits,
}

/// A repetition returns the balance of then.
impl Answer for Adjusted {
    type Kept = KeptBalance;

    fn kept(&self) -> KeptBalance {
        KeptBalance { balance: self.balance.get() }
    }
}

/// What is kept of an adjustment.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct KeptBalance {
    balance: u64,
}

impl From<KeptBalance> for Adjusted {
    fn from(kept: KeptBalance) -> Self {
        Self { balance: Credits::new(kept.balance).unwrap_or(Credits::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{account_id, ids, now};

    #[test]
    fn adding_credits_is_a_top_up_and_taking_them_an_adjustment() {
        for (amount, cause) in [
            (1, Cause::TopUp),
            (5_000, Cause::TopUp),
            (-1, Cause::Adjustment),
            (-5_000, Cause::Adjustment),
        ] {
            let change = Change::new(amount).unwrap();
            let note = Some("invoice 7".to_owned());
            let plan = AdjustPlan::new(account_id(), change, note.clone(), now(), &mut ids());
            let draft = Draft { id: ids().next(), cause, amount: change, note, at: now() };
            assert_eq!(plan, AdjustPlan { account: account_id(), draft });
        }
    }
}
