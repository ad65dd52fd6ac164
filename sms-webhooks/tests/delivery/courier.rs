//! The courier over real sockets: a bad endpoint does not delay the others, and its cost is
//! bounded.

use std::sync::Arc;

use sms_core::clock::ManualClock;
use sms_core::event::EventType;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::service::AccountHandle;
use sms_core::service::webhook::Attempted;
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::{Delivery, DeliveryError, DeliveryStatus};
use sms_core::webhook::endpoint::{DisabledReason, Endpoint, EndpointInput, Power};
use sms_store_memory::MemoryStore;
use sms_webhooks::{Courier, HttpSender, Progress, SlotLimits};

use crate::open_client;
use crate::receiver::{Behaviour, Receiver, answer};

/// A service on a clock that stands still, and its one account.
async fn service() -> (Sms, AccountHandle) {
    let sms = Sms::builder(Arc::new(MemoryStore::new()))
        .clock(Arc::new(ManualClock::at(Timestamp::from_millis(1_795_000_000_000))))
        .random(Arc::new(SeededRandom::new(11)))
        .webhooks(Arc::new(HttpSender::with_client(open_client())))
        .build();
    let input = NewAccountInput::active("Bistro", 1_000);
    let account = sms.operator().account_create(input).await.unwrap();
    sms.operator().number_create(NumberInput::shared("07700 900001")).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    (sms, account)
}

async fn endpoint(account: &AccountHandle, url: String) -> Endpoint {
    account.webhook_create(EndpointInput::new(url, [EventType::MessageSent])).await.unwrap().0
}

/// Sends `count` messages, each of which raises one event.
async fn raise_events(sms: &Sms, account: &AccountHandle, count: usize) {
    let numbers: Vec<String> = (0..count).map(|n| format!("07700 900{n:03}")).collect();
    let request = SendRequest::new("hello").to(numbers.join(","));
    account.send(request).await.unwrap();
    sms.dispatch_due(count).await.unwrap();
}

async fn deliveries(account: &AccountHandle, endpoint: &Endpoint) -> Vec<Delivery> {
    let mut all = Vec::new();
    let mut page = PageRequest::default();
    loop {
        let read = account.delivery_list(endpoint.id, page).await.unwrap();
        all.extend(read.items);
        match read.next {
            Some(next) => page.after = Some(next),
            None => return all,
        }
    }
}

/// The next attempt that is recorded. The courier claims by itself while slots are the limit.
async fn next_recorded(courier: &mut Courier) -> Attempted {
    loop {
        match courier.progress().await {
            Progress::Claimed(_) => {}
            Progress::Recorded(attempted) => return attempted,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_never_answers_does_not_delay_another() {
    let (sms, account) = service().await;
    let silent = Receiver::start(Behaviour::NeverAnswer).await;
    let well = Receiver::start(answer("200 OK", "", "")).await;
    let silent_endpoint = endpoint(&account, silent.url("/")).await;
    let well_endpoint = endpoint(&account, well.url("/")).await;
    raise_events(&sms, &account, 60).await;

    let limits = SlotLimits { total: 16, ..SlotLimits::default() };
    let mut courier = Courier::with_limits(sms, limits);
    courier.look();
    for _ in 0..60 {
        assert_eq!(next_recorded(&mut courier).await, Attempted::Delivered);
    }

    let taken = deliveries(&account, &well_endpoint).await;
    assert!(taken.iter().all(|delivery| delivery.status == DeliveryStatus::Delivered));
    let waiting = deliveries(&account, &silent_endpoint).await;
    assert!(waiting.iter().all(|delivery| delivery.attempts == 0));
    // It holds the slots that an unknown endpoint starts with, and no more.
    assert_eq!(courier.under_way(), limits.start);
}

#[tokio::test]
async fn a_dead_endpoint_costs_no_more_than_the_attempts_that_disable_it() {
    let (sms, account) = service().await;
    let dead = Receiver::start(answer("500 Internal Server Error", "", "")).await;
    let dead_endpoint = endpoint(&account, dead.url("/")).await;
    raise_events(&sms, &account, 150).await;

    let mut courier = Courier::new(sms);
    courier.look();
    while courier.is_busy() {
        if let Progress::Recorded(attempted) = courier.progress().await {
            assert_eq!(attempted, Attempted::Failed);
        }
    }

    let dead_endpoint = account.webhook_get(dead_endpoint.id).await.unwrap();
    assert_eq!(dead_endpoint.power, Power::Off(DisabledReason::Failures));
    assert_eq!(dead_endpoint.consecutive_failures, 100);
    let all = deliveries(&account, &dead_endpoint).await;
    let attempts: u32 = all.iter().map(|delivery| delivery.attempts).sum();
    let most = 100 + u32::try_from(SlotLimits::default().most).unwrap();
    assert!((100..=most).contains(&attempts), "{attempts}");
    let off = Some(DeliveryError::EndpointOff);
    assert!(all.iter().any(|delivery| delivery.last_error == off));
    assert!(all.iter().all(|delivery| delivery.status == DeliveryStatus::GivenUp));
}
