//! Workers over a network that answers after seconds: its window and its rate are used anyway.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use sms_core::Sms;
use sms_core::account::Mode;
use sms_core::dispatch::Lane;
use sms_core::route::{
    Fitness, HandOver, HandOvers, HandedOver, OutboundMessage, Room, Route, RouteKind, RouteName,
    RouteSink,
};
use sms_core::sending::request::SendRequest;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_store_memory::MemoryStore;
use sms_workers::{WorkerOptions, Workers};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};

use crate::TIME_TO_STOP;

/// A few messages wait for the network, so that it never waits for them.
const WAITING: usize = 3;

/// A network that answers each message after 2 to 5 seconds.
#[derive(Debug)]
struct SlowNetwork {
    window: usize,
    /// The time between two messages.
    gap: Duration,
    next: tokio::sync::Mutex<Instant>,
    places: Semaphore,
    waiting: AtomicUsize,
    written: AtomicUsize,
}

impl SlowNetwork {
    fn new(window: usize, rate: u32) -> Arc<Self> {
        Arc::new(Self {
            window,
            gap: Duration::from_secs(1) / rate,
            next: tokio::sync::Mutex::new(Instant::now()),
            places: Semaphore::new(window),
            waiting: AtomicUsize::new(0),
            written: AtomicUsize::new(0),
        })
    }

    async fn carry(&self, place: usize) -> HandedOver {
        let permit = self.places.acquire().await.unwrap();
        {
            let mut next = self.next.lock().await;
            sleep_until(*next).await;
            *next = (*next).max(Instant::now()) + self.gap;
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let number = self.written.fetch_add(1, Ordering::SeqCst) as u64;
        sleep(Duration::from_millis(2_000 + number * 739 % 3_000)).await;
        drop(permit);
        let result = HandOver::Taken { simulated: Vec::new() };
        HandedOver { place, result, room: Room::unbounded() }
    }
}

#[async_trait]
impl Route for SlowNetwork {
    fn name(&self) -> &RouteName {
        static NAME: std::sync::LazyLock<RouteName> =
            std::sync::LazyLock::new(|| RouteName::new("slow"));
        &NAME
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        self.waiting.fetch_add(messages.len(), Ordering::SeqCst);
        let each = (0..messages.len()).map(|place| self.carry(place));
        each.collect::<FuturesUnordered<_>>().boxed()
    }

    fn fitness(&self, lane: Lane) -> Fitness {
        if self.room(lane) > 0 { Fitness::Ready } else { Fitness::Full }
    }

    fn room(&self, _lane: Lane) -> usize {
        WAITING.saturating_sub(self.waiting.load(Ordering::SeqCst))
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {
        std::future::pending::<()>().await;
    }
}

/// How many of many messages the network has after a minute.
async fn in_a_minute(network: &Arc<SlowNetwork>, lane: Lane) -> usize {
    let route: Arc<dyn Route> = network.clone();
    let sms = Sms::builder(Arc::new(MemoryStore::new())).route(route).build();
    let operator = sms.operator();
    let account = operator.account_create(NewAccountInput::active("x", 10_000)).await.unwrap();
    let input = NumberInput::dedicated("07700 900001", account.id).route(RouteName::new("slow"));
    let number = operator.number_create(input).await.unwrap();
    operator.number_check_in(number.id).await.unwrap();
    let numbers: Vec<String> = (0..1_000).map(|n| format!("07700 900{n:03}")).collect();
    for _ in 0..4 {
        let request = SendRequest::new("Hello").to(numbers.join(",")).priority(lane);
        sms.account(account.id, Mode::Live).send(request).await.unwrap();
    }
    let workers = Workers::start(&sms, WorkerOptions::new());
    sleep(Duration::from_mins(1)).await;
    let written = network.written.load(Ordering::SeqCst);
    workers.stop(TIME_TO_STOP).await.unwrap();
    written
}

#[tokio::test(start_paused = true)]
async fn a_network_that_answers_after_seconds_is_kept_busy() {
    for (window, rate) in [(10, 1_000), (100, 10), (100, 50), (1, 100)] {
        for lane in Lane::ALL {
            let network = SlowNetwork::new(window, rate);
            let written = in_a_minute(&network, lane).await;
            // An answer takes 3.5 s on average, and the last ones are still to come.
            let by_window = network.window * 60 * 2 / 7;
            let possible = by_window.min(rate as usize * 60);
            let case = format!("{written} of {possible}, window {window}, rate {rate}");
            assert!(written * 10 >= possible * 9, "{case}, {lane:?}");
        }
    }
}
