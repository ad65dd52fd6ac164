//! All connections of one route. Chooses a connection for each message, keeps to the route's rate,
//! and reports how many connections are bound.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::select_all;
use sms_core::dispatch::Lane;
use sms_core::random::Random;
use sms_core::route::{Room, RouteName};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::capacity::Capacity;
use crate::counts::Counts;
use crate::gate::{Gate, Pass};
use crate::leave::Wait;
use crate::link::Link;
use crate::pace::Pace;
use crate::pdu::status::Remedy;
use crate::pdu::{BindMode, ShortMessage};
use crate::session::{Arrival, Heard, Session, Slot, Submitted};
use crate::settings::{Binds, RouteSettings};

/// Bulk leaves one of this many places free for what a person waits for, so that it does not wait
/// for an answer of a slow SMSC. Fewer would slow bulk down where the window is the limit.
const RESERVED_IN: usize = 20;

/// The connections of one route.
#[derive(Debug)]
pub struct Carrier {
    pub(crate) counts: Counts,
    links: Vec<Arc<Link>>,
    pace: Pace,
    turn: AtomicUsize,
    /// As many as the windows of all connections that submit have places together.
    places: Arc<Gate>,
    capacity: Arc<Capacity>,
    /// Since when no connection can submit; `None` while one can.
    down_since: Mutex<Option<Instant>>,
}

/// What a message holds from its first `submit_sm` until its outcome is safe. There are as many as
/// the windows of all connections have places together, so no more messages than that are sent
/// twice if the program is killed, however long the outcomes take to record.
#[derive(Debug)]
pub struct WindowPlace {
    pass: Pass,
    /// When its message was first written; `None` before that.
    written: Option<Instant>,
    /// Whether what was written last got its answer. One that never comes says how long the route
    /// waits, and not how long the network takes.
    is_answered: bool,
    capacity: Arc<Capacity>,
}

impl WindowPlace {
    /// Its message, which has this number of segments, is about to be written.
    pub fn writes(&mut self, segments: usize) {
        if self.written.is_none() {
            self.written = Some(Instant::now());
            self.capacity.begins(segments);
        }
    }

    /// A segment of its message had this outcome.
    pub fn hears(&mut self, submitted: &Submitted) {
        self.is_answered = match submitted {
            Submitted::Accepted { .. } | Submitted::Refused(_) => true,
            Submitted::Unanswered | Submitted::NotWritten | Submitted::Withheld => false,
        };
    }

    /// The room in the route that this place is.
    pub fn into_room(self) -> Room {
        Room::one_of(self.pass.places(), self)
    }
}

impl Drop for WindowPlace {
    fn drop(&mut self) {
        if let Some(written) = self.written {
            self.capacity.ends(self.is_answered.then(|| written.elapsed()));
        }
    }
}

/// The state of a route's connections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Connections that are bound.
    pub bound: usize,
    /// Connections that the settings ask for.
    pub wanted: usize,
    /// The current rate as a fraction of the configured one; below 1 after throttling.
    pub pace: f64,
    /// For how long no connection could submit; `None` while one can.
    pub down_for: Option<Duration>,
}

impl Carrier {
    /// The connections that the settings ask for. [`run`](Carrier::run) makes them.
    pub fn new(name: RouteName, settings: &Arc<RouteSettings>, random: &Arc<dyn Random>) -> Self {
        let modes = match settings.binds {
            Binds::Transceivers(count) => vec![BindMode::Transceiver; count],
            Binds::Separate(count) => {
                [vec![BindMode::Transmitter; count], vec![BindMode::Receiver; count]].concat()
            }
        };
        let link = |mode| Arc::new(Link::new(Arc::clone(settings), mode, Arc::clone(random)));
        let senders = modes.iter().filter(|mode| **mode != BindMode::Receiver).count();
        let places = senders * settings.window;
        Self {
            counts: Counts::new(name),
            pace: Pace::new(settings.rate),
            links: modes.into_iter().map(link).collect(),
            turn: AtomicUsize::new(0),
            places: Gate::new(places, places / RESERVED_IN),
            capacity: Arc::new(Capacity::new(places, places / RESERVED_IN)),
            down_since: Mutex::new(Some(Instant::now())),
        }
    }

    /// Keeps all connections bound until dropped, and passes on what arrives on any of them.
    ///
    /// # Panics
    ///
    /// When the task of a connection panics, because that connection would never come back.
    pub async fn run(&self, arrivals: mpsc::Sender<Arrival>) {
        let mut tasks = JoinSet::new();
        for link in &self.links {
            let (link, arrivals) = (Arc::clone(link), arrivals.clone());
            let name = self.counts.route().clone();
            tasks.spawn(async move { link.run(name.as_str(), arrivals).await });
        }
        let mut watches: Vec<_> = self.links.iter().map(|link| link.watch()).collect();
        loop {
            self.note_standing();
            let changes = watches.iter_mut().map(|watch| Box::pin(watch.changed()));
            tokio::select! {
                _ = select_all(changes) => {}
                Some(ended) = tasks.join_next() => {
                    if let Err(error) = ended
                        && let Ok(reason) = error.try_into_panic()
                    {
                        resume_unwind(reason);
                    }
                }
            }
        }
    }

    fn note_standing(&self) {
        let is_up = self.senders().next().is_some();
        let mut down_since = self.down_since.lock().unwrap_or_else(PoisonError::into_inner);
        *down_since = if is_up { None } else { Some(down_since.unwrap_or_else(Instant::now)) };
    }

    /// Open sessions that can submit.
    fn senders(&self) -> impl Iterator<Item = Session> {
        let sends = |link: &&Arc<Link>| link.mode() != BindMode::Receiver;
        self.links.iter().filter(sends).filter_map(|link| link.session())
    }

    /// Waits for a place for a message of this lane. Each holds one, however many segments it has.
    pub async fn place(&self, lane: Lane) -> WindowPlace {
        let pass = self.places.enter(lane).await;
        let capacity = Arc::clone(&self.capacity);
        WindowPlace { pass, written: None, is_answered: false, capacity }
    }

    /// How many messages of this lane can be submitted within this time from now on, as far as it
    /// knows.
    pub fn soon(&self, lane: Lane, within: Duration) -> f64 {
        self.capacity.soon(lane, within.as_secs_f64(), self.pace.per_second())
    }

    /// Waits for a turn, as [`submit`](Self::submit) does.
    #[cfg(test)]
    pub(crate) async fn next_turn(&self, lane: Lane) {
        self.pace.next(lane).await;
    }

    /// Measures that the network answers at once, so often that nothing else counts: what the
    /// route asks for then does not depend on the speed of a test's machine.
    #[cfg(test)]
    pub(crate) fn answers_at_once(&self) {
        for _ in 0..100 {
            self.capacity.begins(1);
            self.capacity.ends(Some(Duration::ZERO));
        }
    }

    /// Whether one message of this lane can be, however slow it is.
    pub fn takes_one(&self, lane: Lane, within: Duration) -> bool {
        self.capacity.has_room(lane) && self.pace.due_in() <= within
    }

    /// Submits one segment at the route's rate, on the connection with the most free window, unless
    /// it waits for longer than it may. Calls `note` directly before, and `heard` as soon as the
    /// response is read.
    pub async fn submit(
        &self,
        message: ShortMessage,
        wait: impl Into<Wait>,
        note: impl Fn(),
        heard: Heard,
    ) -> Submitted {
        let submitted = self.attempt(message, wait.into(), note, heard).await;
        if let Submitted::Refused(status) = &submitted
            && status.remedy() == Remedy::SlowDown
        {
            self.pace.slow_down();
        }
        self.count(&submitted);
        submitted
    }

    async fn attempt(
        &self,
        message: ShortMessage,
        Wait { lane, leave }: Wait,
        note: impl Fn(),
        heard: Heard,
    ) -> Submitted {
        let slot = tokio::select! {
            biased;
            slot = self.turn(lane) => slot,
            () = leave.ends() => return Submitted::Withheld,
        };
        let Some(slot) = slot else { return Submitted::NotWritten };
        note();
        let written = Instant::now();
        let submitted = slot.submit(message, leave, heard).await;
        self.time(&submitted, written.elapsed());
        submitted
    }

    /// Waits until a `submit_sm` of this lane may be written; `None` if no connection is bound.
    async fn turn(&self, lane: Lane) -> Option<Slot> {
        loop {
            // The window before the rate: an SMSC that stalled is not flooded when it recovers.
            let session = self.next_sender()?;
            let Some(slot) = session.slot().await else { continue };
            self.pace.next(lane).await;
            if session.is_open() {
                return Some(slot);
            }
        }
    }

    /// The open session with the most free window; equal ones take turns.
    fn next_sender(&self) -> Option<Session> {
        let mut sessions: Vec<Session> = self.senders().collect();
        if sessions.is_empty() {
            return None;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % sessions.len();
        sessions.rotate_left(turn);
        // `max_by_key` returns the last of equal ones; reversed, that is the one whose turn it is.
        sessions.into_iter().rev().max_by_key(Session::free_slots)
    }

    /// Records how long the SMSC took to respond.
    fn time(&self, submitted: &Submitted, took: Duration) {
        if matches!(submitted, Submitted::Accepted { .. } | Submitted::Refused(_)) {
            self.counts.answered(took);
        }
    }

    fn count(&self, submitted: &Submitted) {
        self.counts.submitted(match submitted {
            Submitted::Accepted { .. } => "accepted",
            Submitted::Refused(status) if status.remedy() == Remedy::SlowDown => "throttled",
            Submitted::Refused(_) => "refused",
            Submitted::NotWritten => "not_written",
            Submitted::Withheld => "withheld",
            Submitted::Unanswered => "unanswered",
        });
    }

    /// The state of the connections now.
    pub fn standing(&self) -> Standing {
        let down_since = *self.down_since.lock().unwrap_or_else(PoisonError::into_inner);
        Standing {
            bound: self.links.iter().filter(|link| link.session().is_some()).count(),
            wanted: self.links.len(),
            pace: self.pace.part(),
            down_for: down_since.map(|since| since.elapsed()),
        }
    }

    /// Unbinds every session once its outstanding requests are answered, and does not reconnect.
    pub async fn unbind(&self) {
        let mut tasks = JoinSet::new();
        for link in &self.links {
            let link = Arc::clone(link);
            tasks.spawn(async move { link.close().await });
        }
        while tasks.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests;
