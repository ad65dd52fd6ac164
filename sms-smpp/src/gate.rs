//! A gate with a bounded number of places, where what a person waits for goes before bulk.
//!
//! Those of one lane enter in the order in which they came. Of five that enter while both lanes
//! wait, four are normal and one is bulk: see [`LaneOrder`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::dispatch::lane::{Lane, LaneOrder};
use tokio::sync::oneshot;

/// A gate with a bounded number of places.
#[derive(Debug)]
pub struct Gate {
    places: usize,
    /// Places that bulk leaves free.
    reserved: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    order: LaneOrder,
    normal: VecDeque<oneshot::Sender<Pass>>,
    bulk: VecDeque<oneshot::Sender<Pass>>,
}

/// A place, held until this is dropped.
#[derive(Debug)]
pub struct Pass(Option<Arc<Gate>>);

impl Pass {
    /// How many places the gate has.
    pub fn places(&self) -> usize {
        self.0.as_ref().map_or(1, |gate| gate.places)
    }
}

impl Gate {
    /// A gate with this many places, of which bulk leaves `reserved` free.
    pub fn new(places: usize, reserved: usize) -> Arc<Self> {
        let (normal, bulk) = (VecDeque::new(), VecDeque::new());
        let state = State { free: places, order: LaneOrder::default(), normal, bulk };
        Arc::new(Self { places, reserved, state: Mutex::new(state) })
    }

    /// Waits for a place. Dropping the future gives up the turn, or the place.
    pub async fn enter(self: &Arc<Self>, lane: Lane) -> Pass {
        let (tell, told) = oneshot::channel();
        {
            let mut state = self.lock();
            state.waiting(lane).push_back(tell);
            self.admit(&mut state);
        }
        // The gate keeps the sender until it sends.
        told.await.unwrap_or(Pass(None))
    }

    /// Whether all places are free.
    pub fn is_idle(&self) -> bool {
        self.lock().free == self.places
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets in as many as there are places for.
    fn admit(self: &Arc<Self>, state: &mut State) {
        for lane in Lane::ALL {
            while state.waiting(lane).front().is_some_and(oneshot::Sender::is_closed) {
                state.waiting(lane).pop_front();
            }
        }
        loop {
            let State { free, order, normal, bulk } = state;
            let next = order.next(|lane| match lane {
                Lane::Normal => *free > 0 && !normal.is_empty(),
                Lane::Bulk => *free > self.reserved && !bulk.is_empty(),
            });
            let Some(lane) = next else { return };
            let Some(tell) = state.waiting(lane).pop_front() else { return };
            state.free -= 1;
            if let Err(mut refused) = tell.send(Pass(Some(Arc::clone(self)))) {
                // It no longer waits. Dropping the pass as it is would take the lock again.
                refused.0 = None;
                state.free += 1;
            }
        }
    }
}

impl State {
    fn waiting(&mut self, lane: Lane) -> &mut VecDeque<oneshot::Sender<Pass>> {
        match lane {
            Lane::Normal => &mut self.normal,
            Lane::Bulk => &mut self.bulk,
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(gate) = self.0.take() {
            let mut state = gate.lock();
            state.free += 1;
            gate.admit(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    /// A caller that waits, and is not let in yet.
    fn waiting(gate: &Arc<Gate>, lane: Lane) -> BoxFuture<'static, Pass> {
        let gate = Arc::clone(gate);
        let mut entering = async move { gate.enter(lane).await }.boxed();
        assert!((&mut entering).now_or_never().is_none());
        entering
    }

    fn entered(entering: &mut BoxFuture<'static, Pass>) -> Option<Pass> {
        entering.now_or_never()
    }

    #[tokio::test]
    async fn what_a_person_waits_for_is_next_however_many_wait_in_bulk() {
        let gate = Gate::new(1, 0);
        let held = gate.enter(Lane::Bulk).await;
        let mut bulk: Vec<_> = (0..1_000).map(|_| waiting(&gate, Lane::Bulk)).collect();
        let mut single = waiting(&gate, Lane::Normal);
        drop(held);
        let pass = entered(&mut single).expect("it is next");
        drop(pass);
        assert!(entered(&mut bulk[0]).is_some(), "then the first of the others");
    }

    #[tokio::test]
    async fn bulk_keeps_a_fifth() {
        let gate = Gate::new(1, 0);
        let mut held = Some(gate.enter(Lane::Bulk).await);
        let lanes = [Lane::Normal, Lane::Bulk];
        let mut callers: Vec<_> =
            lanes.iter().flat_map(|lane| (0..50).map(|_| (*lane, waiting(&gate, *lane)))).collect();
        let mut bulk = 0;
        for _ in 0..50 {
            drop(held.take());
            let place = callers.iter_mut().position(|(_, caller)| {
                held = entered(caller);
                held.is_some()
            });
            let (lane, _) = callers.remove(place.expect("somebody enters"));
            bulk += usize::from(lane == Lane::Bulk);
        }
        assert_eq!(bulk, 10);
    }

    #[tokio::test]
    async fn a_caller_that_gives_up_takes_no_place() {
        let gate = Gate::new(1, 0);
        let held = gate.enter(Lane::Normal).await;
        drop(waiting(&gate, Lane::Normal));
        let let_in = waiting(&gate, Lane::Normal);
        let mut last = waiting(&gate, Lane::Bulk);
        drop(held);
        // It was let in, and gives up before it notices.
        drop(let_in);
        assert!(entered(&mut last).is_some());
        drop(last);
        assert!(gate.is_idle());
    }

    #[tokio::test]
    async fn bulk_leaves_the_reserved_places_free() {
        let gate = Gate::new(3, 1);
        let _two = [gate.enter(Lane::Bulk).await, gate.enter(Lane::Bulk).await];
        let mut third = waiting(&gate, Lane::Bulk);
        let single = gate.enter(Lane::Normal).await;
        drop(single);
        assert!(entered(&mut third).is_none());
    }
}
