//! Leases are renewed whatever else the program computes.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use sms_core::contact::input::ContactInput;
use sms_core::list::ListInput;
use sms_core::phone::E164;
use sms_core::prelude::*;
use sms_core::route::Route;
use sms_core::service::compute::{Compute, Portions, Progress};
use sms_store_memory::MemoryStore;
use sms_workers::{PauseSwitch, Threads, WorkerOptions, Workers};
use tokio::time::{Instant, advance};

use crate::TIME_TO_STOP;
use crate::network::Network;
use crate::service::TokioClock;

/// Threads on which a computation takes until it is let go.
#[derive(Debug)]
struct Endless {
    threads: Threads,
    begun: Sender<()>,
    let_go: Arc<Mutex<Receiver<()>>>,
}

#[async_trait]
impl Compute for Endless {
    fn at_once(&self) -> NonZeroUsize {
        self.threads.at_once()
    }

    async fn run(&self, mut portions: Portions) {
        let (begun, let_go) = (self.begun.clone(), self.let_go.clone());
        let portions = move || {
            let progress = portions();
            if progress == Progress::Done {
                let _ = begun.send(());
                let _ = let_go.lock().unwrap().recv();
            }
            progress
        };
        self.threads.run(Box::new(portions)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_while_loops_can_be_paused() {
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(TokioClock(Instant::now()));
    let network = Network::new("main", 10);
    let sms = Sms::builder(store.clone()).clock(clock.clone()).route(network.clone()).build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let switch = PauseSwitch::default();
    let workers = Workers::start(&sms, WorkerOptions::new().pausable(&switch));
    account.send(SendRequest::new("Hello").to("07700 900123")).await.unwrap();
    network.until_in_hand(1).await;
    pass_three_leases(&sms).await;
    assert_eq!(taken_by_another(store, clock).await, 0);
    workers.stop(TIME_TO_STOP).await.unwrap();
}

/// Lets three times the length of a lease pass, while loops run.
async fn pass_three_leases(sms: &Sms) {
    for _ in 0..6 {
        advance(sms.lease_length() / 2).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

/// How many messages another program claims, because their leases ran out.
async fn taken_by_another(store: Arc<MemoryStore>, clock: Arc<TokioClock>) -> usize {
    let network = Network::new("main", 10);
    // It answers at once.
    network.close().await;
    let other = Sms::builder(store).clock(clock).route(network).build();
    other.dispatch_due(10).await.unwrap().claimed
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_while_the_largest_plan_is_made() {
    let (begun, has_begun) = channel();
    let (let_go, may_go) = channel();
    let let_go_at = Arc::new(Mutex::new(may_go));
    let endless = Endless { threads: Threads::default(), begun, let_go: let_go_at };
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(TokioClock(Instant::now()));
    let network = Network::new("main", 10);
    let sms = Sms::builder(store.clone())
        .clock(clock.clone())
        .route(network.clone())
        .compute(Arc::new(endless))
        .build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let list = account.list_create(ListInput::new("Guests")).await.unwrap().id;
    let number = |n| E164::from_digits(447_700_000_000 + n).unwrap();
    let rows = (0..20_000_u64).map(|n| ContactInput::new(number(n).to_string())).collect();
    account.contacts_import(rows, Some(list)).await.unwrap();
    let workers = Workers::start(&sms, WorkerOptions::new());
    account.send(SendRequest::new("Hello").to("07700 900123")).await.unwrap();
    network.until_in_hand(1).await;

    let quoting = tokio::spawn(async move {
        let request = SendRequest::new("Hi {first_name} {last_name}").to_list(list);
        account.quote(request).await.map(|quote| quote.recipients)
    });
    // The plan is under way, and goes on until it is let go.
    let wait = tokio::task::spawn_blocking(move || has_begun.recv().map(|()| has_begun));
    let has_begun = wait.await.unwrap().unwrap();
    pass_three_leases(&sms).await;
    assert_eq!(taken_by_another(store, clock).await, 0);
    drop(let_go);
    drop(has_begun);
    assert_eq!(quoting.await.unwrap().unwrap(), 20_000);
    workers.stop(TIME_TO_STOP).await.unwrap();
}
