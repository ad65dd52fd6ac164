//! How often workers query the store. The runtime's clock is paused: it advances only while every
//! task waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::dispatch::Lane;
use sms_core::prelude::*;
use sms_core::route::{
    Fitness, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink,
};
use sms_store_memory::MemoryStore;
use sms_tests::claim_counter::ClaimCounter;
use sms_workers::{WorkerOptions, Workers};
use tokio::time::{sleep, timeout};

/// How many messages are accepted while the route is full, one every five milliseconds.
const ACCEPTED: usize = 400;
const EVERY: Duration = Duration::from_millis(5);

/// A route that is always full, and counts how often its fitness is read.
#[derive(Debug)]
struct Full {
    name: RouteName,
    looks: AtomicUsize,
}

#[async_trait]
impl Route for Full {
    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn name(&self) -> &RouteName {
        &self.name
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        panic!("{} messages for a route that is full", messages.len());
    }

    fn fitness(&self, _lane: Lane) -> Fitness {
        self.looks.fetch_add(1, Ordering::SeqCst);
        Fitness::Full
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {
        std::future::pending::<()>().await;
    }
}

#[tokio::test(start_paused = true)]
async fn messages_accepted_for_a_full_route_do_not_cause_a_claim_each() {
    sms_test_log::watch();
    let store = Arc::new(ClaimCounter::new(Arc::new(MemoryStore::new()), ACCEPTED));
    let route = Arc::new(Full { name: RouteName::new("full"), looks: AtomicUsize::new(0) });
    let sms = Sms::builder(store.clone()).route(route.clone() as Arc<dyn Route>).build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 10_000)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let accept = async || {
        account.send(SendRequest::new("Hello").to("07700 900123")).await.unwrap();
    };
    accept().await;
    let workers = Workers::start(&sms, WorkerOptions::new());
    let looked_at = async {
        while route.looks.load(Ordering::SeqCst) == 0 || store.claims() == 0 {
            sleep(EVERY).await;
        }
    };
    timeout(Duration::from_mins(1), looked_at).await.expect("workers that work");
    let before = store.claims();
    for _ in 0..ACCEPTED {
        accept().await;
        sleep(EVERY).await;
    }
    let claims = store.claims() - before;
    // Each claim skips all waiting messages, so claims must stay rare.
    assert!((1..ACCEPTED / 2).contains(&claims), "{claims} claims for {ACCEPTED} messages");
    workers.stop(Duration::from_mins(1)).await.expect("workers that stop");
}
