//! The ledger: an append-only list of entries, each with the balance after it.
//!
//! Rules state what to book as [`Draft`]s. [`post`] turns drafts into entries against the balance
//! that a store has read under the account's lock. Nothing else computes a balance.

use std::fmt;

use serde::Serialize;

use super::{Change, Credits};
use crate::ids::{BatchId, CampaignId, LedgerEntryId, MessageId, NumberId};
use crate::time::Timestamp;

/// Why a balance changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A send took the credits of its messages.
    Send {
        /// The batch of the send.
        batch: BatchId,
        /// The campaign whose launch made the send; `None` for other sends.
        campaign: Option<CampaignId>,
    },
    /// A message failed before it was sent, or was cancelled.
    Refund {
        /// The message. It is refunded at most once.
        message: MessageId,
        /// The batch of the message; `None` if it has none.
        batch: Option<BatchId>,
        /// The campaign of the message; `None` if it has none.
        campaign: Option<CampaignId>,
    },
    /// The rent of a number for one period.
    Rent {
        /// The number that is rented.
        number: NumberId,
        /// The start of the period, at which its rent fell due. Each period is charged once.
        due_at: Timestamp,
    },
    /// The operator sold or gave credits.
    TopUp,
    /// The operator took credits back.
    Adjustment,
}

/// The kind of an entry, as the API shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Credits taken by a send.
    Send,
    /// Credits returned for a message.
    Refund,
    /// Credits taken for a rented number.
    Rent,
    /// Credits added by the operator.
    TopUp,
    /// Credits taken by the operator.
    Adjustment,
}

impl Kind {
    /// Every value. Stores may keep one as its index here: a new value goes to the end.
    pub const ALL: [Self; 5] =
        [Self::Send, Self::Refund, Self::Rent, Self::TopUp, Self::Adjustment];

    /// The name used in the API and by stores.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Refund => "refund",
            Self::Rent => "rent",
            Self::TopUp => "top_up",
            Self::Adjustment => "adjustment",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Cause {
    /// The kind of entry that this cause makes.
    pub fn kind(self) -> Kind {
        match self {
            Self::Send { .. } => Kind::Send,
            Self::Refund { .. } => Kind::Refund,
            Self::Rent { .. } => Kind::Rent,
            Self::TopUp => Kind::TopUp,
            Self::Adjustment => Kind::Adjustment,
        }
    }
}

/// A change to book. The balance after it is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The id of the entry to make.
    pub id: LedgerEntryId,
    /// Why the balance changes.
    pub cause: Cause,
    /// The change in credits: positive if credits are added.
    pub amount: Change,
    /// An explanation for people; `None` if there is none.
    pub note: Option<String>,
    /// When the change happens.
    pub at: Timestamp,
}

/// One entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The id of the entry.
    pub id: LedgerEntryId,
    /// Why the balance changed.
    pub cause: Cause,
    /// The change in credits: positive if credits were added.
    pub amount: Change,
    /// The balance after this entry.
    pub balance_after: Credits,
    /// An explanation for people; `None` if there is none.
    pub note: Option<String>,
    /// When the change happened.
    pub created_at: Timestamp,
}

/// A draft would take the balance below zero, or above what an account can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the balance is {balance}; a change of {} credits takes it out of range", change.get())]
pub struct DoesNotFit {
    /// The balance before the change.
    pub balance: Credits,
    /// The change that does not fit.
    pub change: Change,
}

/// Books `drafts` in order against `balance`. Returns the entries and the balance after them. Books
/// either all of them or none.
pub fn post(balance: Credits, drafts: Vec<Draft>) -> Result<(Vec<Entry>, Credits), DoesNotFit> {
    let mut running = balance;
    let mut entries = Vec::with_capacity(drafts.len());
    for Draft { id, cause, amount, note, at } in drafts {
        let does_not_fit = DoesNotFit { balance: running, change: amount };
        running = running.checked_apply(amount).ok_or(does_not_fit)?;
        if cause == Cause::TopUp && running > Credits::MOST_TOPPED_UP {
            return Err(does_not_fit);
        }
        let balance_after = running;
        entries.push(Entry { id, cause, amount, balance_after, note, created_at: at });
    }
    Ok((entries, running))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn draft(amount: i64) -> Draft {
        Draft {
            id: LedgerEntryId::from_u128(1),
            cause: Cause::Adjustment,
            amount: Change::new(amount).unwrap(),
            note: None,
            at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_top_up_leaves_room_for_refunds_and_one_that_would_not_is_refused() {
        let top_up = |amount: u64| Draft {
            cause: Cause::TopUp,
            amount: Credits::new(amount).unwrap().gain(),
            ..draft(1)
        };
        let most = Credits::MOST_TOPPED_UP;
        assert_eq!(post(Credits::ZERO, vec![top_up(most.get())]).unwrap().1, most);
        assert!(post(Credits::ZERO, vec![top_up(most.get() + 1)]).is_err());
        assert!(post(most, vec![top_up(1)]).is_err());
        let refund = Draft { cause: Cause::Adjustment, ..top_up(1) };
        assert!(post(most, vec![refund]).is_ok());
    }

    proptest! {
        #[test]
        fn the_balance_is_the_sum_of_the_entries_or_nothing_is_booked(
            start in 0u64..100,
            amounts in proptest::collection::vec(-50i64..50, 0..20),
        ) {
            let start = Credits::new(start).unwrap();
            let drafts = amounts.iter().map(|amount| draft(*amount)).collect();
            let mut running = i64::try_from(start.get()).unwrap();
            let fits = amounts.iter().all(|amount| { running += amount; running >= 0 });
            match post(start, drafts) {
                Ok((entries, left)) => {
                    prop_assert!(fits);
                    let sum: i64 = entries.iter().map(|entry| entry.amount.get()).sum();
                    let expected = i64::try_from(start.get()).unwrap() + sum;
                    prop_assert_eq!(i64::try_from(left.get()).unwrap(), expected);
                    if let Some(last) = entries.last() {
                        prop_assert_eq!(last.balance_after, left);
                    }
                }
                Err(_) => prop_assert!(!fits),
            }
        }
    }

    #[test]
    fn every_cause_makes_an_entry_of_the_documented_kind() {
        let batch = BatchId::from_u128(1);
        let refund =
            Cause::Refund { message: MessageId::from_u128(1), batch: None, campaign: None };
        let rent =
            Cause::Rent { number: NumberId::from_u128(1), due_at: Timestamp::from_millis(0) };
        for (cause, name) in [
            (Cause::Send { batch, campaign: None }, "send"),
            (refund, "refund"),
            (rent, "rent"),
            (Cause::TopUp, "top_up"),
            (Cause::Adjustment, "adjustment"),
        ] {
            assert_eq!(cause.kind().to_string(), name);
            assert_eq!(serde_json::to_value(cause.kind()).unwrap(), name);
        }
    }

    #[test]
    fn each_entry_has_the_balance_after_it_and_a_misfit_the_balance_before_it() {
        let five = Credits::new(5).unwrap();
        let (entries, left) = post(five, vec![draft(-5), draft(3)]).unwrap();
        let after: Vec<u64> = entries.iter().map(|entry| entry.balance_after.get()).collect();
        assert_eq!((after, left.get()), (vec![0, 3], 3));
        let refused = post(five, vec![draft(-4), draft(-2)]).unwrap_err();
        assert_eq!((refused.balance.get(), refused.change.get()), (1, -2));
        assert_eq!(post(five, Vec::new()), Ok((Vec::new(), five)));
    }
}
