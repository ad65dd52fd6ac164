//! Whose read comes next. The number of accounts' reads at once is bounded; the rest of a store's
//! capacity serves workers and the operator. Accounts take turns, no account has all places, pages
//! come before searches, and an account searches one at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::ids::AccountId;

/// How many reads of accounts run at once, if nothing else is said.
pub(super) const READS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(4).unwrap();
/// How many searches of one account run at once.
const SEARCHES_EACH: usize = 1;
/// After this many pages in a row that went before a waiting search, a search comes next.
const PAGES_BEFORE_A_SEARCH: usize = 16;

/// What a read does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// It reads what it shows.
    Page,
    /// It looks for what it shows among other rows.
    Search,
}

impl Read {
    /// A search if it looks through other rows.
    pub(super) fn that(looks_through: bool) -> Self {
        if looks_through { Self::Search } else { Self::Page }
    }
}

/// The turns of reads.
#[derive(Debug, Clone)]
pub(super) struct ReadTurns {
    line: Arc<Mutex<Line>>,
}

/// The right to read, until it is dropped.
#[derive(Debug)]
pub(super) struct ReadTurn {
    account: AccountId,
    read: Read,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug)]
struct Line {
    at_once: usize,
    running: BTreeMap<AccountId, Running>,
    pages: Queue,
    searches: Queue,
    /// Tickets whose turn has come, and that do not know it yet.
    called: BTreeSet<u64>,
    next_ticket: u64,
    /// How many pages in a row went before a waiting search.
    pages_in_a_row: usize,
}

/// What an account has under way.
#[derive(Debug, Default, Clone, Copy)]
struct Running {
    reads: usize,
    searches: usize,
}

/// Reads of one kind that wait: accounts in turn, and the reads of one account in their order.
#[derive(Debug, Default)]
struct Queue {
    order: VecDeque<AccountId>,
    by_account: BTreeMap<AccountId, VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    waker: Option<Waker>,
}

impl ReadTurns {
    /// Lets this many reads run at once.
    pub(super) fn new(at_once: NonZeroUsize) -> Self {
        let line = Line {
            at_once: at_once.get(),
            running: BTreeMap::new(),
            pages: Queue::default(),
            searches: Queue::default(),
            called: BTreeSet::new(),
            next_ticket: 0,
            pages_in_a_row: 0,
        };
        Self { line: Arc::new(Mutex::new(line)) }
    }

    /// Waits for a turn of this account.
    pub(super) async fn take(&self, account: AccountId, read: Read) -> ReadTurn {
        let ticket = lock(&self.line).join(account, read);
        let mut place = Place { ticket, account, read, line: &self.line, is_over: false };
        poll_fn(|context| place.poll(context)).await;
        place.is_over = true;
        ReadTurn { account, read, line: Arc::clone(&self.line) }
    }
}

impl Drop for ReadTurn {
    fn drop(&mut self) {
        lock(&self.line).end(self.account, self.read);
    }
}

/// A place in the queue. Dropping it gives it up.
struct Place<'a> {
    ticket: u64,
    account: AccountId,
    read: Read,
    line: &'a Mutex<Line>,
    is_over: bool,
}

impl Place<'_> {
    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut line = lock(self.line);
        if line.called.remove(&self.ticket) {
            return Poll::Ready(());
        }
        if let Some(waiting) = line.queue(self.read).find(self.account, self.ticket) {
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
        line.queue(self.read).remove(self.account, self.ticket);
        if line.called.remove(&self.ticket) {
            line.end(self.account, self.read);
        }
    }
}

impl Line {
    fn join(&mut self, account: AccountId, read: Read) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.queue(read).push(account, ticket);
        self.call();
        ticket
    }

    fn queue(&mut self, read: Read) -> &mut Queue {
        match read {
            Read::Page => &mut self.pages,
            Read::Search => &mut self.searches,
        }
    }

    /// Calls those whose turn it is.
    fn call(&mut self) {
        while let Some((account, read, waiting)) = self.next() {
            self.pages_in_a_row = match read {
                Read::Page if !self.searches.order.is_empty() => self.pages_in_a_row + 1,
                Read::Page | Read::Search => 0,
            };
            let running = self.running.entry(account).or_default();
            running.reads += 1;
            running.searches += usize::from(read == Read::Search);
            self.called.insert(waiting.ticket);
            if let Some(waker) = waiting.waker {
                waker.wake();
            }
        }
    }

    fn next(&mut self) -> Option<(AccountId, Read, Waiting)> {
        let is_search_due = self.pages_in_a_row >= PAGES_BEFORE_A_SEARCH;
        let order =
            if is_search_due { [Read::Search, Read::Page] } else { [Read::Page, Read::Search] };
        order.into_iter().find_map(|read| self.take(read))
    }

    /// The next read of a kind that there is room for.
    fn take(&mut self, read: Read) -> Option<(AccountId, Read, Waiting)> {
        let sum = |of: fn(&Running) -> usize| self.running.values().map(of).sum::<usize>();
        let (reads, searches) = (sum(|one| one.reads), sum(|one| one.searches));
        let is_full = match read {
            Read::Page => false,
            Read::Search => searches >= (self.at_once / 2).max(1),
        };
        if reads >= self.at_once || is_full {
            return None;
        }
        // One place is always another account's.
        let each = (self.at_once - 1).max(1);
        let (queue, running) = match read {
            Read::Page => (&mut self.pages, &self.running),
            Read::Search => (&mut self.searches, &self.running),
        };
        let (account, waiting) = queue.take(|account| {
            let own = running.get(account).copied().unwrap_or_default();
            own.reads < each && (read == Read::Page || own.searches < SEARCHES_EACH)
        })?;
        Some((account, read, waiting))
    }

    fn end(&mut self, account: AccountId, read: Read) {
        if let Some(running) = self.running.get_mut(&account) {
            running.reads -= 1;
            running.searches -= usize::from(read == Read::Search);
            if running.reads == 0 {
                self.running.remove(&account);
            }
        }
        self.call();
    }
}

impl Queue {
    fn push(&mut self, account: AccountId, ticket: u64) {
        let own = self.by_account.entry(account).or_insert_with(|| {
            self.order.push_back(account);
            VecDeque::new()
        });
        own.push_back(Waiting { ticket, waker: None });
    }

    /// Takes the first read of the first account that has room. Its other reads come after those
    /// of the other accounts.
    fn take(&mut self, has_room: impl Fn(&AccountId) -> bool) -> Option<(AccountId, Waiting)> {
        let place = self.order.iter().position(has_room)?;
        let account = self.order.remove(place)?;
        let own = self.by_account.get_mut(&account)?;
        let waiting = own.pop_front()?;
        if own.is_empty() {
            self.by_account.remove(&account);
        } else {
            self.order.push_back(account);
        }
        Some((account, waiting))
    }

    fn find(&mut self, account: AccountId, ticket: u64) -> Option<&mut Waiting> {
        let own = self.by_account.get_mut(&account)?;
        // Tickets are given in order.
        let place = own.binary_search_by_key(&ticket, |waiting| waiting.ticket).ok()?;
        own.get_mut(place)
    }

    fn remove(&mut self, account: AccountId, ticket: u64) {
        let Some(own) = self.by_account.get_mut(&account) else { return };
        own.retain(|waiting| waiting.ticket != ticket);
        if own.is_empty() {
            self.by_account.remove(&account);
            self.order.retain(|one| *one != account);
        }
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures_executor::block_on;
    use futures_util::FutureExt;

    use super::*;

    type Future<'a> = Pin<Box<dyn std::future::Future<Output = ReadTurn> + 'a>>;

    fn turns(at_once: usize) -> ReadTurns {
        ReadTurns::new(NonZeroUsize::new(at_once).unwrap())
    }

    fn account(n: u128) -> AccountId {
        AccountId::from_u128(n)
    }

    /// Reads of an account that all ask now: those whose turn it is, and those that wait.
    fn many(
        turns: &ReadTurns,
        of: u128,
        read: Read,
        count: usize,
    ) -> (Vec<ReadTurn>, Vec<Future<'_>>) {
        let (mut running, mut waiting) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut asks: Future<'_> = Box::pin(turns.take(account(of), read));
            match asks.as_mut().now_or_never() {
                Some(turn) => running.push(turn),
                None => waiting.push(asks),
            }
        }
        (running, waiting)
    }

    fn now(waiting: &mut Future<'_>) -> Option<ReadTurn> {
        waiting.as_mut().now_or_never()
    }

    #[test]
    fn forty_eight_searches_of_an_account_delay_neither_its_pages_nor_those_of_others() {
        let turns = turns(4);
        let (running, waiting) = many(&turns, 1, Read::Search, 48);
        assert_eq!((running.len(), waiting.len()), (1, 47), "one at a time");
        for page in [1, 2, 3] {
            assert!(turns.take(account(page), Read::Page).now_or_never().is_some(), "{page}");
        }
        assert!(turns.take(account(2), Read::Search).now_or_never().is_some());
    }

    #[test]
    fn forty_eight_pages_of_an_account_leave_a_place_to_the_others() {
        let turns = turns(4);
        let (running, waiting) = many(&turns, 1, Read::Page, 48);
        assert_eq!((running.len(), waiting.len()), (3, 45));
        assert!(turns.take(account(2), Read::Page).now_or_never().is_some());
    }

    #[test]
    fn searches_of_all_accounts_take_half_of_the_places() {
        let turns = turns(4);
        let mut asked: Vec<_> = (1..=3).map(|of| many(&turns, of, Read::Search, 1)).collect();
        let running: Vec<usize> = asked.iter().map(|(running, _)| running.len()).collect();
        assert_eq!(running, [1, 1, 0]);
        asked[0].0.clear();
        assert!(now(&mut asked[2].1[0]).is_some());
    }

    #[test]
    fn accounts_take_turns_and_pages_come_before_searches() {
        let turns = turns(1);
        let (mut running, mut first) = many(&turns, 1, Read::Page, 3);
        let (_, mut search) = many(&turns, 2, Read::Search, 1);
        let (_, mut other) = many(&turns, 3, Read::Page, 1);
        running.clear();
        let turn = now(&mut first[0]).unwrap();
        assert!(now(&mut other[0]).is_none());
        drop(turn);
        let turn = now(&mut other[0]).unwrap();
        assert!(now(&mut first[1]).is_none(), "the other account came before its next page");
        drop(turn);
        let turn = now(&mut first[1]).unwrap();
        assert!(now(&mut search[0]).is_none());
        drop(turn);
        assert!(now(&mut search[0]).is_some());
    }

    #[test]
    fn a_search_waits_for_at_most_sixteen_pages_that_came_later() {
        let turns = turns(1);
        let (mut running, mut pages) = many(&turns, 1, Read::Page, 30);
        let (_, mut search) = many(&turns, 2, Read::Search, 1);
        let mut before = 0;
        loop {
            running.clear();
            if now(&mut search[0]).is_some() {
                break;
            }
            running.push(now(&mut pages[0]).unwrap());
            drop(pages.remove(0));
            before += 1;
        }
        assert_eq!(before, PAGES_BEFORE_A_SEARCH);
    }

    #[test]
    fn a_place_that_is_dropped_is_given_up() {
        block_on(async {
            let turns = turns(1);
            let turn = turns.take(account(1), Read::Search).await;
            let (_, mut called) = many(&turns, 2, Read::Page, 1);
            let (_, mut waits) = many(&turns, 3, Read::Search, 2);
            drop(turn);
            called.clear();
            drop(waits.pop());
            assert!(now(&mut waits[0]).is_some());
            drop(waits);
            let line = lock(&turns.line);
            assert!(line.running.is_empty() && line.called.is_empty());
            assert!(line.pages.order.is_empty() && line.searches.by_account.is_empty());
        });
    }
}
