//! The shared state of a run: the clock, whether faults occur, the model, the records, the trace.
//!
//! The state is behind one lock that is never held over an `await`, and never while a task is
//! polled or dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use sms_core::clock::{Clock, ManualClock};
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::upkeep::Due;

use super::air::Air;
use super::dice::Dice;
use super::executor::TaskId;
use super::follower::Follower;
use super::model::{Check, Model, Moment};
use super::trace::{Detail, Line, Trace};
use super::visits::Visits;

/// Whether faults occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weather {
    /// Networks and receivers are slow, repeat, refuse and stall; answers get lost.
    Stormy,
    /// Everything works, so that all work must complete.
    Calm,
}

/// The shared state of a run.
pub struct World {
    clock: Arc<ManualClock>,
    books: Arc<dyn Store>,
    log: Arc<dyn Store>,
    state: Mutex<State>,
}

/// The state behind the lock.
#[derive(Debug)]
pub struct State {
    /// The step under way.
    pub step: u64,
    /// The task being polled, or 0.
    pub task: TaskId,
    /// The choices of everything outside the service.
    pub dice: Dice,
    /// Whether faults occur.
    pub weather: Weather,
    /// What happened.
    pub trace: Trace,
    /// The first violation.
    pub violation: Option<String>,
    /// The model.
    pub model: Model,
    /// The network's hand-overs and news.
    pub air: Air,
    /// The webhook receivers.
    pub visits: Visits,
    /// Those who follow the event log.
    pub followers: Vec<Follower>,
    /// How much a call that tidies removes at most. Beside another store it is all there is: each
    /// store chooses among what is equally old, and has other work of its own to count.
    pub tidied_at_once: usize,
    /// In how many of a thousand calls the store fails before, and in how many after.
    pub shakiness: u64,
    /// How often it did.
    pub faults: u64,
    /// The tasks that saw it.
    pub shaken: BTreeSet<TaskId>,
    timers: BTreeMap<(Timestamp, u64), Waker>,
    timers_set: u64,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("now", &self.now()).finish_non_exhaustive()
    }
}

impl World {
    /// A world over the memory store itself, which the checks read directly, without its wrappers.
    /// They read the event log in `log`, the store below the stage.
    pub fn new(
        clock: Arc<ManualClock>,
        books: Arc<dyn Store>,
        log: Arc<dyn Store>,
        dice: Dice,
        trace: Trace,
    ) -> Self {
        let mut dice = dice;
        let state = State {
            step: 0,
            task: 0,
            visits: Visits::new(&mut dice),
            dice,
            weather: Weather::Stormy,
            trace,
            violation: None,
            model: Model::default(),
            air: Air::default(),
            followers: Vec::new(),
            tidied_at_once: 50,
            shakiness: 0,
            faults: 0,
            shaken: BTreeSet::new(),
            timers: BTreeMap::new(),
            timers_set: 0,
        };
        Self { clock, books, log, state: Mutex::new(state) }
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock itself.
    pub fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    /// When the next follow-up is due.
    pub fn next_comeback(&self) -> Option<Timestamp> {
        self.books.next(Due::FollowUps).now_or_never().and_then(Result::ok).flatten()
    }

    /// Reads or changes the shared state.
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.lock())
    }

    /// Draws whether the store fails for the task under way, and records it if so.
    pub fn store_fails(&self) -> bool {
        self.with(|state| {
            let chance = state.shakiness;
            let fails =
                chance > 0 && state.weather == Weather::Stormy && state.dice.permille(chance);
            if fails {
                state.faults += 1;
                state.shaken.insert(state.task);
            }
            fails
        })
    }

    /// Whether the store has failed for the task under way.
    pub fn is_shaken(&self) -> bool {
        self.with(|state| state.shaken.contains(&state.task))
    }

    /// Adds a line to the trace.
    pub fn note(&self, word: &'static str, detail: Detail) {
        let at = self.now();
        let mut state = self.lock();
        let (step, task) = (state.step, state.task);
        state.trace.add(Line { step, at, task, word, detail });
    }

    /// Compares what a commit did with what the model says it must do.
    pub fn judge(&self, act: impl FnOnce(&mut Model, &Moment<'_>) -> Check) {
        let now = self.now();
        let mut state = self.lock();
        if state.violation.is_some() {
            return;
        }
        let (books, log) = (&*self.books, &*self.log);
        let moment = Moment { books, log, now, step: state.step, task: state.task };
        if let Err(what) = act(&mut state.model, &moment) {
            state.violation = Some(what);
        }
    }

    /// Records a violation, if it is the first.
    pub fn check(&self, result: Check) {
        if let Err(what) = result {
            self.lock().violation.get_or_insert(what);
        }
    }

    /// Yields: waits until the driver polls the task again.
    pub async fn turn(&self) {
        let mut waited = false;
        poll_fn(|context| {
            if waited {
                return Poll::Ready(());
            }
            waited = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// Waits until the clock shows `until`.
    pub async fn sleep_until(&self, until: Timestamp) {
        let mut timer = Timer { world: self, key: None };
        poll_fn(|context| {
            if self.now() >= until {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            let mut state = self.lock();
            let next = state.timers_set + 1;
            let key = *timer.key.get_or_insert((until, next));
            state.timers_set = next;
            state.timers.insert(key, waker);
            Poll::Pending
        })
        .await;
    }

    /// Waits for `length`.
    pub async fn sleep(&self, length: Duration) {
        self.sleep_until(self.now().plus(length)).await;
    }

    /// Moves the clock on, and wakes the tasks that waited for it.
    pub fn advance_to(&self, to: Timestamp) {
        self.clock.advance_to(to);
        let mut state = self.lock();
        while let Some(first) = state.timers.first_entry() {
            if first.key().0 > to {
                break;
            }
            first.remove().wake();
        }
    }

    /// The earliest moment that a task waits for.
    pub fn next_timer(&self) -> Option<Timestamp> {
        self.lock().timers.keys().next().map(|(at, _)| *at)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere is reported by itself; the run ends with it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a timer whose task was dropped.
struct Timer<'a> {
    world: &'a World,
    key: Option<(Timestamp, u64)>,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.world.lock().timers.remove(&key);
        }
    }
}
