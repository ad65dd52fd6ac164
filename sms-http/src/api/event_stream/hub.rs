//! The open streams of a server, and the one task that looks for their news.
//!
//! The task runs while there are streams. It asks once for the accounts of all that wait: after a
//! signal that there may be events, of this server or another, and every second without one. After
//! a signal it asks several times, because a store may show an event only some time after its
//! commit.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sms_core::Sms;
use sms_core::error::causes;
use sms_core::event::position::Position;
use sms_core::ids::AccountId;
use sms_core::service::{Caller, Wake, Work};
use sms_core::store::StoreError;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::ending::Ending;
use super::limits::StreamLimits;

/// The streams that are open.
const OPEN: &str = "sms_event_streams";

/// The open streams. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Hub(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    sms: Sms,
    limits: StreamLimits,
    /// The service signals to it as long as it is held.
    _bell: Arc<dyn Wake>,
    rung: Arc<Notify>,
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    taken: BTreeMap<u64, Place>,
    next: u64,
    /// The task that looks for news.
    watcher: Option<JoinHandle<()>>,
    is_over: bool,
}

/// A seat, as the hub sees it.
#[derive(Debug)]
struct Place {
    caller: Caller,
    entrance: Entrance,
    /// Set while the stream has read its log up to here and waits.
    waits_after: Option<Position>,
    news: watch::Sender<Position>,
    ending: watch::Sender<Option<Ending>>,
}

/// How a caller came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entrance {
    Api,
    Console,
}

/// Why there is no seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The key has so many.
    OfKey(usize),
    OfServer,
    Stopping,
}

/// The place of one stream, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    hub: Hub,
    number: u64,
    /// An end of the log, once the account has news before it.
    news: watch::Receiver<Position>,
    ending: watch::Receiver<Option<Ending>>,
}

/// Rings for whatever may raise events.
#[derive(Debug)]
struct Bell(Arc<Notify>);

impl Wake for Bell {
    fn wake(&self, work: Work) {
        // Whoever writes events announces that there may be deliveries.
        if work == Work::Webhooks {
            self.0.notify_one();
        }
    }
}

impl Hub {
    pub(super) fn new(sms: Sms, limits: StreamLimits) -> Self {
        let rung = Arc::new(Notify::new());
        let bell: Arc<dyn Wake> = Arc::new(Bell(Arc::clone(&rung)));
        sms.wake_with(&bell);
        Self(Arc::new(Shared { sms, limits, _bell: bell, rung, seats: Mutex::default() }))
    }

    pub(super) fn sms(&self) -> &Sms {
        &self.0.sms
    }

    pub(super) fn count(&self) -> usize {
        self.seats().taken.len()
    }

    /// A seat for one more stream.
    pub(super) fn take(&self, caller: Caller, entrance: Entrance) -> Result<Seat, Full> {
        let limits = self.0.limits;
        let mut seats = self.seats();
        let is_same = |place: &&Place| (place.caller.key, place.entrance) == (caller.key, entrance);
        if seats.is_over {
            return Err(Full::Stopping);
        }
        if seats.taken.values().filter(is_same).count() >= limits.per_key {
            return Err(Full::OfKey(limits.per_key));
        }
        if seats.taken.len() >= limits.in_all {
            return Err(Full::OfServer);
        }
        let (news, heard) = watch::channel(Position::START);
        let (ending, ends) = watch::channel(None);
        let number = seats.next;
        seats.next += 1;
        let place = Place { caller, entrance, waits_after: None, news, ending };
        seats.taken.insert(number, place);
        metrics::gauge!(OPEN).increment(1.0);
        if seats.watcher.as_ref().is_none_or(JoinHandle::is_finished) {
            seats.watcher = Some(tokio::spawn(self.clone().look_for_news()));
        }
        drop(seats);
        Ok(Seat { hub: self.clone(), number, news: heard, ending: ends })
    }

    /// Ends all streams, and those that ask for a seat from now on.
    pub(super) fn end(&self) {
        let mut seats = self.seats();
        seats.is_over = true;
        for place in seats.taken.values() {
            place.ending.send_replace(Some(Ending::ServerStopping));
        }
    }

    /// Until there are no streams.
    async fn look_for_news(self) {
        let (shortest, longest) = self.0.limits.look_every;
        let (mut pause, mut is_failing) = (shortest, false);
        loop {
            tokio::select! {
                () = self.0.rung.notified() => {
                    pause = shortest;
                    // Signals that come meanwhile share a look.
                    sleep(pause).await;
                }
                () = sleep(pause) => pause = (pause * 2).min(longest),
            }
            let Some(waiting) = self.waiting() else { return };
            let looked = self.look(waiting).await;
            if let (Err(error), false) = (&looked, is_failing) {
                tracing::warn!(error = %causes(error), "event streams cannot read new events");
            }
            is_failing = looked.is_err();
        }
    }

    /// The accounts whose streams wait, each with the position of the one that is furthest behind.
    /// `None`, and the watch ends, if there are no streams.
    fn waiting(&self) -> Option<Vec<(AccountId, Position)>> {
        let mut seats = self.seats();
        if seats.taken.is_empty() {
            seats.watcher = None;
            return None;
        }
        let mut waiting = BTreeMap::new();
        for place in seats.taken.values() {
            let Some(after) = place.waits_after else { continue };
            let least = waiting.entry(place.caller.account).or_insert(after);
            *least = after.min(*least);
        }
        Some(waiting.into_iter().collect())
    }

    async fn look(&self, waiting: Vec<(AccountId, Position)>) -> Result<(), StoreError> {
        if waiting.is_empty() {
            return Ok(());
        }
        let store = self.0.sms.store();
        let found = store.events_after(waiting).await?;
        if found.is_empty() {
            return Ok(());
        }
        // Before any stream reads: whatever comes behind an end is news for the next look.
        let ends = store.event_ends(found.clone()).await?;
        let ends: BTreeMap<AccountId, Position> = found.into_iter().zip(ends).collect();
        let mut seats = self.seats();
        for place in seats.taken.values_mut() {
            let Some(end) = ends.get(&place.caller.account) else { continue };
            if place.waits_after.take().is_some() {
                place.news.send_replace(*end);
            }
        }
        Ok(())
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    pub(super) fn limits(&self) -> StreamLimits {
        self.hub.0.limits
    }

    /// Resolves when the stream must end, and never otherwise.
    pub(super) fn must_end(&self) -> impl Future<Output = Ending> + Send + 'static {
        let mut ending = self.ending.clone();
        async move {
            // The sender is there as long as the seat, which may be gone before this is dropped.
            let told = ending.wait_for(Option::is_some).await.ok().and_then(|ending| *ending);
            match told {
                Some(ending) => ending,
                None => pending().await,
            }
        }
    }

    /// Waits until the account has rows of events after `at`, up to which they have been read.
    /// Returns a position at or after all events that can be read by then, and before all others.
    pub(super) async fn news(&mut self, at: Position) -> Position {
        let is_new = {
            let mut seats = self.hub.seats();
            let place = seats.taken.get_mut(&self.number);
            place.is_some_and(|place| place.waits_after.replace(at) != Some(at))
        };
        if is_new {
            self.hub.0.rung.notify_one();
        }
        // The sender is there as long as the seat.
        let _ = self.news.changed().await;
        *self.news.borrow_and_update()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.seats().taken.remove(&self.number);
        metrics::gauge!(OPEN).decrement(1.0);
    }
}
