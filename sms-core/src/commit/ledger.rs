//! Ledger entries, collected with the balances after them and what they count.

use std::collections::BTreeMap;

use crate::credits::Credits;
use crate::credits::ledger::{DoesNotFit, Draft, Entry, post};
use crate::ids::AccountId;
use crate::statistics::Tally;

/// What a commit writes to ledgers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use = "what is booked has to be written by the store"]
pub struct LedgerWrites {
    /// The accounts with new entries.
    pub accounts: BTreeMap<AccountId, Booked>,
    /// What the entries count in statistics.
    pub tally: Tally,
}

/// What is booked for one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Booked {
    /// New entries of its ledger, in order.
    pub entries: Vec<Entry>,
    /// The balance after them.
    pub balance: Credits,
}

impl LedgerWrites {
    /// The writes for one account.
    pub fn of(
        account: AccountId,
        entries: impl IntoIterator<Item = Entry>,
        balance: Credits,
    ) -> Self {
        let mut writes = Self::default();
        writes.add(account, entries, balance);
        writes
    }

    /// Adds entries that were posted against the balance after the earlier ones, and the balance
    /// after them. Without entries nothing is added.
    pub fn add(
        &mut self,
        account: AccountId,
        entries: impl IntoIterator<Item = Entry>,
        balance: Credits,
    ) {
        for entry in entries {
            self.tally.entry(account, &entry);
            let fresh = || Booked { entries: Vec::new(), balance };
            let booked = self.accounts.entry(account).or_insert_with(fresh);
            booked.entries.push(entry);
            booked.balance = balance;
        }
    }

    /// Posts drafts against the balance that the store found, or that the earlier drafts left.
    /// Returns the balance after them.
    ///
    /// # Errors
    ///
    /// If one of the drafts does not fit. None of them is booked then.
    pub fn post(
        &mut self,
        account: AccountId,
        found: Credits,
        drafts: Vec<Draft>,
    ) -> Result<Credits, DoesNotFit> {
        let balance = self.accounts.get(&account).map_or(found, |booked| booked.balance);
        let (entries, balance) = post(balance, drafts)?;
        self.add(account, entries, balance);
        Ok(balance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credits::ledger::Cause;
    use crate::ids::BatchId;
    use crate::samples::{account_id, credits, ids, now};
    use crate::statistics::{Count, Counted};

    fn draft(cause: Cause, amount: crate::credits::Change) -> Draft {
        Draft { id: ids().next(), cause, amount, note: None, at: now() }
    }

    fn send(amount: u64) -> Draft {
        let cause = Cause::Send { batch: BatchId::from_u128(3), campaign: None };
        draft(cause, credits(amount).loss())
    }

    #[test]
    fn what_is_posted_builds_on_what_was_posted_before_and_counts() {
        let mut writes = LedgerWrites::default();
        assert_eq!(writes.post(account_id(), credits(10), vec![send(3)]), Ok(credits(7)));
        let top_up = draft(Cause::TopUp, credits(5).gain());
        let left = writes.post(account_id(), credits(10), vec![send(2), top_up]);
        assert_eq!(left, Ok(credits(10)));
        let LedgerWrites { accounts, tally } = writes;
        let Booked { entries, balance } = &accounts[&account_id()];
        let after: Vec<u64> = entries.iter().map(|entry| entry.balance_after.get()).collect();
        assert_eq!((after, *balance), (vec![7, 5, 10], credits(10)));
        let spent =
            Count { account: account_id(), at: now(), counted: Counted::Credits, amount: 5 };
        assert_eq!(tally.counts().collect::<Vec<_>>(), [spent]);
    }

    #[test]
    fn what_does_not_fit_books_nothing() {
        let mut writes = LedgerWrites::default();
        assert!(writes.post(account_id(), credits(4), vec![send(3), send(2)]).is_err());
        assert_eq!(writes, LedgerWrites::default());
        assert_eq!(LedgerWrites::of(account_id(), [], credits(4)), writes);
    }
}
