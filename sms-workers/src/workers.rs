//! The loops of a service, together: started, watched and stopped.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use sms_core::event::log::LoggedEvent;
use sms_core::event::position::Position;
use sms_core::route::RouteName;
use sms_core::service::{AccountHandle, Wake, Work};
use sms_core::{Error, Sms};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, timeout_at};

use crate::bells::Bells;
use crate::events::Follower;
use crate::options::WorkerOptions;
use crate::pause::PauseSwitch;
use crate::stopping::Stopping;
use crate::upkeep::{FOLD_STATISTICS, PREPARE_SEARCH, TIDY};
use crate::worker::Worker;
use crate::{
    dispatch, events, follow_ups, held, leases, pause, rents, replays, route_gauges, routes,
    webhooks,
};

/// One of the loops.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Loop {
    /// Hands due messages to their routes.
    Dispatch,
    /// Hands over messages that are held from the start.
    Held,
    /// Brings back the receipts and replies of simulated routes.
    FollowUps,
    /// Attempts due webhook deliveries.
    Webhooks,
    /// Replays events to webhook endpoints.
    Replays,
    /// Calls the program for the events of accounts.
    Events,
    /// Charges due rent of numbers.
    Rents,
    /// Renews the leases of messages that are being submitted.
    Leases,
    /// Removes what is past its retention.
    Tidy,
    /// Prepares searches, every minute.
    Search,
    /// Adds up statistics, every 10 s.
    Statistics,
    /// Listens for wake-ups of other programs over the same store.
    WakeUps,
    /// Measures how routes stand.
    RouteGauges,
    /// Runs the route of this name.
    Route(RouteName),
}

impl fmt::Display for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dispatch => "dispatch",
            Self::FollowUps => "follow-ups",
            Self::Webhooks => "webhooks",
            Self::Replays => "replays",
            Self::Events => "events",
            Self::Rents => "rents",
            Self::Leases => "leases",
            Self::Held => "held messages",
            Self::Tidy => "tidy",
            Self::Search => "search",
            Self::Statistics => "statistics",
            Self::WakeUps => "wake-ups",
            Self::RouteGauges => "route gauges",
            Self::Route(name) => return write!(f, "route {name}"),
        })
    }
}

/// A loop panicked. Its work is no longer done: stop the program and start it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a worker panicked: {worker}")]
pub struct WorkerPanicked {
    /// The loop that panicked.
    pub worker: Loop,
}

/// Why workers did not stop as they should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopFailed {
    /// Loops were still busy when the time was up, and were ended. What they held is taken up again
    /// when its lease runs out.
    #[error("workers did not stop in time: {}", names(.still_busy))]
    TimedOut {
        /// The loops that were ended.
        still_busy: BTreeSet<Loop>,
    },
    /// A loop panicked before or while the workers stopped.
    #[error(transparent)]
    Panicked(#[from] WorkerPanicked),
}

fn names(loops: &BTreeSet<Loop>) -> String {
    loops.iter().map(Loop::to_string).collect::<Vec<_>>().join(", ")
}

/// The running loops of a service. Dropping this ends them abruptly: call
/// [`stop`](Workers::stop).
#[must_use = "dropping it ends the loops"]
pub struct Workers {
    tasks: JoinSet<()>,
    running: HashMap<Id, Loop>,
    stop_by: watch::Sender<Option<Instant>>,
    followers: mpsc::UnboundedSender<Follower>,
    /// The service wakes the loops for as long as this is here.
    _bells: Arc<dyn Wake>,
}

impl Workers {
    /// Starts every loop of a service.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with time enabled.
    pub fn start(sms: &Sms, options: WorkerOptions) -> Self {
        let bells = Arc::new(Bells::default());
        let (stop_by, stopping) = Stopping::channel();
        let listener: Arc<dyn Wake> = bells.clone();
        sms.wake_with(&listener);
        let (tasks, running) = (JoinSet::new(), HashMap::new());
        let (followers, joining) = mpsc::unbounded_channel();
        let mut workers = Self { tasks, running, stop_by, followers, _bells: listener };
        let worker = Worker { sms: sms.clone(), bells, stopping: stopping.clone() };
        workers.spawn(Loop::Events, events::run(worker.clone(), joining));
        workers.start_due_work(&worker, &options);
        workers.start_upkeep(sms, &stopping, &options.pausable.unwrap_or_default());
        workers.start_routes(sms, &stopping);
        workers
    }

    /// Calls `handle` for each event of the account from now on, in the order of its log: within
    /// milliseconds if this program made it, and within a second otherwise. The account is one of
    /// the service that these loops run.
    ///
    /// One loop calls all handlers, so return at once: send what takes time into a channel. A
    /// handler that panics ends the loop, which [`failed`](Self::failed) reports. Events that come
    /// while the program is down, or is stopping, are in the log. A handler that must not miss them
    /// keeps the position of the last event, and the program continues with
    /// [`on_event_after`](Self::on_event_after).
    ///
    /// # Errors
    ///
    /// If the store cannot say where the log ends.
    pub async fn on_event(
        &self,
        account: &AccountHandle,
        handle: impl FnMut(LoggedEvent) + Send + 'static,
    ) -> Result<(), Error> {
        self.on_event_after(account, account.event_end().await?, handle);
        Ok(())
    }

    /// [`on_event`](Self::on_event), from the event after this position on: none is missed, and
    /// none comes twice.
    pub fn on_event_after(
        &self,
        account: &AccountHandle,
        position: Position,
        handle: impl FnMut(LoggedEvent) + Send + 'static,
    ) {
        // The loop is gone if it panicked, which `failed` reports.
        let _ = self.followers.send(Follower::new(account.clone(), position, handle));
    }

    fn start_due_work(&mut self, worker: &Worker, options: &WorkerOptions) {
        self.spawn(Loop::Leases, leases::run(worker.sms.clone(), worker.stopping.clone()));
        if let Some(switch) = &options.pausable {
            for work in Work::ALL {
                let pausable = pause::run(worker.clone(), work, switch.clone());
                self.spawn(loop_of(work), pausable);
            }
            return;
        }
        self.spawn(Loop::Held, held::run(worker.clone()));
        let default = dispatch::default_loops(&worker.sms);
        for _ in 0..options.dispatch_loops.map_or(default, std::num::NonZero::get) {
            self.spawn(Loop::Dispatch, dispatch::run(worker.clone()));
        }
        for _ in 0..dispatch::NORMAL_LOOPS {
            self.spawn(Loop::Dispatch, dispatch::run_normal(worker.clone()));
        }
        self.spawn(Loop::FollowUps, follow_ups::run(worker.clone()));
        self.spawn(Loop::Webhooks, webhooks::run(worker.clone(), options.webhook_slots));
        self.spawn(Loop::Replays, replays::run(worker.clone()));
        self.spawn(Loop::Rents, rents::run(worker.clone()));
    }

    fn start_upkeep(&mut self, sms: &Sms, stopping: &Stopping, switch: &PauseSwitch) {
        let (sms, stopping) = (|| sms.clone(), || stopping.clone());
        let switch = || switch.clone();
        let tidy = |sms: Sms, limit| async move { sms.tidy(limit).await };
        self.spawn(Loop::Tidy, TIDY.run(sms(), stopping(), switch(), tidy));
        let search = |sms: Sms, limit| async move { sms.prepare_search(limit).await };
        self.spawn(Loop::Search, PREPARE_SEARCH.run(sms(), stopping(), switch(), search));
        let fold = |sms: Sms, limit| async move { sms.fold_statistics(limit).await };
        self.spawn(Loop::Statistics, FOLD_STATISTICS.run(sms(), stopping(), switch(), fold));
    }

    fn start_routes(&mut self, sms: &Sms, stopping: &Stopping) {
        self.spawn(Loop::WakeUps, listen(sms.clone(), stopping.clone()));
        self.spawn(Loop::RouteGauges, route_gauges::run(sms.clone(), stopping.clone()));
        for route in sms.routes() {
            let running = routes::run(route.clone(), sms.sink(), stopping.clone());
            self.spawn(Loop::Route(route.name().clone()), running);
        }
    }

    fn spawn(&mut self, worker: Loop, task: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(task).id();
        self.running.insert(id, worker);
    }

    /// Resolves when a loop panics, and never otherwise. Watch it beside what else ends the
    /// program: without it, messages could be accepted and never leave.
    ///
    /// Dropping the future loses nothing.
    pub async fn failed(&mut self) -> WorkerPanicked {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(ended) => {
                    if let Some(panicked) = self.note(ended) {
                        return panicked;
                    }
                }
                None => pending().await,
            }
        }
    }

    /// Stops in order: no loop claims more; each route closes while it still runs, so that what was
    /// submitted is answered; the loops record the last outcomes. Ends what is not done `within`
    /// this time. A closing route may take all of it but the last 2 s, or three quarters if that is
    /// more: give a server that carries messages some 10 s.
    ///
    /// # Errors
    ///
    /// When loops were still busy in the end, or one panicked that [`failed`](Self::failed) did not
    /// report.
    pub async fn stop(mut self, within: Duration) -> Result<(), StopFailed> {
        let by = Instant::now() + within;
        self.stop_by.send_replace(Some(by));
        let mut result = Ok(());
        loop {
            match timeout_at(by, self.tasks.join_next_with_id()).await {
                Ok(Some(ended)) => {
                    if let Some(panicked) = self.note(ended) {
                        result = Err(panicked.into());
                    }
                }
                Ok(None) => return result,
                Err(_) => {
                    let still_busy: BTreeSet<Loop> = self.running.values().cloned().collect();
                    return Err(StopFailed::TimedOut { still_busy });
                }
            }
        }
    }

    /// Takes a task that has ended off the list, and says whether it panicked.
    fn note(&mut self, ended: Result<(Id, ()), JoinError>) -> Option<WorkerPanicked> {
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let worker = self.running.remove(&id)?;
        if !ended.is_err_and(|error| error.is_panic()) {
            return None;
        }
        tracing::error!(worker = %worker, "a worker panicked");
        Some(WorkerPanicked { worker })
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running: BTreeSet<&Loop> = self.running.values().collect();
        f.debug_struct("Workers").field("running", &running).finish_non_exhaustive()
    }
}

fn loop_of(work: Work) -> Loop {
    match work {
        Work::Dispatch => Loop::Dispatch,
        Work::FollowUps => Loop::FollowUps,
        Work::Webhooks => Loop::Webhooks,
        Work::Rents => Loop::Rents,
    }
}

/// Wakes the loops for what other programs over the same store find.
async fn listen(sms: Sms, mut stopping: Stopping) {
    tokio::select! {
        () = sms.listen_to_others() => {}
        () = stopping.requested() => {}
    }
}
