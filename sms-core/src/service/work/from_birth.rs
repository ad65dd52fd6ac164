//! Hands over messages that this program holds from the start: they were committed with its lease,
//! and come through its memory, without a claim.
//!
//! # The life of a held message
//!
//! ```text
//! accepted and due
//!    |
//!    |  Sms::hold: is the route ready, and is there room for it?
//!    +--- no ------------------------------------------------------------> waits in the queue,
//!    | yes: takes a permit, a lease and the status `sending`               without a lease
//!    v                                                                      ^          |
//! commit of the send                                                        |          |
//!    +--- refused or stale: there is no message; the permit is dropped      |          v
//!    +--- no answer ------------------------+                               |     a claim checks
//!    | committed                            v                               |     it, takes a new
//!    v                                  in doubt: given back every second --+     lease, and hands
//! in memory (Born)                          ^     until its lease ends      |     it over
//!    +--- no worker is left ----------------+                               |     (dispatch_due)
//!    | taken by dispatch_held                                               |
//!    |                                                                      |
//!    +--- the worker stops, the route is down, the lease ends soon, --------+
//!    |    or the check of the message is too old: given back                |
//!    v                                                                      |
//! handed over to its route                                                  |
//!    | its outcome, noted in the journal: its room in the route is free     |
//!    v                                                                      |
//! outcome recorded, many in one commit                                      |
//!    +--- the store fails: kept, and tried again (record_kept)              |
//!    +--- for now refused, given back, or without an answer: comes back ----+
//!    | settled
//!    v
//! `sent`, `failed` or `undelivered`: out of the queue; the permit is dropped
//! ```
//!
//! If the program ends at any point after the commit, the lease runs out, and a claim of any
//! program takes the message over. Unless the [journal](super::journalled) says more, that counts
//! as a hand-over without an answer: the message may have been sent.
//!
//! [`reserve`](super::reserve) has the first two steps, [`room`](super::room) the permits, what is
//! in memory and what is in doubt, and this module the rest. A message that is claimed enters the
//! same way at "handed over": see [`Sms::dispatch_due`].

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Fuse, FutureExt};
use futures_util::stream::FuturesUnordered;

use super::group::{Carried, Group, group_by_route};
use super::held::Known;
use super::hold::Hold;
use super::room::{Born, Offer, Permit};
use super::{DispatchFailed, Dispatched, RECORDS_AT_ONCE, not_configured};
use crate::dispatch::outcome::{OutcomePlan, OutcomeRecorded};
use crate::error::Error;
use crate::hand_over::{HandOver, HandedOver, Room};
use crate::ids::MessageId;
use crate::lane::Lane;
use crate::route::{Fitness, RouteKind};
use crate::service::sms::Sms;
use crate::service::wake::Work;

/// The part of a lease that has to be left at a hand-over: one renewal.
const LEFT: u32 = 3;
/// The most outcomes that are recorded together.
const AT_ONCE: usize = 500;
/// This many outcomes do not wait for the end of a pause, or of the record under way. Fewer do: a
/// commit costs a store much the same whatever is in it.
const WORTH_A_RECORD: usize = 50;
/// Outcomes that hold this many thousandths of a route's rooms do not wait either, because messages
/// may wait for the rooms.
const MUCH_OF_A_ROUTE: usize = 250;

/// An outcome, and the room that its message takes in its route and among what is held.
type Outcome = (OutcomePlan, Room, Option<Arc<Permit>>);

/// Outcomes that wait to be recorded.
#[derive(Default)]
struct Outcomes(Mutex<VecDeque<Outcome>>);

impl Outcomes {
    fn list(&self) -> MutexGuard<'_, VecDeque<Outcome>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, plan: OutcomePlan, room: Room, permit: Option<Arc<Permit>>) {
        self.list().push_back((plan, room, permit));
    }

    /// Whether they are recorded without a pause.
    fn are_urgent(&self) -> bool {
        let list = self.list();
        let held: usize = list.iter().map(|(_, room, _)| room.thousandths()).sum();
        list.len() >= WORTH_A_RECORD || held >= MUCH_OF_A_ROUTE
    }

    /// Takes the next ones; `None` if there are none.
    fn take(&self) -> Option<Known> {
        let mut list = self.list();
        let count = list.len().min(AT_ONCE);
        let mut known = Known::default();
        for (plan, room, permit) in list.drain(..count) {
            known.plans.push(plan);
            known.rooms.push(room);
            known.permits.extend(permit);
        }
        (count > 0).then_some(known)
    }
}

type Recording<'a> = BoxFuture<'a, Result<Dispatched, DispatchFailed>>;

impl Sms {
    /// Offers room to new messages that are due when they are accepted, and hands them over without
    /// a claim: they are committed with this program's lease, and come through its memory. Runs
    /// until `stop` resolves, no commit of such messages is under way, and all that it took is
    /// recorded; what was committed after `stop` is given back. Calls `done` after each record.
    /// What could not be recorded is kept for [`record_kept`](Sms::record_kept).
    ///
    /// A record begins when the last one has ended and the `pause` since its start is over:
    /// outcomes that arrive meanwhile share a commit. After a time without any, the first outcome
    /// is recorded at once; and 50, or those that hold a quarter of a route's [rooms](Room), do not
    /// wait. Pass `|| std::future::ready(())` for no pause.
    ///
    /// Beside it, [`dispatch_due`](Sms::dispatch_due) carries what waits in the queue: messages
    /// that were scheduled, are retried, or found no room. There is room on a route only while
    /// nothing due waits for it. Without this call, every message goes to the queue.
    ///
    /// Dropping it loses nothing: the leases of what it holds run out.
    pub async fn dispatch_held<P>(
        &self,
        stop: impl Future<Output = ()> + Send,
        mut pause: impl FnMut() -> P + Send,
        mut done: impl FnMut(Result<Dispatched, DispatchFailed>) + Send,
    ) where
        P: Future<Output = ()> + Send,
    {
        let outcomes = Outcomes::default();
        let mut carrying = HeldLoop {
            sms: self,
            outcomes: &outcomes,
            offer: self.inner.rooms.offer(),
            is_stopping: false,
            under_way: FuturesUnordered::new(),
            recording: FuturesUnordered::new(),
        };
        let mut stop = pin!(stop.fuse());
        let mut pausing = pin!(None);
        poll_fn(|context| {
            let mut pausing = Pausing { pause: &mut pause, until: pausing.as_mut() };
            carrying.poll(context, stop.as_mut(), &mut pausing, &mut done)
        })
        .await;
    }

    /// Gives messages back whose commit as held had no answer, as far as they were committed. They
    /// were not handed over.
    pub(super) async fn give_back_doubtful(&self) -> Result<(), Error> {
        let mut doubtful = self.inner.rooms.doubtful(self.now());
        while let Some(next) = doubtful.pop() {
            let (at, Hold { token, since: claimed_at }) = (self.now(), next.hold);
            let plan = |message: &MessageId| {
                let (message, result) = (*message, HandOver::GivenBack);
                OutcomePlan {
                    message,
                    token,
                    claimed_at,
                    result,
                    at,
                    held: None,
                    ids: self.ids(at),
                }
            };
            let plans = next.messages.iter().map(plan).collect();
            let recorded = self.store().dispatch_record(plans).await;
            let are_back = recorded.as_ref().is_ok_and(|all| all.contains(&OutcomeRecorded::Retry));
            if !are_back && let Some(again) = next.again(at) {
                self.inner.rooms.doubt(again);
            }
            if let Err(error) = recorded {
                for rest in doubtful {
                    self.inner.rooms.doubt(rest);
                }
                return Err(error.into());
            }
            if are_back {
                self.wake(Work::Dispatch);
            }
        }
        Ok(())
    }

    /// Hands messages of one route over, and puts their outcomes on the list as they arrive.
    async fn carry(&self, mut group: Group<'_>, outcomes: &Outcomes) {
        self.note_claim(std::slice::from_ref(&group));
        // Each goes with its own outcome.
        let permits = group.carried.iter_mut().map(|text| text.permit.take());
        let mut permits: Vec<_> = permits.collect();
        let Group { messages, carried, carrier } = &group;
        let Some(route) = carrier else {
            for (text, permit) in carried.iter().zip(permits) {
                outcomes.put(self.outcome(text, not_configured(text)), Room::unbounded(), permit);
            }
            return;
        };
        let mut hand_overs = route.hand_over(messages, self);
        while let Some(HandedOver { place, result, room }) = hand_overs.next().await {
            let Some(text) = carried.get(place) else { continue };
            let permit = permits.get_mut(place).and_then(Option::take);
            outcomes.put(self.outcome(text, result), room, permit);
        }
        if route.kind() == RouteKind::Real {
            // What the route said nothing about is claimed when its lease runs out.
            let silent = carried.iter().zip(&permits).filter(|(_, permit)| permit.is_some());
            let silent: Vec<MessageId> = silent.map(|(text, _)| text.held.message.id).collect();
            if !silent.is_empty() {
                self.note_settled(silent.into_iter());
            }
        }
    }

    async fn record_held(&self, mut known: Known) -> Result<Dispatched, DispatchFailed> {
        self.note_outcomes(&mut known);
        let mut done = Dispatched::default();
        match self.record(known).await {
            Ok(outcomes) => outcomes.into_iter().for_each(|outcome| done.count(outcome)),
            Err(error) => return Err(DispatchFailed { done, error }),
        }
        Ok(done)
    }

    /// Whether the messages can be handed over by this program now.
    fn is_in_time(&self, born: &Born) -> bool {
        let now = self.now();
        let route = born.messages.first().map(|held| &held.message.route);
        let is_down = route
            .and_then(|route| self.carrier(route))
            .is_some_and(|carrier| carrier.fitness(Lane::Normal) == Fitness::Down);
        let ends_soon = now.plus(self.inner.lease / LEFT) >= born.until;
        !is_down && !ends_soon
    }
}

/// The state of [`Sms::dispatch_held`].
struct HeldLoop<'a> {
    sms: &'a Sms,
    outcomes: &'a Outcomes,
    offer: Offer<'a>,
    is_stopping: bool,
    under_way: FuturesUnordered<BoxFuture<'a, ()>>,
    recording: FuturesUnordered<Recording<'a>>,
}

/// The pause after the start of the last record; `None` if it is over.
struct Pausing<'a, F, P> {
    pause: &'a mut F,
    until: Pin<&'a mut Option<P>>,
}

impl<F: FnMut() -> P, P: Future<Output = ()>> Pausing<'_, F, P> {
    fn begin(&mut self) {
        self.until.set(Some((self.pause)()));
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let is_over = match self.until.as_mut().as_pin_mut() {
            Some(until) => until.poll(context).is_ready(),
            None => true,
        };
        if is_over {
            self.until.set(None);
        }
        is_over
    }
}

impl Drop for HeldLoop<'_> {
    /// Keeps what is known and not recorded.
    fn drop(&mut self) {
        while let Some(known) = self.outcomes.take() {
            self.sms.inner.unrecorded.with(|kept| kept.push(known));
        }
    }
}

impl HeldLoop<'_> {
    fn poll<P: Future<Output = ()>>(
        &mut self,
        context: &mut Context<'_>,
        mut stop: Pin<&mut Fuse<impl Future<Output = ()>>>,
        pausing: &mut Pausing<'_, impl FnMut() -> P, P>,
        done: &mut impl FnMut(Result<Dispatched, DispatchFailed>),
    ) -> Poll<()> {
        loop {
            let mut moves = false;
            self.start(self.sms.inner.rooms.born(context.waker()));
            if !self.is_stopping && stop.as_mut().poll(context).is_ready() {
                self.is_stopping = true;
                self.offer.close();
                moves = true;
            }
            while let Poll::Ready(Some(())) = self.under_way.poll_next_unpin(context) {
                moves = true;
            }
            while self.is_time_to_record(pausing.is_over(context))
                && let Some(known) = self.outcomes.take()
            {
                self.recording.push(self.sms.record_held(known).boxed());
                pausing.begin();
            }
            while let Poll::Ready(Some(recorded)) = self.recording.poll_next_unpin(context) {
                done(recorded);
                moves = true;
            }
            let is_over = self.is_stopping
                && self.sms.inner.rooms.are_quiet()
                && self.under_way.is_empty()
                && self.recording.is_empty()
                && self.outcomes.list().is_empty();
            if is_over {
                return Poll::Ready(());
            }
            if !moves {
                return Poll::Pending;
            }
        }
    }

    /// Whether the outcomes that wait are recorded now.
    fn is_time_to_record(&self, is_pause_over: bool) -> bool {
        let is_next = self.recording.is_empty() && (is_pause_over || self.is_stopping);
        self.recording.len() < RECORDS_AT_ONCE && (is_next || self.outcomes.are_urgent())
    }

    /// Starts to hand messages over, or to give back those that have to be looked at again. A
    /// worker that stops gives all back.
    fn start(&mut self, born: VecDeque<Born>) {
        let mut messages = Vec::new();
        for born in born {
            let is_in_time = !self.is_stopping && self.sms.is_in_time(&born);
            let Born { messages: held, hold, recalls, until: _, permit } = born;
            for held in held {
                let look = self.sms.look(&held.message, hold.since, recalls);
                let (text, permit) = (held.outbound(look), Some(Arc::clone(&permit)));
                let carried = Carried { held: Arc::new(held), hold, permit };
                if is_in_time && text.look.is_fresh() {
                    messages.push((text, carried));
                } else {
                    let plan = self.sms.outcome(&carried, HandOver::GivenBack);
                    self.outcomes.put(plan, Room::unbounded(), carried.permit);
                }
            }
        }
        let (sms, outcomes) = (self.sms, self.outcomes);
        for group in group_by_route(messages.into_iter(), |name| sms.carrier(name)) {
            self.under_way.push(sms.carry(group, outcomes).boxed());
        }
    }
}
