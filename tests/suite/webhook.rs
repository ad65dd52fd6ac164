//! How the courier claims and records deliveries. The runtime's clock is paused: it advances only
//! while every task waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::clock::Clock;
use sms_core::event::EventType;
use sms_core::ids::{AccountId, DeliveryId};
use sms_core::prelude::*;
use sms_core::service::AccountHandle;
use sms_core::service::webhook::Attempted;
use sms_core::store::Store;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::ATTEMPT_LEASE;
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::{Endpoint, EndpointInput};
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};
use sms_store_memory::MemoryStore;
use sms_tests::call_counter::CallCounter;
use sms_webhooks::{Courier, Progress, SlotLimits};
use sms_workers::{WorkerOptions, Workers};
use tokio::time::{Instant, sleep, timeout};

/// How long an endpoint takes to answer.
pub(super) const TAKES: Duration = Duration::from_millis(1);
/// The longest that a test waits.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// An endpoint that gives every request the same answer.
#[derive(Debug)]
pub(super) struct Answering {
    status_code: u16,
    asked: Mutex<Vec<DeliveryId>>,
}

impl Answering {
    pub(super) fn with(status_code: u16) -> Arc<Self> {
        Arc::new(Self { status_code, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<DeliveryId> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl WebhookSender for Answering {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Ok(())
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        sleep(TAKES).await;
        self.asked.lock().unwrap().push(request.delivery);
        let taken = self.status_code < 300;
        WebhookAnswer {
            result: if taken { Ok(()) } else { Err(DeliveryError::HttpStatus) },
            status_code: Some(self.status_code),
            retry_after: (!taken).then_some(Duration::from_mins(10)),
            duration: TAKES,
            response_body: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_795_000_000_000).plus(self.0.elapsed())
    }
}

/// A service with one account, one endpoint, and deliveries that are due.
pub(super) struct Stage {
    pub(super) sms: Sms,
    pub(super) account: AccountHandle,
    pub(super) endpoint: Endpoint,
}

impl Stage {
    pub(super) async fn new(store: Arc<dyn Store>, sender: &Arc<Answering>, due: usize) -> Self {
        let sms = Sms::builder(store)
            .clock(Arc::new(TokioClock(Instant::now())))
            .webhooks(Arc::clone(sender) as Arc<dyn WebhookSender>)
            .build();
        let operator = sms.operator();
        operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
        let input = NewAccountInput::active("Bistro", 10_000);
        let account = operator.account_create(input).await.unwrap();
        let account = sms.account(account.id, Mode::Live);
        let input = EndpointInput::new("https://example.com/hooks", [EventType::MessageSent]);
        let endpoint = account.webhook_create(input).await.unwrap().0;
        let numbers: Vec<String> = (0..due).map(|n| format!("07700 900{n:03}")).collect();
        account.send(SendRequest::new("hello").to(numbers.join(","))).await.unwrap();
        sms.dispatch_due(due).await.unwrap();
        Self { sms, account, endpoint }
    }

    async fn deliveries(&self) -> Vec<Delivery> {
        self.deliveries_to(&self.endpoint).await
    }

    /// All deliveries to an endpoint of the account.
    pub(super) async fn deliveries_to(&self, endpoint: &Endpoint) -> Vec<Delivery> {
        let (mut all, mut page) = (Vec::new(), PageRequest::default());
        loop {
            let read = self.account.delivery_list(endpoint.id, page).await.unwrap();
            all.extend(read.items);
            match read.next {
                Some(next) => page.after = Some(next),
                None => return all,
            }
        }
    }

    pub(super) async fn is_delivered(&self) -> bool {
        let all = self.deliveries().await;
        all.iter().all(|delivery| delivery.status == DeliveryStatus::Delivered)
    }
}

fn counted() -> Arc<CallCounter> {
    Arc::new(CallCounter::new(Arc::new(MemoryStore::new())))
}

pub(super) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = async {
        while !is_so().await {
            sleep(TAKES).await;
        }
    };
    timeout(PATIENCE, waited).await.expect(what);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_succeed_at_about_the_same_time_are_recorded_together() {
    let (store, sender) = (counted(), Answering::with(204));
    let stage = Stage::new(store.clone(), &sender, 500).await;
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    until("everything is delivered", async || stage.is_delivered().await).await;
    workers.stop(PATIENCE).await.unwrap();
    assert_eq!(sender.asked().len(), 500);
    let records = store.calls("deliveries_record");
    assert!(records <= 50, "{records} records of 500 attempts");
}

#[tokio::test(start_paused = true)]
async fn deliveries_of_a_busy_endpoint_are_claimed_in_portions() {
    let (store, sender) = (counted(), Answering::with(204));
    let stage = Stage::new(store.clone(), &sender, 500).await;
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    until("everything is delivered", async || stage.is_delivered().await).await;
    workers.stop(PATIENCE).await.unwrap();
    let claims = store.calls("deliveries_claim");
    assert!(claims <= 50, "{claims} claims of 500 deliveries");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_recorded_before_its_slot_takes_another_delivery() {
    let sender = Answering::with(429);
    let stage = Stage::new(Arc::new(MemoryStore::new()), &sender, 100).await;
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    sleep(Duration::from_secs(30)).await;
    workers.stop(PATIENCE).await.unwrap();
    let asked = sender.asked().len();
    assert_eq!(asked, SlotLimits::default().start, "the endpoint asked for a pause");
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_but_not_recorded_when_a_program_ended_is_sent_again() {
    let sender = Answering::with(204);
    let stage = Stage::new(Arc::new(MemoryStore::new()), &sender, 4).await;
    let mut ended = Courier::new(stage.sms.clone());
    ended.look();
    assert!(matches!(ended.progress().await, Progress::Claimed(4)));
    let all_answered = async {
        while sender.asked().len() < 4 {
            let _ = timeout(TAKES, ended.progress()).await;
        }
    };
    timeout(PATIENCE, all_answered).await.unwrap();
    drop(ended);
    assert!(!stage.is_delivered().await, "nothing is recorded yet");
    sleep(ATTEMPT_LEASE).await;

    let mut next = Courier::new(stage.sms.clone());
    next.look();
    let mut delivered = 0;
    while next.is_busy() {
        if let Progress::Recorded(attempted) = next.progress().await {
            assert_eq!(attempted, Attempted::Delivered);
            delivered += 1;
        }
    }
    assert_eq!((delivered, sender.asked().len()), (4, 8));
    assert!(stage.is_delivered().await);
    assert!(stage.deliveries().await.iter().all(|delivery| delivery.attempts == 1));
}

#[tokio::test(start_paused = true)]
async fn workers_that_stop_record_what_was_answered_last() {
    let sender = Answering::with(204);
    let stage = Stage::new(Arc::new(MemoryStore::new()), &sender, 3).await;
    let workers = Workers::start(&stage.sms, WorkerOptions::new());
    until("everything is answered", async || sender.asked().len() == 3).await;
    workers.stop(PATIENCE).await.unwrap();
    assert!(stage.is_delivered().await);
}
