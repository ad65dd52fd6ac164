//! How long a message may be submitted after the check that it still may be sent.
//!
//! A claim looks at what may stand in the way of a message: its recipient opted out, its account
//! was suspended, its sender name was rejected, its number was released, its campaign was
//! cancelled. What a route has not submitted soon after that, it gives back
//! ([`HandOver::GivenBack`](super::HandOver::GivenBack)), and the next claim looks again. So
//! nothing is submitted more than a second after such a change, however slow the network is and
//! whichever program made the change. Messages that this program made a change for are
//! [recalled](Recalls): they are looked at again however new they are.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::ids::AccountId;
use crate::phone::E164;
use crate::time::Timestamp;

/// For how long after its check a message may be submitted. What is left of the promised second is
/// for the way to the network.
pub const FRESH_FOR: Duration = Duration::from_millis(900);
/// How many recalls are remembered. Messages of older ones have long gone stale.
const MOST_RECALLS: usize = 10_000;

/// A check of whether a message may be sent: when it was made, and whether it still counts.
#[derive(Clone)]
pub struct Look {
    at: Timestamp,
    watch: Option<Watch>,
}

/// What ends the validity of a check: its age, or a recall.
#[derive(Clone)]
struct Watch {
    clock: Arc<dyn Clock>,
    recalls: Arc<Recalls>,
    /// How many recalls there had been before the look.
    before: u64,
    account: AccountId,
    to: E164,
}

impl Look {
    /// A look at this time. Until it is watched, it never ends.
    pub fn at(at: Timestamp) -> Self {
        Self { at, watch: None }
    }

    /// The same look at a message of this account to this number. It ends by this clock, or by a
    /// recall after the first `before` ones.
    pub(crate) fn watched(
        self,
        (account, to): (AccountId, E164),
        clock: &Arc<dyn Clock>,
        (recalls, before): (&Arc<Recalls>, u64),
    ) -> Self {
        let (clock, recalls) = (Arc::clone(clock), Arc::clone(recalls));
        Self { at: self.at, watch: Some(Watch { clock, recalls, before, account, to }) }
    }

    /// When it was, at the latest.
    pub fn time(&self) -> Timestamp {
        self.at
    }

    /// For how much longer the message may be submitted; zero once it has to be given back.
    pub fn fresh_for(&self) -> Duration {
        let Some(Watch { clock, recalls, before, account, to }) = &self.watch else {
            return Duration::MAX;
        };
        if recalls.concern(*account, *to, *before) {
            return Duration::ZERO;
        }
        FRESH_FOR.saturating_sub(clock.now().since(self.at))
    }

    /// Whether the message may be submitted now. Otherwise a route gives it back.
    pub fn is_fresh(&self) -> bool {
        !self.fresh_for().is_zero()
    }
}

/// Looks are equal if they were at the same time.
impl PartialEq for Look {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Look {}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Look").field(&self.at).finish()
    }
}

/// Which messages have to be looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Recall {
    /// Those of this account to this number.
    Recipient(AccountId, E164),
    /// All of this account.
    Account(AccountId),
    /// All that were looked at before, of every account.
    All,
}

/// The recalls of this program, counted from 1.
#[derive(Debug, Default)]
pub(crate) struct Recalls {
    count: AtomicU64,
    last: Mutex<Last>,
}

/// The number of the last recall of each kind.
#[derive(Debug, Default)]
struct Last {
    by_recall: BTreeMap<Recall, u64>,
    in_order: VecDeque<(Recall, u64)>,
}

impl Recalls {
    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Recalls what was looked at before now. Called once the change is committed.
    pub(crate) fn note(&self, recall: Recall) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.count() + 1;
        last.by_recall.insert(recall, number);
        last.in_order.push_back((recall, number));
        if last.in_order.len() > MOST_RECALLS
            && let Some((oldest, number)) = last.in_order.pop_front()
            && last.by_recall.get(&oldest) == Some(&number)
        {
            last.by_recall.remove(&oldest);
        }
        self.count.store(number, Ordering::SeqCst);
    }

    /// Whether one after the first `before` concerns a message of this account to this number.
    fn concern(&self, account: AccountId, to: E164, before: u64) -> bool {
        if self.count() <= before {
            return false;
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        [Recall::Recipient(account, to), Recall::Account(account), Recall::All]
            .iter()
            .any(|recall| last.by_recall.get(recall).is_some_and(|number| *number > before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::samples::{account_id, now, person};

    #[test]
    fn a_look_counts_for_nine_tenths_of_a_second() {
        let clock = Arc::new(ManualClock::at(now()));
        let watching: Arc<dyn Clock> = clock.clone();
        let recalls = Arc::new(Recalls::default());
        let of = (account_id(), person());
        let look = Look::at(now()).watched(of, &watching, (&recalls, 0));
        clock.advance(Duration::from_millis(899));
        assert_eq!(look.fresh_for(), Duration::from_millis(1));
        clock.advance(Duration::from_millis(1));
        assert!(!look.is_fresh());
        assert!(Look::at(now()).is_fresh(), "nobody watches it");
    }

    #[test]
    fn a_recall_ends_the_looks_before_it_at_what_it_concerns() {
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(now()));
        let recalls = Arc::new(Recalls::default());
        let (other_account, other) = (AccountId::from_u128(9), crate::samples::our_number());
        let look = |of| {
            let recalls = (&recalls, recalls.count());
            Look::at(now()).watched(of, &clock, recalls)
        };
        let theirs = [(account_id(), person()), (account_id(), other), (other_account, person())];
        let looks = theirs.map(look);
        recalls.note(Recall::Recipient(account_id(), person()));
        assert_eq!(looks.clone().map(|look| look.is_fresh()), [false, true, true]);
        assert!(theirs.map(look).iter().all(Look::is_fresh), "later looks know of it");
        recalls.note(Recall::Account(account_id()));
        assert_eq!(looks.clone().map(|look| look.is_fresh()), [false, false, true]);
        recalls.note(Recall::All);
        assert_eq!(looks.map(|look| look.is_fresh()), [false; 3]);
    }

    #[test]
    fn a_bounded_number_of_recalls_is_remembered() {
        let recalls = Recalls::default();
        for number in 0..MOST_RECALLS as u128 + 5 {
            recalls.note(Recall::Account(AccountId::from_u128(number)));
        }
        assert_eq!(recalls.last.lock().unwrap().by_recall.len(), MOST_RECALLS);
        assert!(recalls.concern(AccountId::from_u128(5), person(), 0));
        assert!(!recalls.concern(AccountId::from_u128(4), person(), 0));
    }
}
