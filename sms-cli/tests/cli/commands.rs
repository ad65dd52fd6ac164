//! Messages, contacts, lists, opt-outs, inbound messages and webhooks.

use serde_json::json;

use crate::home::Home;
use crate::receiver::Receiver;
use crate::server::{self, SHARED_NUMBER, TOKEN};

#[test]
fn messages_are_listed_read_cancelled_and_exported() {
    let home = Home::with_key(&server::account(10).live);
    let at = "2036-01-01T00:00:00Z";
    let refused = home.run(&["send", "07700900123", "-b", "Later", "--at", at, "--yes"]).assert(4);
    assert!(refused.err.contains("schedule_at"), "{refused:?}");
    let send = ["send", "07700900123", "-b", "=Hello", "--ref", "r1", "--yes"];
    let sent = home.json(&send);
    let id = sent["messages"][0]["id"].as_str().unwrap();
    let list = home.json(&["messages", "list", "--ref", "r1"]);
    assert_eq!(list[0]["id"], id);
    assert_eq!(home.json(&["messages", "list", "--ref", "r2"]), json!([]));
    let ran = home.run(&["messages", "list"]).assert(0);
    assert!(ran.out.contains(id) && ran.out.contains("→ +447700900123"), "{ran:?}");
    server::pass(60);
    let message = home.json(&["messages", "get", id]);
    assert_eq!(message["status"], "delivered");
    let ran = home.run(&["messages", "get", id]).assert(0);
    assert!(ran.out.lines().last().unwrap().contains("delivered"), "{ran:?}");
    let ran = home.run(&["messages", "cancel", id]).assert(4);
    assert!(ran.err.contains("message_not_cancellable"), "{ran:?}");
    home.run(&["messages", "export", "--output", "all.csv"]).assert(0);
    let ran = home.run(&["messages", "export"]).assert(0);
    assert_eq!(ran.out.lines().count(), 2);
    assert!(!ran.out.starts_with('\u{feff}'), "programs read a pipe");
    let marked = format!("\u{feff}{}", ran.out);
    let exported = std::fs::read_to_string(home.file("all.csv")).unwrap();
    assert_eq!(exported, marked, "a spreadsheet opens a file");
    assert_eq!(home.run(&["messages", "export", "--bom"]).assert(0).out, marked);
    home.run(&["messages", "export", "--no-bom", "--output", "all.csv"]).assert(0);
    assert_eq!(std::fs::read_to_string(home.file("all.csv")).unwrap(), ran.out);
    home.run(&["messages", "export", "--bom", "--no-bom"]).assert(2);
    let ran = home.run(&["messages", "get", "bat_1"]).assert(2);
    assert!(ran.err.contains("begins with msg_"), "{ran:?}");
    home.run(&["messages", "get", "msg_00000000000000000000000000"]).assert(4);
}

#[test]
fn a_scheduled_message_is_cancelled() {
    let keys = server::account(10);
    let home = Home::with_key(&keys.live);
    // Seen from the sandbox's clock, however far other tests have moved it.
    let now = server::operator("/clock", &json!({ "advance_seconds": 1 }))["now"].clone();
    let now: chrono::DateTime<chrono::Utc> = now.as_str().unwrap().parse().unwrap();
    let at = (now + chrono::Duration::days(30)).to_rfc3339();
    let sent = home.json(&["send", "07700900123", "-b", "Later", "--at", &at, "--yes"]);
    let id = sent["messages"][0]["id"].as_str().unwrap();
    assert_eq!(home.json(&["messages", "cancel", id])["status"], "cancelled");
    assert_eq!(home.json(&["status"])["balance"]["credits"], 10);
}

#[test]
fn lists_are_made_filled_shown_and_deleted() {
    let home = Home::with_key(&server::account(10).live);
    let ran = home.run(&["lists", "create", "Newsletter", "--description", "Online"]).assert(0);
    let id = ran.out.trim();
    let add = ["lists", "add", id, "07700900123", "07700900124", "12"];
    let ran = home.run(&add).assert(8);
    assert!(ran.out.contains("added 2 contacts\nnot a number: 12"), "{ran:?}");
    let lists = home.json(&["lists", "list"]);
    assert_eq!((&lists[0]["name"], &lists[0]["contact_count"]), (&"Newsletter".into(), &2.into()));
    let contacts = home.json(&["contacts", "list", "--list", id]);
    assert_eq!(contacts.as_array().unwrap().len(), 2);
    assert_eq!(home.json(&["contacts", "list", "--limit", "1"]).as_array().unwrap().len(), 1);
    home.run(&["lists", "delete", id]).assert(0);
    assert_eq!(home.json(&["lists", "list"]), json!([]));
    assert_eq!(home.json(&["contacts", "list", "--all"]).as_array().unwrap().len(), 2);
}

#[test]
fn opt_outs_are_added_shown_and_removed() {
    let home = Home::with_key(&server::account(10).live);
    home.run(&["opt-outs", "add", "07700900123", "--note", "by phone"]).assert(0);
    home.run(&["opt-outs", "add", "07700900124"]).assert(0);
    let found = home.json(&["opt-outs", "list", "--query", "by phone"]);
    assert_eq!(found[0]["phone"], "+447700900123");
    assert_eq!(home.json(&["opt-outs", "list", "--all"]).as_array().unwrap().len(), 2);
    home.run(&["opt-outs", "remove", "+447700900123"]).assert(0);
    let ran = home.run(&["opt-outs", "list"]).assert(0);
    assert!(!ran.out.contains("900123") && ran.out.contains("900124"), "{ran:?}");
}

#[test]
fn an_inbound_message_is_simulated_with_the_operators_token() {
    let home = Home::with_key(&server::account(10).live);
    home.json(&["send", "07700900555", "-b", "Coming tonight?", "--yes"]);
    let simulate = ["inbound", "simulate", "--from", "07700900555", "--to", SHARED_NUMBER];
    let simulate = [&simulate[..], &["--body", "Yes \x1b[2J"]].concat();
    home.run(&simulate).assert(3).hides(TOKEN);
    let home = home.with("SMS_ADMIN_TOKEN", TOKEN);
    let ran = home.run(&simulate).assert(0);
    assert!(ran.out.starts_with("received msg_"), "{ran:?}");
    let ran = home.run(&["messages", "list", "--direction", "inbound"]).assert(0);
    assert!(ran.out.contains("← +447700900555") && ran.out.contains("Yes"), "{ran:?}");
    assert!(!ran.out.contains('\x1b'), "a message does not command the terminal: {ran:?}");
    for (from, exit, said) in [("ACME", 0, "unrouted"), ("a name that is too long", 4, "from:")] {
        let simulate = ["inbound", "simulate", "--from", from, "--to", SHARED_NUMBER];
        let ran = home.run(&[&simulate[..], &["--body", "Hello"]].concat()).assert(exit);
        assert!(ran.out.contains(said) || ran.err.contains(said), "{ran:?}");
    }
}

#[test]
fn webhooks_are_made_tested_and_their_deliveries_shown_and_retried() {
    let home = Home::with_key(&server::account(10).live);
    let receiver = Receiver::start();
    let made = home.json(&["webhooks", "create", &receiver.url, "--event", "message.delivered"]);
    let id = made["id"].as_str().unwrap();
    let ran = home.run(&["webhooks", "test", id]).assert(0);
    assert!(ran.out.starts_with("accepted in "), "{ran:?}");
    receiver.next().verify(made["secret"].as_str().unwrap());
    home.json(&["send", "07700900123", "-b", "Hello", "--yes"]);
    server::pass(60);
    let delivered = receiver.next();
    assert_eq!(delivered.json()["type"], "message.delivered");
    let deliveries = home.json(&["webhooks", "deliveries", id]);
    let delivery = deliveries[0]["id"].as_str().unwrap();
    assert_eq!(delivered.header("webhook-id"), delivery);
    home.run(&["webhooks", "retry", id, delivery]).assert(0);
    assert_eq!(receiver.next().header("webhook-id"), delivery);
    let ran = home.run(&["webhooks", "list"]).assert(0);
    assert!(ran.out.contains(id) && ran.out.contains("message.delivered"), "{ran:?}");
    home.run(&["webhooks", "delete", id]).assert(0);
    assert_eq!(home.json(&["webhooks", "list"]), json!([]));
    let ran = home.run(&["webhooks", "create", "ftp://example.com"]).assert(4);
    assert!(ran.err.contains("url:"), "{ran:?}");
}

#[test]
fn a_replay_sends_an_endpoint_the_events_that_it_missed() {
    let home = Home::with_key(&server::account(10).live);
    home.json(&["send", "07700900123", "-b", "Hello", "--yes"]);
    server::pass(60);
    let receiver = Receiver::start();
    let both = ["--event", "message.sent", "--event", "message.delivered"];
    let made = home.json(&[&["webhooks", "create", &receiver.url][..], &both].concat());
    let id = made["id"].as_str().unwrap();
    let replay = ["webhooks", "replay", id];
    let ran = home.run(&[&replay[..], &["--since", "2026-01-01T00:00:00Z"]].concat()).assert(0);
    assert_eq!(ran.out, "2 events will be sent again\n");
    server::pass(60);
    let events = [receiver.next().json(), receiver.next().json()];
    let mut types = events.each_ref().map(|event| event["type"].as_str().unwrap());
    types.sort_unstable();
    assert_eq!(types, ["message.delivered", "message.sent"]);
    let start = "00000000000000000000000000";
    let one = ["--after", start, "--event", "message.delivered", "--until", "2101-01-01T00:00:00Z"];
    let begun = home.json(&[&replay[..], &one].concat());
    assert_eq!((&begun["events"], &begun["has_more"]), (&json!(1), &json!(false)));
    server::pass(60);
    assert_eq!(receiver.next().json()["type"], "message.delivered");
    let ran = home.run(&replay).assert(2);
    assert!(ran.err.contains("--since"), "{ran:?}");
    let wrong = home.run(&[&replay[..], &["--after", "nonsense"]].concat()).assert(4);
    assert!(wrong.err.contains("after"), "{wrong:?}");
}
