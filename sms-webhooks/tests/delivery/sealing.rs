//! Sealed secrets in a service: what the store gets, and what a missing key stops.

use std::sync::Arc;

use sms_core::clock::ManualClock;
use sms_core::event::EventType;
use sms_core::prelude::*;
use sms_core::random::SeededRandom;
use sms_core::service::AccountHandle;
use sms_core::service::webhook::Rotation;
use sms_core::time::Timestamp;
use sms_core::webhook::attempt::ATTEMPT_LEASE;
use sms_core::webhook::delivery::DeliveryStatus;
use sms_core::webhook::endpoint::{Endpoint, EndpointChange, EndpointInput};
use sms_core::webhook::rotation::OLD_SECRET_VALID_FOR;
use sms_core::webhook::sealing::{PlainSecrets, SealError, SecretSealer, StoredSecret};
use sms_store_memory::MemoryStore;
use sms_webhooks::{HttpSender, SecretKeys};

use crate::open_client;
use crate::receiver::{Receiver, answer};

const FIRST: &str = "first:QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";

/// One store, its clock, and programs that use it with keys of their own.
struct World {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::at(Timestamp::from_millis(1_795_000_000_000));
        Self { store: Arc::new(MemoryStore::new()), clock: Arc::new(clock) }
    }

    fn program(&self, sealer: Arc<dyn SecretSealer>, seed: u64) -> Sms {
        Sms::builder(self.store.clone())
            .clock(self.clock.clone())
            .random(Arc::new(SeededRandom::new(seed)))
            .webhooks(Arc::new(HttpSender::with_client(open_client())))
            .seal_secrets_with(sealer)
            .build()
    }
}

fn first_key() -> Arc<SecretKeys> {
    Arc::new(FIRST.parse().unwrap())
}

async fn new_account(sms: &Sms) -> AccountHandle {
    let input = NewAccountInput::active("Bistro", 1_000);
    let account = sms.operator().account_create(input).await.unwrap();
    sms.account(account.id, Mode::Live)
}

async fn endpoint(account: &AccountHandle, url: String) -> Endpoint {
    account.webhook_create(EndpointInput::new(url, [EventType::MessageSent])).await.unwrap().0
}

#[tokio::test]
async fn a_program_without_the_key_sends_nothing_and_counts_no_failure() {
    let world = World::new();
    let (with_key, without) =
        (world.program(first_key(), 1), world.program(Arc::new(PlainSecrets), 2));
    let receiver = Receiver::start(answer("200 OK", "", "")).await;
    let account = new_account(&with_key).await;
    let made = endpoint(&account, receiver.url("/")).await;
    with_key.operator().number_create(NumberInput::shared("07700 900001")).await.unwrap();
    account.send(SendRequest::new("hello").to("07700 900123")).await.unwrap();
    with_key.dispatch_due(1).await.unwrap();

    let is_unknown_key = |error: &Error| matches!(error, Error::Seal(SealError::UnknownKey(_)));
    assert!(is_unknown_key(&without.deliver_webhooks(10).await.unwrap_err()));
    let other = without.account(account.id(), Mode::Live);
    assert!(is_unknown_key(&other.webhook_test(made.id).await.unwrap_err()));
    assert!(is_unknown_key(&without.seal_secrets().await.unwrap_err()));
    assert_eq!(receiver.connections().await, 0);
    assert_eq!(account.webhook_get(made.id).await.unwrap(), made);

    world.clock.advance(ATTEMPT_LEASE);
    assert_eq!(with_key.deliver_webhooks(10).await.unwrap(), 1);
    let deliveries = account.delivery_list(made.id, PageRequest::default()).await.unwrap().items;
    let ends: Vec<_> = deliveries.iter().map(|one| (one.status, one.attempts)).collect();
    assert_eq!(ends, [(DeliveryStatus::Delivered, 1)]);
}

#[tokio::test]
async fn all_endpoints_are_sealed_portion_by_portion_and_old_secrets_that_ended_go() {
    let world = World::new();
    let plain = world.program(Arc::new(PlainSecrets), 1);
    let mut accounts = Vec::new();
    for _ in 0..51 {
        let account = new_account(&plain).await;
        for _ in 0..10 {
            endpoint(&account, "http://127.0.0.1:9/".to_owned()).await;
        }
        accounts.push(account);
    }
    let rotated = accounts[0].webhook_list().await.unwrap().remove(0).id;
    let rotate =
        || accounts[0].webhook_update(rotated, EndpointChange::default(), Rotation::Rotate);
    rotate().await.unwrap();

    let sealing = world.program(first_key(), 2);
    assert_eq!(sealing.seal_secrets().await.unwrap(), 510);
    assert_eq!(sealing.seal_secrets().await.unwrap(), 0);
    let is_sealed = |stored: &StoredSecret| matches!(stored, StoredSecret::Sealed { .. });
    for account in &accounts {
        for found in account.webhook_list().await.unwrap() {
            assert!(is_sealed(&found.secret), "{found:?}");
            assert_eq!(found.old_secret.is_some(), found.id == rotated);
            assert!(found.old_secret.is_none_or(|old| is_sealed(&old.secret)));
        }
    }
    world.clock.advance(OLD_SECRET_VALID_FOR);
    assert_eq!(sealing.seal_secrets().await.unwrap(), 1);
    assert_eq!(accounts[0].webhook_get(rotated).await.unwrap().old_secret, None);
}
