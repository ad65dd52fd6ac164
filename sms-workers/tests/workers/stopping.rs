//! What becomes of a route when workers stop, and what is reported when they cannot.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::route::{HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink};
use sms_store_memory::MemoryStore;
use sms_workers::{Loop, StopFailed, WorkerOptions, WorkerPanicked, Workers};
use tokio::time::{Instant, sleep, timeout};

use crate::{TIME_TO_STOP, until};

/// What a route does once it runs, and how long it takes to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conduct {
    Runs,
    Panics,
    NeverCloses,
}

#[derive(Debug)]
struct Line {
    name: RouteName,
    conduct: Conduct,
    steps: Mutex<Vec<&'static str>>,
}

impl Line {
    fn new(conduct: Conduct) -> Arc<Self> {
        Arc::new(Self { name: RouteName::new("main"), conduct, steps: Mutex::default() })
    }

    fn step(&self, step: &'static str) {
        self.steps.lock().unwrap().push(step);
    }

    fn steps(&self) -> Vec<&'static str> {
        self.steps.lock().unwrap().clone()
    }

    async fn running(self: &Arc<Self>) -> (Sms, Workers) {
        let builder = Sms::builder(Arc::new(MemoryStore::new()));
        let sms = builder.route(Arc::clone(self) as Arc<dyn Route>).build();
        let workers = Workers::start(&sms, WorkerOptions::new());
        until("a route that runs", async || self.steps().first().map(|_| ())).await;
        (sms, workers)
    }
}

/// Notes that `run` was dropped.
struct Running<'l>(&'l Line);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.step("not running");
    }
}

#[async_trait]
impl Route for Line {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        panic!("{} messages", messages.len());
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {
        self.step("running");
        let _running = Running(self);
        assert_ne!(self.conduct, Conduct::Panics, "as the test asks");
        std::future::pending::<()>().await;
    }

    async fn close(&self) {
        self.step("closing");
        if self.conduct == Conduct::NeverCloses {
            std::future::pending::<()>().await;
        }
        sleep(Duration::from_secs(1)).await;
        self.step("closed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_runs_from_the_start_until_it_is_closed() {
    let line = Line::new(Conduct::Runs);
    let (_sms, workers) = line.running().await;
    workers.stop(TIME_TO_STOP).await.unwrap();
    assert_eq!(line.steps(), ["running", "closing", "closed", "not running"]);
}

#[tokio::test(start_paused = true)]
async fn a_route_that_does_not_close_in_time_is_dropped_before_the_time_is_up() {
    let line = Line::new(Conduct::NeverCloses);
    let (_sms, workers) = line.running().await;
    let told = Instant::now();
    workers.stop(Duration::from_secs(9)).await.unwrap();
    assert_eq!(told.elapsed().as_secs(), 7, "2 s are left for recording outcomes");
    assert_eq!(line.steps(), ["running", "closing", "not running"]);
}

#[tokio::test]
async fn a_loop_that_panics_is_reported_by_name() {
    let line = Line::new(Conduct::Panics);
    let (_sms, mut workers) = line.running().await;
    let route = Loop::Route(RouteName::new("main"));
    let panicked = WorkerPanicked { worker: route };
    assert_eq!(workers.failed().await, panicked);
    assert_eq!(panicked.to_string(), "a worker panicked: route main");
    assert_eq!(workers.stop(TIME_TO_STOP).await, Ok(()), "it is reported once");
    let (_sms, workers) = Line::new(Conduct::Panics).running().await;
    assert_eq!(workers.stop(TIME_TO_STOP).await, Err(StopFailed::Panicked(panicked)));
}

#[tokio::test(start_paused = true)]
async fn workers_that_work_report_no_failure() {
    let (_sms, mut workers) = Line::new(Conduct::Runs).running().await;
    let watched = timeout(Duration::from_hours(1), workers.failed()).await;
    assert!(watched.is_err(), "{watched:?}");
}
