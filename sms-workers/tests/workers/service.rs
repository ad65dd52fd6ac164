//! One call makes a service live. Time is tokio's own, which stands still while there is something
//! to do, so that a month is short.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::account::Mode;
use sms_core::clock::{Clock, ManualClock, MovableClock};
use sms_core::credits::Credits;
use sms_core::event::EventType;
use sms_core::ids::AccountId;
use sms_core::message::MessageStatus;
use sms_core::number::rent::PERIOD;
use sms_core::sending::request::SendRequest;
use sms_core::service::operator::{NewAccountInput, NumberInput};
use sms_core::service::{AccountHandle, Sms, SmsBuilder};
use sms_core::time::Timestamp;
use sms_core::webhook::endpoint::EndpointInput;
use sms_core::webhook::sender::{
    UrlCheck, UrlRefused, WebhookAnswer, WebhookRequest, WebhookSender,
};
use sms_store_memory::MemoryStore;
use sms_workers::{PauseSwitch, WorkerOptions, Workers};
use tokio::time::Instant;

use crate::{TIME_TO_STOP, until};

/// What endpoints were told.
#[derive(Debug, Default)]
struct Endpoints(Mutex<Vec<EventType>>);

#[async_trait]
impl WebhookSender for Endpoints {
    async fn check_url(
        &self,
        _account: AccountId,
        _url: &str,
        _check: UrlCheck,
    ) -> Result<(), UrlRefused> {
        Ok(())
    }

    async fn send(&self, request: WebhookRequest) -> WebhookAnswer {
        self.0.lock().unwrap().push(request.event_type);
        let (duration, response_body) = (Duration::from_millis(1), Vec::new());
        WebhookAnswer {
            result: Ok(()),
            status_code: Some(204),
            retry_after: None,
            duration,
            response_body,
        }
    }
}

/// Shows the time of tokio's clock.
#[derive(Debug)]
pub(crate) struct TokioClock(pub(crate) Instant);

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_795_000_000_000).plus(self.0.elapsed())
    }
}

pub(crate) fn builder() -> SmsBuilder {
    Sms::builder(Arc::new(MemoryStore::new())).clock(Arc::new(TokioClock(Instant::now())))
}

/// An account with 100 credits that may send.
pub(crate) async fn account(sms: &Sms) -> AccountHandle {
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await.unwrap();
    sms.account(account.id, Mode::Live)
}

async fn is_delivered(account: &AccountHandle, message: sms_core::ids::MessageId) -> Option<()> {
    let message = account.message_get(message).await.unwrap().message;
    (message.status == MessageStatus::Delivered).then_some(())
}

async fn hello(account: &AccountHandle) -> sms_core::ids::MessageId {
    let request = SendRequest::new("Hello").to("07700 900123");
    account.send(request).await.unwrap().messages[0].id
}

#[tokio::test(start_paused = true)]
async fn started_workers_deliver_a_message_and_tell_its_webhooks() {
    sms_test_log::watch();
    let endpoints = Arc::new(Endpoints::default());
    let sms = builder().webhooks(endpoints.clone()).build();
    let account = account(&sms).await;
    let events = [EventType::MessageSent, EventType::MessageDelivered];
    let endpoint = EndpointInput::new("https://example.com/hooks", events);
    account.webhook_create(endpoint).await.unwrap();
    let workers = Workers::start(&sms, WorkerOptions::new());
    let message = hello(&account).await;
    until("a delivered message", async || is_delivered(&account, message).await).await;
    let told = until("both webhooks", async || {
        let mut told = endpoints.0.lock().unwrap().clone();
        told.sort();
        (told.len() == 2).then_some(told)
    });
    assert_eq!(told.await, [EventType::MessageSent, EventType::MessageDelivered]);
    workers.stop(TIME_TO_STOP).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_leaves_as_soon_as_it_is_accepted_without_anything_to_wire() {
    let sms = builder().build();
    let account = account(&sms).await;
    let workers = Workers::start(&sms, WorkerOptions::new());
    // The loops have found nothing and sleep.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let accepted = Instant::now();
    let message = hello(&account).await;
    until("a sent message", async || {
        let message = account.message_get(message).await.unwrap().message;
        (message.status != MessageStatus::Queued).then_some(())
    })
    .await;
    let took = accepted.elapsed();
    assert!(took < Duration::from_millis(100), "{took:?}: polling takes up to a second");
    workers.stop(TIME_TO_STOP).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn rent_that_falls_due_is_charged_within_a_minute() {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000)));
    let sms = Sms::builder(Arc::new(MemoryStore::new())).clock(clock.clone()).build();
    let account = account(&sms).await;
    let rental_credits = Credits::new(7).unwrap();
    let number = NumberInput::dedicated("07700 900002", account.id());
    sms.operator().number_create(number.rental_credits(rental_credits)).await.unwrap();
    let balance = async || account.get().await.unwrap().balance.get();
    assert_eq!(balance().await, 93, "the first period is charged at once");
    let workers = Workers::start(&sms, WorkerOptions::new());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(balance().await, 93);
    let due = Instant::now();
    clock.advance(PERIOD);
    until("rent", async || (balance().await == 86).then_some(())).await;
    let took = due.elapsed();
    assert!(took < Duration::from_mins(1), "{took:?}");
    workers.stop(TIME_TO_STOP).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn paused_workers_begin_nothing_and_go_on_afterwards() {
    let clock = Arc::new(MovableClock::new(Arc::new(TokioClock(Instant::now()))));
    let sms = Sms::builder(Arc::new(MemoryStore::new())).clock(clock.clone()).build();
    let account = account(&sms).await;
    let switch = PauseSwitch::default();
    let workers = Workers::start(&sms, WorkerOptions::new().pausable(&switch));
    let paused = switch.pause().await;
    let message = hello(&account).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    let status = account.message_get(message).await.unwrap().message.status;
    assert_eq!(status, MessageStatus::Queued);
    drop(paused);
    until("a delivered message", async || is_delivered(&account, message).await).await;
    workers.stop(TIME_TO_STOP).await.unwrap();
}
