//! All connections of one route: which of them carries a text, at what pace, and how it stands
//! with them.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::select_all;
use sms_core::random::Random;
use sms_core::route::RouteName;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::link::Link;
use crate::pace::Pace;
use crate::pdu::status::Remedy;
use crate::pdu::{BindMode, ShortMessage};
use crate::session::{Arrival, Session, Submitted};
use crate::settings::{Binds, RouteSettings};

/// The connections of one route.
#[derive(Debug)]
pub struct Carrier {
    name: RouteName,
    links: Vec<Arc<Link>>,
    pace: Pace,
    turn: AtomicUsize,
    /// Since when no connection carries texts; `None` while one does.
    down_since: Mutex<Option<Instant>>,
}

/// How a route's connections stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Connections that are bound.
    pub bound: usize,
    /// Connections there should be.
    pub wanted: usize,
    /// The pace, as a part of the agreed one.
    pub pace: f64,
    /// For how long no connection has carried texts; `None` while one does.
    pub down_for: Option<Duration>,
}

impl Carrier {
    /// The connections that the settings ask for; none is there before [`run`](Carrier::run).
    pub fn new(name: RouteName, settings: &Arc<RouteSettings>, random: &Arc<dyn Random>) -> Self {
        let modes = match settings.binds {
            Binds::Transceivers(count) => vec![BindMode::Transceiver; count],
            Binds::Separate(count) => {
                [vec![BindMode::Transmitter; count], vec![BindMode::Receiver; count]].concat()
            }
        };
        let link = |mode| Arc::new(Link::new(Arc::clone(settings), mode, Arc::clone(random)));
        Self {
            name,
            pace: Pace::new(settings.rate),
            links: modes.into_iter().map(link).collect(),
            turn: AtomicUsize::new(0),
            down_since: Mutex::new(Some(Instant::now())),
        }
    }

    /// Keeps all connections until dropped, and passes on what arrives through any of them.
    ///
    /// # Panics
    ///
    /// When what keeps a connection does: the connection would not be made again.
    pub async fn run(&self, arrivals: mpsc::Sender<Arrival>) {
        let mut tasks = JoinSet::new();
        for link in &self.links {
            let (link, arrivals) = (Arc::clone(link), arrivals.clone());
            let name = self.name.clone();
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

    /// Open sessions that carry texts from us.
    fn senders(&self) -> impl Iterator<Item = Session> {
        let sends = |link: &&Arc<Link>| link.mode() != BindMode::Receiver;
        self.links.iter().filter(sends).filter_map(|link| link.session())
    }

    /// Sends one text at the route's pace, through the connection with most room.
    pub async fn submit(&self, message: ShortMessage) -> Submitted {
        let submitted = self.attempt(message).await;
        if let Submitted::Refused(status) = &submitted
            && status.remedy() == Remedy::SlowDown
        {
            self.pace.slow_down();
        }
        self.count(&submitted);
        submitted
    }

    async fn attempt(&self, message: ShortMessage) -> Submitted {
        loop {
            // The place before the pace: a peer that stalled gets no flood when it goes on.
            let Some(session) = self.next_sender() else { return Submitted::NotWritten };
            let Some(slot) = session.slot().await else { continue };
            self.pace.next().await;
            if session.is_open() {
                let written = Instant::now();
                let submitted = slot.submit(message).await;
                self.time(&submitted, written.elapsed());
                return submitted;
            }
        }
    }

    /// The open session with most room; of several, each in turn.
    fn next_sender(&self) -> Option<Session> {
        let mut sessions: Vec<Session> = self.senders().collect();
        if sessions.is_empty() {
            return None;
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % sessions.len();
        sessions.rotate_left(turn);
        // The first of the roomiest, so that turns matter.
        sessions.into_iter().rev().max_by_key(Session::free_slots)
    }

    /// How long the peer took to answer.
    fn time(&self, submitted: &Submitted, took: Duration) {
        if matches!(submitted, Submitted::Accepted { .. } | Submitted::Refused(_)) {
            let route = self.name.as_str().to_owned();
            metrics::histogram!("sms_smpp_answer_seconds", "route" => route).record(took);
        }
    }

    fn count(&self, submitted: &Submitted) {
        let outcome = match submitted {
            Submitted::Accepted { .. } => "accepted",
            Submitted::Refused(status) if status.remedy() == Remedy::SlowDown => "throttled",
            Submitted::Refused(_) => "refused",
            Submitted::NotWritten => "not_written",
            Submitted::Unanswered => "unanswered",
        };
        let route = self.name.as_str().to_owned();
        metrics::counter!("sms_smpp_submits_total", "route" => route, "outcome" => outcome)
            .increment(1);
    }

    /// How the connections stand.
    pub fn standing(&self) -> Standing {
        let down_since = *self.down_since.lock().unwrap_or_else(PoisonError::into_inner);
        Standing {
            bound: self.links.iter().filter(|link| link.session().is_some()).count(),
            wanted: self.links.len(),
            pace: self.pace.part(),
            down_for: down_since.map(|since| since.elapsed()),
        }
    }

    /// Ends every session in order, and makes no other: what is under way is answered first.
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
