//! `/conversations`: the inbox.

use std::time::Duration;

use serde_json::{Value, json};
use sms_core::inbound::segment::{InboundSegment, Place, SegmentTaken, SegmentText};
use sms_core::originator::Originator;
use sms_core::route::RouteName;

use crate::contact::contact;
use crate::message_send::keys;
use crate::rig::{Account, Rig};

/// The account's own number.
pub(crate) const OURS: &str = "07700 900950";

/// An account with a dedicated number.
pub(crate) async fn inbox(rig: &Rig, credits: u32) -> Account {
    let account = rig.account(credits).await;
    let number = json!({ "phone_number": OURS, "account_id": account.id.to_string() });
    rig.operator().post("/numbers", number).await.assert(201);
    account
}

/// Someone sends a message to the account's number.
pub(crate) async fn receive(rig: &Rig, from: &str, body: &str) -> Value {
    let text = json!({ "from": from, "to": OURS, "body": body });
    rig.operator().post("/inbound", text).await.created()
}

fn numbers(conversations: &[Value]) -> Vec<&str> {
    let number = |one: &'_ Value| one["contact_number"].as_str().map(|text| &text[10..]).is_some();
    assert!(conversations.iter().all(number));
    conversations.iter().map(|one| &one["contact_number"].as_str().unwrap()[10..]).collect()
}

#[tokio::test]
async fn a_conversation_shows_who_texted_and_the_newest_message() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    let empty = account.live.get("/conversations").await.assert(200);
    let nothing = json!({ "next_cursor": null, "unread_total": 0 });
    assert_eq!((&empty.json["data"], &empty.json["meta"]), (&json!([]), &nothing));
    let text = receive(&rig, "07700 900123", "Hello").await;
    rig.clock.advance(Duration::from_secs(1));
    receive(&rig, "07700 900123", "Anybody there?").await;
    let sent = account.send("07700 900123", "Yes").await;
    account.send("07700 900124", "never texted us").await;
    let reply = account.live.get("/conversations").await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "next_cursor": null, "unread_total": 2 }));
    let shown = &reply.json["data"];
    let expected = json!([{
        "contact_number": "+447700900123", "contact_id": null, "contact_name": null, "unread": 2,
        "last_message": sent["messages"][0],
    }]);
    assert_eq!((shown, keys(&shown[0])), (&expected, keys(&expected[0])));
    assert_eq!(account.test.get("/conversations").await.ok(), expected);
    let person = json!({ "phone": "07700 900123", "first_name": "Ann", "last_name": "O'Neill" });
    let saved = account.live.post("/contacts", person).await.created();
    let shown = account.live.get("/conversations").await.ok();
    assert_eq!(shown[0]["contact_id"], saved["id"]);
    assert_eq!(shown[0]["contact_name"], "Ann O'Neill");
    assert_eq!(text["contact_id"], Value::Null);
    let text = receive(&rig, "07700 900123", "Me again").await;
    assert_eq!(text["contact_id"], saved["id"]);
}

#[tokio::test]
async fn conversations_are_listed_newest_activity_first_page_by_page() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    for n in 0..30 {
        receive(&rig, &format!("07700 9002{n:02}"), "Hello").await;
        rig.clock.advance(Duration::from_millis(n % 2));
    }
    account.send("07700 900205", "Hello to you").await;
    let mut expected: Vec<String> = (0..30).rev().map(|n| format!("2{n:02}")).collect();
    let moved = expected.remove(24);
    expected.insert(0, moved);
    for limit in [1, 7, 30, 100] {
        let all = account.live.pages("/conversations", limit).await;
        assert_eq!(numbers(&all), expected, "{limit}");
    }
    let first = account.live.get("/conversations").await.assert(200);
    let page = first.json["data"].as_array().unwrap();
    assert_eq!(page.len(), 25);
    // Conversations with new messages move to the front; no other is skipped or repeated.
    receive(&rig, "07700 900204", "Hello").await;
    receive(&rig, "07700 900229", "Hello").await;
    let cursor = first.json["meta"]["next_cursor"].as_str().unwrap();
    let rest = account.live.get(&format!("/conversations?cursor={cursor}")).await.assert(200);
    assert_eq!(numbers(rest.json["data"].as_array().unwrap()), ["203", "202", "201", "200"]);
    assert_eq!(rest.json["meta"], json!({ "next_cursor": null, "unread_total": 32 }));
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("cursor=x", "cursor", "invalid_format"),
        ("unread=yes", "unread", "unknown_value"),
        ("q=", "q", "empty"),
    ] {
        account.live.get(&format!("/conversations?{query}")).await.mistake(field, code);
    }
    account.live.get(&format!("/conversations?q={}", "x".repeat(200))).await.assert(200);
    let long = account.live.get(&format!("/conversations?q={}", "x".repeat(201))).await;
    long.mistake("q", "too_long");
}

#[tokio::test]
async fn conversations_are_found_by_unread_number_and_name() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    for from in ["07700 900101", "07700 900102", "07700 900103"] {
        receive(&rig, from, "Hello").await;
    }
    let person = json!({ "phone": "07700 900101", "first_name": "Änne", "email": "x@example.com" });
    account.live.post("/contacts", person).await.created();
    account.live.call("/conversations/07700900102/read").await.assert(200);
    for (query, found) in [
        ("unread=true", vec!["103", "101"]),
        ("unread=false", vec!["102"]),
        ("q=07700+900102", vec!["102"]),
        ("q=%2B447700900102", vec!["102"]),
        ("q=900+10", vec!["103", "102", "101"]),
        ("q=%C3%A4NNE", vec!["101"]),
        ("q=example", vec![]),
        ("q=900&unread=false", vec!["102"]),
    ] {
        let reply = account.live.get(&format!("/conversations?{query}")).await.assert(200);
        assert_eq!(numbers(reply.json["data"].as_array().unwrap()), found, "{query}");
        assert_eq!(reply.json["meta"]["unread_total"], 2, "of the whole account: {query}");
    }
}

#[tokio::test]
async fn a_thread_holds_the_last_200_messages_oldest_first() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    for n in 0..201 {
        receive(&rig, "07700 900123", &n.to_string()).await;
    }
    let sent = account.send("07700 900123", "Stop it").await;
    let thread = account.live.get("/conversations/07700900123").await.ok();
    assert_eq!(keys(&thread), ["contact_number", "contact", "opted_out", "messages"]);
    assert_eq!(thread["contact_number"], "+447700900123");
    assert_eq!((&thread["contact"], &thread["opted_out"]), (&Value::Null, &json!(false)));
    let messages = thread["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["body"]), (200, &json!("2")));
    assert_eq!(messages[199], sent["messages"][0]);
    let saved = contact(&account, "07700 900123").await;
    receive(&rig, "07700 900123", "STOP").await;
    let thread = account.live.get("/conversations/07700900123").await.ok();
    assert_eq!(thread["opted_out"], true);
    let shown = account.live.get(&crate::contact::path("/contacts", &saved)).await.ok();
    for field in keys(&thread["contact"]) {
        assert_eq!(thread["contact"][field], shown[field], "{field}");
    }
    assert_eq!(thread["contact"]["opted_out"], true);
}

#[tokio::test]
async fn a_number_is_taken_in_every_form_and_is_404_without_any_message() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    receive(&rig, "07700 900123", "Hello").await;
    account.send("07700 900124", "never texted us").await;
    for form in ["%2B447700900123", "+447700900123", "447700900123", "07700900123"] {
        let thread = account.live.get(&format!("/conversations/{form}")).await.ok();
        assert_eq!(thread["messages"].as_array().unwrap().len(), 1, "{form}");
        account.live.call(&format!("/conversations/{form}/read")).await.assert(200);
    }
    // Contacted, though it never texted: a thread, and nothing to mark.
    let thread = account.live.get("/conversations/07700900124").await.ok();
    assert_eq!(thread["messages"].as_array().unwrap().len(), 1);
    let marked = account.live.call("/conversations/07700900124/read").await.ok();
    assert_eq!(marked, json!({ "marked_read": 0 }));
    for nobody in ["07700900125", "hello", "123", "%20"] {
        let path = format!("/conversations/{nobody}");
        account.live.get(&path).await.refused(404, "not_found");
        account.live.call(&format!("{path}/read")).await.refused(404, "not_found");
    }
}

#[tokio::test]
async fn marking_as_read_is_seen_on_messages_and_counts() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    for _ in 0..3 {
        receive(&rig, "07700 900123", "Hello").await;
    }
    receive(&rig, "07700 900124", "Hello").await;
    rig.clock.advance(Duration::from_secs(1));
    let path = "/conversations/07700900123/read";
    assert_eq!(account.live.call(path).await.ok(), json!({ "marked_read": 3 }));
    assert_eq!(account.live.call(path).await.ok(), json!({ "marked_read": 0 }));
    let reply = account.live.get("/conversations").await.assert(200);
    let unread: Vec<_> =
        reply.json["data"].as_array().unwrap().iter().map(|one| &one["unread"]).collect();
    assert_eq!(
        (unread, &reply.json["meta"]["unread_total"]),
        (vec![&json!(1), &json!(0)], &json!(1))
    );
    let thread = account.live.get("/conversations/07700900123").await.ok();
    for text in thread["messages"].as_array().unwrap() {
        assert_eq!(text["read_at"], "2026-11-21T07:07:11.123Z");
        let path = crate::contact::path("/messages", text);
        assert_eq!(account.live.get(&path).await.ok()["read_at"], text["read_at"]);
    }
}

#[tokio::test]
async fn a_long_message_that_comes_in_parts_is_one_message_at_once_or_after_a_day() {
    let rig = Rig::new().await;
    let account = inbox(&rig, 10).await;
    let part = |reference, number, body: &str| InboundSegment {
        from: Originator::parse("+447700900123").unwrap(),
        to: "+447700900950".parse().unwrap(),
        reference,
        place: Place::new(number, 3).unwrap(),
        text: SegmentText::whole(body),
        route: RouteName::new("simulator"),
        received_at: rig.sms.now(),
    };
    let bodies = async || {
        let thread = account.live.get("/conversations/07700900123").await.ok();
        let messages = thread["messages"].as_array().unwrap().clone();
        messages.iter().map(|text| text["body"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (number, body) in [(3, "c"), (1, "a"), (3, "c")] {
        rig.sms.inbound_segment(part(1, number, body)).await.unwrap();
    }
    account.live.get("/conversations/07700900123").await.refused(404, "not_found");
    let last = rig.sms.inbound_segment(part(1, 2, "b")).await.unwrap();
    assert!(matches!(last, SegmentTaken::Joined(_)));
    assert_eq!(bodies().await, ["abc"]);
    for (number, body) in [(3, "z"), (1, "x")] {
        rig.sms.inbound_segment(part(2, number, body)).await.unwrap();
    }
    rig.clock.advance(Duration::from_hours(24));
    assert_eq!(rig.sms.tidy(100).await.unwrap(), 0);
    rig.clock.advance(Duration::from_millis(1));
    assert_eq!(rig.sms.tidy(100).await.unwrap(), 2);
    assert_eq!(bodies().await, ["abc", "x[...]z"]);
    assert_eq!(rig.sms.tidy(100).await.unwrap(), 0);
}
