//! Bounds how many large plans there are at once, in all and per account: sends and quotes,
//! launches, and replays. The others wait: accounts in turn, and the plans of one account in their
//! order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::Error;
use crate::ids::AccountId;

/// How many large plans of one account are made at once.
const AT_ONCE_EACH: usize = 1;
/// How many large plans of one account may wait.
pub(super) const MOST_WAITING_EACH: usize = 8;
/// How many large plans may wait in all.
pub(super) const MOST_WAITING: usize = 64;

/// The turns of large plans.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    line: Arc<Mutex<Line>>,
}

/// The right to make a large plan, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    account: AccountId,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug)]
struct Line {
    at_once: usize,
    running: BTreeMap<AccountId, usize>,
    waiting: VecDeque<Waiting>,
    /// Tickets whose turn has come, and that do not know it yet.
    called: BTreeSet<u64>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    account: AccountId,
    waker: Option<Waker>,
}

impl Turns {
    /// Lets this many run at once.
    pub(super) fn new(at_once: NonZeroUsize) -> Self {
        let line = Line {
            at_once: at_once.get(),
            running: BTreeMap::new(),
            waiting: VecDeque::new(),
            called: BTreeSet::new(),
            next_ticket: 0,
        };
        Self { line: Arc::new(Mutex::new(line)) }
    }

    /// Waits for a turn of this account.
    pub(super) async fn take(&self, account: AccountId) -> Result<Turn, Error> {
        let ticket = lock(&self.line).join(account)?;
        let mut place = Place { ticket, account, line: &self.line, is_over: false };
        poll_fn(|context| place.poll(context)).await;
        place.is_over = true;
        Ok(Turn { account, line: Arc::clone(&self.line) })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.line).end(self.account);
    }
}

/// A place in the queue. Dropping it gives it up.
struct Place<'a> {
    ticket: u64,
    account: AccountId,
    line: &'a Mutex<Line>,
    is_over: bool,
}

impl Place<'_> {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut line = lock(self.line);
        if line.called.remove(&self.ticket) {
            return Poll::Ready(());
        }
        if let Some(waiting) = line.waiting.iter_mut().find(|it| it.ticket == self.ticket) {
            waiting.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut line = lock(self.line);
        line.waiting.retain(|waiting| waiting.ticket != self.ticket);
        if line.called.remove(&self.ticket) {
            line.end(self.account);
        }
    }
}

impl Line {
    fn join(&mut self, account: AccountId) -> Result<u64, Error> {
        let of_account = self.waiting.iter().filter(|waiting| waiting.account == account).count();
        let must_wait = !self.has_room_for(account);
        if must_wait && of_account >= MOST_WAITING_EACH {
            return Err(Error::TooManyPlans);
        }
        if must_wait && self.waiting.len() >= MOST_WAITING {
            return Err(Error::TooManyPlansInAll);
        }
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.push_back(Waiting { ticket, account, waker: None });
        self.call();
        Ok(ticket)
    }

    fn has_room_for(&self, account: AccountId) -> bool {
        let all: usize = self.running.values().sum();
        let own = self.running.get(&account).copied().unwrap_or_default();
        all < self.at_once && own < AT_ONCE_EACH
    }

    /// Calls those whose turn it is.
    fn call(&mut self) {
        let next = |line: &Self| {
            line.waiting.iter().position(|waiting| line.has_room_for(waiting.account))
        };
        while let Some(Waiting { ticket, account, waker }) =
            next(self).and_then(|place| self.waiting.remove(place))
        {
            *self.running.entry(account).or_default() += 1;
            self.called.insert(ticket);
            // The other accounts that wait come before this one's next plan.
            let waiting = std::mem::take(&mut self.waiting);
            let (own, others) = waiting.into_iter().partition(|it| it.account == account);
            let (mut own, mut others): (VecDeque<Waiting>, VecDeque<Waiting>) = (own, others);
            others.append(&mut own);
            self.waiting = others;
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn end(&mut self, account: AccountId) {
        if let Some(running) = self.running.get_mut(&account) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(&account);
            }
        }
        self.call();
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_executor::block_on;
    use futures_util::FutureExt;

    use super::*;

    fn turns(at_once: usize) -> Turns {
        Turns::new(NonZeroUsize::new(at_once).unwrap())
    }

    fn account(n: u128) -> AccountId {
        AccountId::from_u128(n)
    }

    #[test]
    fn a_turn_comes_when_another_ends_and_accounts_take_turns() {
        block_on(async {
            let turns = turns(1);
            let first = turns.take(account(1)).await.unwrap();
            let mut second = pin!(turns.take(account(1)));
            let mut third = pin!(turns.take(account(1)));
            let mut of_other = pin!(turns.take(account(2)));
            assert!(second.as_mut().now_or_never().is_none());
            assert!(third.as_mut().now_or_never().is_none());
            assert!(of_other.as_mut().now_or_never().is_none());
            drop(first);
            let Some(Ok(second)) = second.as_mut().now_or_never() else { panic!("its turn") };
            assert!(of_other.as_mut().now_or_never().is_none());
            drop(second);
            assert!(third.as_mut().now_or_never().is_none(), "the other account comes first");
            assert!(of_other.as_mut().now_or_never().is_some());
        });
    }

    #[test]
    fn one_account_has_one_turn_at_a_time_however_many_there_are() {
        block_on(async {
            let turns = turns(3);
            let _first = turns.take(account(1)).await.unwrap();
            assert!(turns.take(account(1)).now_or_never().is_none());
            let _other = turns.take(account(2)).await.unwrap();
            let _another = turns.take(account(3)).await.unwrap();
            assert!(turns.take(account(4)).now_or_never().is_none());
        });
    }

    #[test]
    fn a_place_that_is_dropped_is_given_up() {
        block_on(async {
            let turns = turns(1);
            let first = turns.take(account(1)).await.unwrap();
            let mut called = Box::pin(turns.take(account(2)));
            let mut waits = pin!(turns.take(account(3)));
            assert!(called.as_mut().now_or_never().is_none());
            assert!(waits.as_mut().now_or_never().is_none());
            drop(first);
            drop(called);
            assert!(waits.as_mut().now_or_never().is_some());
            assert_eq!(lock(&turns.line).waiting.len(), 0);
        });
    }

    #[test]
    fn only_so_many_wait_for_one_account_and_in_all() {
        block_on(async {
            let turns = turns(1);
            let _first = turns.take(account(1)).await.unwrap();
            let mut waiting = Vec::new();
            let mut join = |n| {
                let mut place = Box::pin(turns.take(account(n)));
                let answer = place.as_mut().now_or_never();
                waiting.push(place);
                match answer {
                    None => "waits",
                    Some(Err(Error::TooManyPlans)) => "too many of the account",
                    Some(Err(Error::TooManyPlansInAll)) => "too many in all",
                    Some(other) => panic!("{other:?}"),
                }
            };
            for _ in 0..MOST_WAITING_EACH {
                assert_eq!(join(1), "waits");
            }
            assert_eq!(join(1), "too many of the account");
            for n in 0..MOST_WAITING - MOST_WAITING_EACH {
                assert_eq!(join(2 + n as u128), "waits");
            }
            assert_eq!(join(1), "too many of the account");
            assert_eq!(join(1_000), "too many in all");
        });
    }
}
