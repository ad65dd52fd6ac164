//! How many host names are looked up at once: for each account, and in all.
//!
//! An account whose name servers are slow waits for its own look-ups. It does not take the turns of
//! others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sms_core::ids::AccountId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many look-ups run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupLimits {
    /// For one account. 4 by default.
    pub each: usize,
    /// In all. 256 by default.
    pub total: usize,
}

impl Default for LookupLimits {
    fn default() -> Self {
        Self { each: 4, total: 256 }
    }
}

/// Gives out turns to look a name up.
#[derive(Debug, Clone)]
pub(crate) struct LookupTurns {
    each: usize,
    all: Arc<Semaphore>,
    accounts: Arc<Mutex<BTreeMap<AccountId, Arc<Semaphore>>>>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    total: Option<OwnedSemaphorePermit>,
    own: Option<OwnedSemaphorePermit>,
    account: AccountId,
    turns: LookupTurns,
}

impl LookupTurns {
    pub(crate) fn new(limits: LookupLimits) -> Self {
        Self {
            each: limits.each.max(1),
            all: Arc::new(Semaphore::new(limits.total.max(1))),
            accounts: Arc::default(),
        }
    }

    /// Waits for a turn of `account`: first for one of the account, then for one of all accounts.
    /// So no account has more look-ups in the queue of all than it may run at once.
    pub(crate) async fn take(&self, account: AccountId) -> Turn {
        let own = self.of(account);
        let mut turn = Turn { total: None, own: None, account, turns: self.clone() };
        // No semaphore is ever closed.
        turn.own = own.acquire_owned().await.ok();
        turn.total = Arc::clone(&self.all).acquire_owned().await.ok();
        turn
    }

    fn of(&self, account: AccountId) -> Arc<Semaphore> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let own = accounts.entry(account);
        Arc::clone(own.or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }
}

impl Drop for Turn {
    /// Forgets an account that has no turn and waits for none.
    fn drop(&mut self) {
        (self.total, self.own) = (None, None);
        let mut accounts = self.turns.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        // The map holds one reference, and each task that has a turn or waits for one holds
        // another.
        if accounts.get(&self.account).is_some_and(|own| Arc::strong_count(own) == 1) {
            accounts.remove(&self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn account(n: u128) -> AccountId {
        AccountId::from_u128(n)
    }

    /// A turn that is free now.
    fn now(turns: &LookupTurns, n: u128) -> Option<Turn> {
        turns.take(account(n)).now_or_never()
    }

    #[test]
    fn an_account_has_its_turns_and_leaves_those_of_others() {
        let turns = LookupTurns::new(LookupLimits { each: 2, total: 5 });
        let mut held: Vec<Turn> = (0..2).map(|_| now(&turns, 1).unwrap()).collect();
        assert!(now(&turns, 1).is_none(), "two of one account");
        held.extend((0..2).map(|_| now(&turns, 2).unwrap()));
        held.push(now(&turns, 3).unwrap());
        assert!(now(&turns, 3).is_none() && now(&turns, 4).is_none(), "five in all");
        held.remove(0);
        assert!(now(&turns, 4).is_some());
        assert!(now(&turns, 1).is_some());
    }

    #[test]
    fn those_who_wait_for_their_own_turn_take_none_of_all() {
        let turns = LookupTurns::new(LookupLimits { each: 1, total: 2 });
        let held = now(&turns, 1).unwrap();
        let mut waiting: Vec<_> = (0..50).map(|_| Box::pin(turns.take(account(1)))).collect();
        assert!(waiting.iter_mut().all(|turn| turn.now_or_never().is_none()));
        assert!(now(&turns, 2).is_some());
        drop(held);
    }

    #[test]
    fn an_account_without_turns_is_forgotten() {
        let turns = LookupTurns::new(LookupLimits::default());
        let held = now(&turns, 1).unwrap();
        for n in 2..1_000 {
            drop(now(&turns, n).unwrap());
        }
        assert_eq!(turns.accounts.lock().unwrap().len(), 1);
        drop(held);
        assert_eq!(turns.accounts.lock().unwrap().len(), 0);
    }
}
