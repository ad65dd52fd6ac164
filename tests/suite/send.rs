//! How often a send asks its store.

use std::sync::Arc;

use sms_core::prelude::*;
use sms_core::sending::settle::Replay;
use sms_store_memory::MemoryStore;
use sms_tests::call_counter::CallCounter;

fn keyed(people: u32, key: &str) -> SendRequest {
    let numbers = (0..people).map(|n| format!("07700 900{n:03}"));
    let request = numbers.fold(SendRequest::new("Your table is ready"), SendRequest::to);
    request.idempotency_key(key.parse().unwrap())
}

#[tokio::test]
async fn a_key_of_a_small_send_is_looked_up_by_its_commit_alone() {
    let store = Arc::new(CallCounter::new(Arc::new(MemoryStore::new())));
    let sms = Sms::builder(store.clone()).build();
    let operator = sms.operator();
    operator.number_create(NumberInput::shared("07700 900900")).await.unwrap();
    let account = operator.account_create(NewAccountInput::active("Bistro", 100)).await.unwrap();
    let account = sms.account(account.id, Mode::Live);
    let look_ups = || store.calls("send_earlier");
    for (replay, key) in [(Replay::First, "a"), (Replay::First, "b"), (Replay::Repeated, "a")] {
        assert_eq!(account.send(keyed(1, key)).await.unwrap().replay, replay, "{key}");
    }
    account.send(keyed(2, "a")).await.unwrap_err();
    assert_eq!(look_ups(), 0, "accepted, repeated, and in conflict");

    let soon = sms.now().plus(std::time::Duration::from_millis(1));
    let mut invalid = keyed(1, "a").schedule_at(soon);
    invalid.body = String::new();
    account.send(invalid).await.unwrap_err();
    assert_eq!(look_ups(), 1, "a refused request may repeat one that was valid");

    account.send(keyed(11, "large")).await.unwrap();
    assert_eq!(look_ups(), 2, "a large send is looked up before it is planned");
}
