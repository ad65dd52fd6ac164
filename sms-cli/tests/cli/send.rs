//! Sending: its price, its confirmation, and what it prints.

use serde_json::json;

use crate::home::Home;
use crate::server;

#[test]
fn a_send_prints_its_messages_and_what_they_cost() {
    let home = Home::with_key(&server::account(10).live);
    let sent = home.json(&["send", "07700 900123", "--body", "Your table is ready", "--yes"]);
    assert_eq!((&sent["credits"], &sent["balance"]), (&json!(1), &json!(9)));
    assert_eq!(sent["messages"][0]["to"], "+447700900123");
    let ran = home.run(&["send", "07700900123", "-b", "Hello", "--yes"]).assert(0);
    assert!(ran.out.contains("accepted 1 message, 1 credit charged, balance 8"), "{ran:?}");
    assert!(!ran.out.contains('\x1b'), "colours are for terminals: {ran:?}");
}

#[test]
fn a_live_send_is_confirmed_and_a_test_send_needs_no_confirmation() {
    let keys = server::account(10);
    let home = Home::with_key(&keys.live);
    let ran = home.run(&["send", "07700900123", "07700900124", "-b", "Hello"]).assert(6);
    assert!(ran.err.contains("Send 2 messages for 2 credits (balance 10)"), "{ran:?}");
    assert!(ran.err.contains("--yes"), "{ran:?}");
    assert_eq!(home.json(&["messages", "list"]), json!([]));
    let sent = Home::with_key(&keys.test).json(&["send", "07700900123", "-b", "Hello"]);
    assert_eq!((&sent["test"], &sent["credits"]), (&json!(true), &json!(0)));
}

#[test]
fn the_same_idempotency_key_sends_once() {
    let home = Home::with_key(&server::account(10).live);
    let send = ["send", "07700900123", "-b", "Hello", "--yes", "--idempotency-key", "booking-42"];
    let (first, second) = (home.json(&send), home.json(&send));
    assert_eq!((&first["replayed"], &second["replayed"]), (&json!(false), &json!(true)));
    assert_eq!(first["batch_id"], second["batch_id"]);
    let ran = home.run(&send).assert(0);
    assert!(ran.out.contains("nothing was done now"), "{ran:?}");
    let other = ["send", "07700900124", "-b", "Hello", "--yes", "--idempotency-key", "booking-42"];
    let ran = home.run(&other).assert(4);
    assert!(ran.err.contains("idempotency_conflict"), "{ran:?}");
}

#[test]
fn a_recipient_without_a_message_is_named_and_the_exit_code_says_so() {
    let home = Home::with_key(&server::account(10).live);
    let ran = home.run(&["send", "07700900123", "12", "-b", "Hello", "--yes"]).assert(8);
    assert!(ran.out.contains("no message to 12: invalid_number"), "{ran:?}");
    assert!(ran.out.contains("accepted 1 message"), "{ran:?}");
}

#[test]
fn a_balance_that_is_too_low_has_its_own_exit_code() {
    let home = Home::with_key(&server::account(1).live);
    let send = ["send", "07700900123", "07700900124", "-b", "Hello", "--yes"];
    let ran = home.run(&send).assert(5);
    assert!(ran.err.contains("insufficient_credit"), "{ran:?}");
    let ran = home.run(&[&send[..], &["--json"]].concat()).assert(5);
    let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(error["error"]["code"], "insufficient_credit");
    assert_eq!(error["error"]["details"], json!({ "needed": 2, "balance": 1 }));
    assert_eq!(ran.out, "");
}

#[test]
fn a_text_may_come_from_a_file_or_from_standard_input() {
    let home = Home::with_key(&server::account(10).test);
    std::fs::write(home.file("text.txt"), "From a file\n").unwrap();
    let sent = home.json(&["send", "07700900123", "--body-file", "text.txt"]);
    assert_eq!(sent["messages"][0]["body"], "From a file");
    let send = ["send", "07700900123", "--body-file", "-", "--json"];
    let ran = home.run_with(&send, "Grüße\nvon der Pipe\n").assert(0);
    assert!(ran.out.contains("Grüße\\nvon der Pipe\""), "{ran:?}");
    let ran = home.run(&["send", "07700900123", "--body-file", "none.txt"]).assert(1);
    assert!(ran.err.contains("none.txt"), "{ran:?}");
}

#[test]
fn a_quote_says_the_price_and_sends_nothing() {
    let home = Home::with_key(&server::account(10).live);
    let ran = home.run(&["quote", "07700900123", "-b", "Grüße 👋"]).assert(0);
    assert!(ran.out.contains("1 credit to 1 recipient, balance 10"), "{ran:?}");
    assert!(ran.out.contains("ucs2: Grüße 👋"), "{ran:?}");
    let quote = home.json(&["quote", "07700900123", "12", "-b", "Hello"]);
    assert_eq!(quote["rejected"], json!([{ "to": "12", "reason": "invalid_number" }]));
    assert_eq!(home.json(&["messages", "list"]), json!([]));
}

#[test]
fn every_invalid_field_of_a_request_is_named() {
    let home = Home::with_key(&server::account(10).test);
    let ran = home.run(&["send", "07700900123", "-b", &"x".repeat(1_601)]).assert(4);
    assert!(ran.err.contains("body:") && ran.err.contains("validation_failed"), "{ran:?}");
}
