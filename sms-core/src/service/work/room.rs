//! Room for new messages: what a worker of this program holds from the start, before anybody has to
//! claim it.
//!
//! There is room for a message while a worker offers it (`Sms::dispatch_held`), the route takes
//! messages of its lane, and the last claim left nothing due behind in that lane of the route: a
//! new message overtakes none that waits in its lane, and no account goes before its turn. For
//! bulk, nothing may be left in the normal lane either. A message that finds no room waits in the
//! queue too, and ends the offer of its lane until a claim finds that empty.
//!
//! [`from_birth`](super::from_birth) draws the life of a held message.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use super::hold::Hold;
use crate::dispatch::held::HeldMessage;
use crate::dispatch::queue::LeaseToken;
use crate::ids::MessageId;
use crate::lane::{Lane, RouteLane};
use crate::time::Timestamp;

/// The most messages of a lane of a route that are held from the start and not recorded yet.
const MOST_HELD: usize = 500;
/// How often a message whose commit is in doubt is given back.
const TRY_EVERY: Duration = Duration::from_secs(1);

/// What this program holds from the start.
#[derive(Debug, Default)]
pub(in crate::service) struct Rooms(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many workers offer room.
    offers: usize,
    /// How many workers take what is committed: those that offer room, and those that wait for the
    /// last commits before they stop.
    workers: usize,
    /// How many commits are under way.
    committing: usize,
    /// The lanes of which nothing due waits in the queue, as far as this program knows.
    empty: BTreeSet<RouteLane>,
    /// Counts up whenever a message had to go to the queue.
    queued: u64,
    /// When a message of each lane last had to, by that count.
    last_queued: BTreeMap<RouteLane, u64>,
    /// How many messages of each lane are held.
    taken: BTreeMap<RouteLane, usize>,
    leases: BTreeSet<LeaseToken>,
    /// Committed messages that no worker has taken yet.
    born: VecDeque<Born>,
    /// Messages of which it is not known whether they were committed.
    doubtful: Vec<Doubtful>,
    /// The workers that wait.
    wakers: Vec<Waker>,
}

/// Messages of one send that were committed as held.
#[derive(Debug)]
pub(super) struct Born {
    pub(super) messages: Vec<HeldMessage>,
    pub(super) hold: Hold,
    /// How many recalls there had been before they were committed.
    pub(super) recalls: u64,
    /// When their lease runs out.
    pub(super) until: Timestamp,
    pub(super) permit: Arc<Permit>,
}

/// Messages that may have been committed as held, and that no worker has.
#[derive(Debug)]
pub(super) struct Doubtful {
    pub(super) messages: Vec<MessageId>,
    pub(super) hold: Hold,
    pub(super) until: Timestamp,
    pub(super) again_at: Timestamp,
}

impl Doubtful {
    /// The same for another try; `None` once the lease has run out, after which others claim the
    /// messages.
    pub(super) fn again(self, now: Timestamp) -> Option<Self> {
        (now < self.until).then_some(Self { again_at: now.plus(TRY_EVERY), ..self })
    }
}

/// The room that the messages of a send take, and their lease, which is renewed until this is
/// dropped.
#[derive(Debug)]
pub(super) struct Permit {
    rooms: Weak<Rooms>,
    of: RouteLane,
    count: usize,
    token: LeaseToken,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Some(rooms) = self.rooms.upgrade() else { return };
        let mut state = rooms.state();
        state.leases.remove(&self.token);
        if let Some(taken) = state.taken.get_mut(&self.of) {
            *taken = taken.saturating_sub(self.count);
        }
    }
}

/// A worker's offer of room, until it is closed. What no worker has taken when it is dropped is in
/// doubt.
pub(super) struct Offer<'a> {
    rooms: &'a Rooms,
    is_open: bool,
}

impl Offer<'_> {
    /// Offers no more. The worker still takes what is being committed.
    pub(super) fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let mut state = self.rooms.state();
            state.offers = state.offers.saturating_sub(1);
        }
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        self.close();
        let mut state = self.rooms.state();
        state.workers = state.workers.saturating_sub(1);
        if state.workers > 0 {
            return;
        }
        let left = std::mem::take(&mut state.born);
        state.doubtful.extend(left.iter().map(|born| Doubtful {
            messages: born.messages.iter().map(|held| held.message.id).collect(),
            hold: born.hold,
            until: born.until,
            again_at: born.hold.since,
        }));
        drop(state);
        // Their permits lock the state.
        drop(left);
    }
}

impl State {
    fn wake(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// Whether a worker offers room, and a new message of this lane overtakes none.
    fn is_open(&self, of: &RouteLane) -> bool {
        let goes_before = match of.lane {
            Lane::Normal => None,
            Lane::Bulk => Some(RouteLane::new(of.route.clone(), Lane::Normal)),
        };
        self.offers > 0
            && self.empty.contains(of)
            && goes_before.is_none_or(|normal| self.empty.contains(&normal))
    }
}

/// What a claim left in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing that is due.
    Empty,
    /// Something that may be due.
    Waits,
}

impl Rooms {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers room from now on.
    pub(super) fn offer(&self) -> Offer<'_> {
        let mut state = self.state();
        state.offers += 1;
        state.workers += 1;
        Offer { rooms: self, is_open: true }
    }

    /// How often a message had to go to the queue until now: to be passed to
    /// [`claimed`](Self::claimed) when the claim that begins now has ended.
    pub(super) fn queued(&self) -> u64 {
        self.state().queued
    }

    /// A claim ended that began when `queued` messages had gone to the queue. It left this in the
    /// lanes that it read.
    pub(super) fn claimed(&self, queued: u64, lanes: impl Iterator<Item = (After, RouteLane)>) {
        let mut state = self.state();
        for (after, of) in lanes {
            let came_meanwhile = state.last_queued.get(&of).is_some_and(|last| *last > queued);
            match after {
                After::Empty if came_meanwhile => {}
                After::Empty => {
                    state.empty.insert(of);
                }
                After::Waits => {
                    state.empty.remove(&of);
                }
            }
        }
    }

    /// A message of this lane goes to the queue.
    pub(super) fn goes_to_queue(&self, of: &RouteLane) {
        let mut state = self.state();
        state.queued += 1;
        state.empty.remove(of);
        let count = state.queued;
        match state.last_queued.get_mut(of) {
            Some(last) => *last = count,
            None => drop(state.last_queued.insert(of.clone(), count)),
        }
    }

    pub(super) fn is_open(&self, of: &RouteLane) -> bool {
        self.state().is_open(of)
    }

    /// Takes room for this many messages of a lane, if there is some.
    pub(super) fn take(&self, of: &RouteLane, count: usize) -> bool {
        let mut state = self.state();
        if !state.is_open(of) {
            return false;
        }
        let taken = match state.taken.get_mut(of) {
            Some(taken) => taken,
            None => state.taken.entry(of.clone()).or_default(),
        };
        let is_free = *taken + count <= MOST_HELD;
        if is_free {
            *taken += count;
        }
        is_free
    }

    /// The permit for room that was taken, under a lease that is renewed from now on. The commit
    /// begins, and is [ended](Self::commit_ended) later.
    pub(super) fn permit(
        self: &Arc<Self>,
        of: RouteLane,
        count: usize,
        token: LeaseToken,
    ) -> Permit {
        let mut state = self.state();
        state.leases.insert(token);
        state.committing += 1;
        Permit { rooms: Arc::downgrade(self), of, count, token }
    }

    /// A commit ended, and what it committed was put where it belongs.
    pub(super) fn commit_ended(&self) {
        let mut state = self.state();
        state.committing = state.committing.saturating_sub(1);
        if state.committing == 0 {
            state.wake();
        }
    }

    /// Whether a worker that offers no more may stop: nothing is being committed that it would have
    /// to take.
    pub(super) fn are_quiet(&self) -> bool {
        let state = self.state();
        state.committing == 0 && state.born.is_empty()
    }

    /// The leases of the messages held.
    pub(super) fn leases(&self) -> BTreeSet<LeaseToken> {
        self.state().leases.clone()
    }

    /// Takes what was committed; wakes `waker` when there is more.
    pub(super) fn born(&self, waker: &Waker) -> VecDeque<Born> {
        let mut state = self.state();
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
        std::mem::take(&mut state.born)
    }

    /// Takes the messages in doubt that are to be tried now.
    pub(super) fn doubtful(&self, now: Timestamp) -> Vec<Doubtful> {
        let mut state = self.state();
        state.doubtful.extract_if(.., |doubtful| doubtful.again_at <= now).collect()
    }

    /// Puts messages in doubt.
    pub(super) fn doubt(&self, doubtful: Doubtful) {
        self.state().doubtful.push(doubtful);
    }

    pub(super) fn put_born(&self, born: Born) -> Result<(), Born> {
        let mut state = self.state();
        if state.workers == 0 {
            return Err(born);
        }
        state.born.push_back(born);
        state.wake();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::RouteName;

    fn lane(lane: Lane) -> RouteLane {
        RouteLane::new(RouteName::new("live"), lane)
    }

    /// Which lanes are open: normal, bulk.
    fn open(rooms: &Rooms) -> [bool; 2] {
        Lane::ALL.map(|it| rooms.is_open(&lane(it)))
    }

    fn claim(rooms: &Rooms, queued: u64, normal: After, bulk: After) {
        let lanes = [(normal, lane(Lane::Normal)), (bulk, lane(Lane::Bulk))];
        rooms.claimed(queued, lanes.into_iter());
    }

    #[test]
    fn a_lane_is_open_while_nothing_waits_in_it_and_bulk_while_nothing_waits_at_all() {
        let rooms = Rooms::default();
        let _offer = rooms.offer();
        assert_eq!(open(&rooms), [false, false], "no claim has looked");
        let cases = [
            (After::Empty, After::Empty, [true, true]),
            (After::Empty, After::Waits, [true, false]),
            (After::Waits, After::Empty, [false, false]),
            (After::Waits, After::Waits, [false, false]),
        ];
        for (normal, bulk, expected) in cases {
            claim(&rooms, rooms.queued(), normal, bulk);
            assert_eq!(open(&rooms), expected, "{normal:?} {bulk:?}");
        }
    }

    #[test]
    fn what_goes_to_the_queue_during_a_claim_keeps_its_lane_closed() {
        let rooms = Rooms::default();
        let _offer = rooms.offer();
        let before = rooms.queued();
        rooms.goes_to_queue(&lane(Lane::Bulk));
        claim(&rooms, before, After::Empty, After::Empty);
        assert_eq!(open(&rooms), [true, false]);
        rooms.goes_to_queue(&lane(Lane::Normal));
        assert_eq!(open(&rooms), [false, false]);
        claim(&rooms, rooms.queued(), After::Empty, After::Empty);
        assert_eq!(open(&rooms), [true, true]);
    }

    #[test]
    fn without_a_worker_nothing_is_open() {
        let rooms = Rooms::default();
        claim(&rooms, 0, After::Empty, After::Empty);
        assert_eq!(open(&rooms), [false, false]);
        let offer = rooms.offer();
        assert_eq!(open(&rooms), [true, true]);
        drop(offer);
        assert_eq!(open(&rooms), [false, false]);
    }

    #[test]
    fn bulk_takes_no_room_of_what_somebody_waits_for() {
        let rooms = Arc::new(Rooms::default());
        let _offer = rooms.offer();
        claim(&rooms, 0, After::Empty, After::Empty);
        assert!(rooms.take(&lane(Lane::Bulk), MOST_HELD));
        assert!(!rooms.take(&lane(Lane::Bulk), 1));
        assert!(rooms.take(&lane(Lane::Normal), 1));
        drop(rooms.permit(lane(Lane::Bulk), MOST_HELD, LeaseToken(1)));
        assert!(rooms.take(&lane(Lane::Bulk), 1), "it is free again");
    }

    #[test]
    fn a_worker_that_offers_no_more_is_told_when_the_last_commit_has_ended() {
        let rooms = Arc::new(Rooms::default());
        let mut offer = rooms.offer();
        offer.close();
        assert!(rooms.are_quiet());
        let permit = rooms.permit(lane(Lane::Normal), 1, LeaseToken(1));
        assert!(!rooms.are_quiet());
        let hold = Hold { token: LeaseToken(1), since: crate::samples::now() };
        let (messages, until, permit) = (Vec::new(), hold.since, Arc::new(permit));
        assert!(rooms.put_born(Born { messages, hold, recalls: 0, until, permit }).is_ok());
        rooms.commit_ended();
        assert!(!rooms.are_quiet(), "nobody has taken what was committed");
        assert_eq!(rooms.born(Waker::noop()).len(), 1);
        assert!(rooms.are_quiet());
    }
}
