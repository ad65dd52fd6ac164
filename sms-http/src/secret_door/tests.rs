use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use tokio::sync::watch;

use super::*;

#[tokio::test]
async fn customers_who_all_come_at_once_take_turns_and_none_is_refused() {
    let door = SecretDoor::new(Stopwatch::default());
    let (answer, answered) = watch::channel(false);
    let looking_up = async || {
        answered.clone().wait_for(|answered| *answered).await.unwrap();
        Ok(Some(()))
    };
    let customers = (0..3 * AT_ONCE).map(|n| {
        let hash = KeyHash::from_bytes([u8::try_from(n).unwrap(); 32]);
        Box::pin(door.look_up(Entry::Api, hash, block(9), looking_up()))
    });
    let mut customers: Vec<_> = customers.collect();
    for customer in &mut customers {
        assert!(customer.now_or_never().is_none(), "refused before the store has answered");
    }
    answer.send_replace(true);
    for found in join_all(customers).await {
        assert!(found.unwrap().is_some());
    }
}

fn hash(n: u32) -> KeyHash {
    let mut bytes = [7; 32];
    bytes[8..12].copy_from_slice(&n.to_le_bytes());
    KeyHash::from_bytes(bytes)
}

#[expect(clippy::unnecessary_wraps, reason = "a client without an address has none")]
fn block(n: u32) -> Option<AddressBlock> {
    let [.., high, low] = n.to_be_bytes();
    Some(AddressBlock::of([198, 51, high, low].into()))
}

#[tokio::test]
async fn a_key_that_was_revoked_is_counted_like_one_that_was_made_up() {
    let door = SecretDoor::new(Stopwatch::default());
    let ask = async |found| door.look_up(Entry::Api, hash(1), block(9), async { Ok(found) }).await;
    for _ in 0..100 {
        assert_eq!(ask(Some(())).await.unwrap(), Some(()), "a known key is not counted");
    }
    // The first look-up finds out that it was revoked.
    for _ in 0..=AT_ONCE {
        assert_eq!(ask(None).await.unwrap(), None);
    }
    assert!(ask(None).await.is_err());
}

#[tokio::test]
async fn a_look_up_that_failed_is_not_counted() {
    let door = SecretDoor::new(Stopwatch::default());
    for n in 0..10 * AT_ONCE {
        let fails = async { Err::<Option<()>, _>(Error::Busy) };
        let failed = door.look_up(Entry::Api, hash(n), block(9), fails).await.unwrap_err();
        assert_eq!(failed.code(), "unavailable", "{n}");
    }
}

/// A door, and the time that has passed.
fn door() -> (SecretDoor, Arc<Mutex<Duration>>) {
    let (start, passed) = (Instant::now(), Arc::new(Mutex::new(Duration::ZERO)));
    let shown = Arc::clone(&passed);
    (SecretDoor::new(Stopwatch::new(move || start + *shown.lock().unwrap())), passed)
}

const RIGHT: &str = "the operator's token";

/// Tries a token. `None` says that it was refused unseen.
fn tries(door: &SecretDoor, token: &str, from: u32) -> Option<bool> {
    let own = Some(OperatorHash::of(RIGHT));
    door.is_operator(Entry::OperatorApi, OperatorHash::of(token), own, block(from)).ok()
}

#[test]
fn an_address_tries_a_hundred_tokens_an_hour_and_no_other_address_is_concerned() {
    let (door, passed) = door();
    let mut tried = 0;
    for n in 0..3_600 {
        tried += usize::from(tries(&door, &format!("token {n}"), 1) == Some(false));
        assert_eq!(tries(&door, RIGHT, 2), Some(true));
        *passed.lock().unwrap() += Duration::from_secs(1);
    }
    // What comes back within the hour is more of them.
    assert!((100..=200).contains(&tried), "{tried}");
    while tries(&door, &format!("token {tried}"), 1).is_some() {
        tried += 1;
    }
    assert_eq!(tries(&door, RIGHT, 1), None, "it does not learn which token is right");
    *passed.lock().unwrap() += Duration::from_mins(1);
    assert_eq!(tries(&door, RIGHT, 1), Some(true));
}

#[test]
fn a_wrong_token_that_comes_again_and_again_is_one() {
    let (door, passed) = door();
    for _ in 0..10_000 {
        assert_eq!(tries(&door, "yesterday's token", 1), Some(false));
        *passed.lock().unwrap() += Duration::from_millis(500);
    }
    assert_eq!(tries(&door, RIGHT, 1), Some(true));
}

#[test]
fn once_all_addresses_have_tried_a_thousand_each_has_five_and_the_right_token_is_admitted() {
    let (door, _) = door();
    let guesses = |from: u32| {
        let made_up = (0..40).map(|n| tries(&door, &format!("token {n} of {from}"), from));
        made_up.flatten().count()
    };
    let tried: usize = (0..50).map(guesses).sum();
    assert_eq!(tried, 1_000, "20 at once of each");
    for from in 100..110 {
        assert!(guesses(from) <= 5, "{from}");
    }
    assert_eq!(tries(&door, RIGHT, 200), Some(true));
}

#[test]
fn nobody_is_the_operator_where_the_operator_does_not_sign_in() {
    let (door, _) = door();
    let right = OperatorHash::of(RIGHT);
    assert!(!door.is_operator(Entry::SignIn, right, None, block(1)).unwrap());
    assert!(!door.is_operator(Entry::SignIn, right, None, None).unwrap());
}
