//! `GET /messages`, `GET /messages/{id}` and `POST /messages/{id}/cancel`.

use serde_json::{Value, json};
use sms_core::phone::parse_any;

use crate::message_send::{MESSAGE_FIELDS, keys, numbers};
use crate::rig::{Account, Rig, SHARED_NUMBER};

fn ids(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["id"].as_str().unwrap()).collect()
}

async fn list(account: &Account, query: &str) -> Vec<Value> {
    let page = account.live.get(&format!("/messages?limit=100&{query}")).await.ok();
    page.as_array().unwrap().clone()
}

/// The ids of the messages that match a filter.
async fn found(account: &Account, query: &str) -> Vec<String> {
    list(account, query).await.iter().map(|text| text["id"].as_str().unwrap().to_owned()).collect()
}

fn first_id(batch: &Value) -> String {
    batch["messages"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_message_is_read_with_its_history() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let id = first_id(&account.send("07700 900123", "Hello").await);
    rig.pass(3).await;
    let text = account.live.get(&format!("/messages/{id}")).await.ok();
    let mut fields = MESSAGE_FIELDS.to_vec();
    fields.push("events");
    assert_eq!(keys(&text), fields);
    let events = json!([
        { "status": "queued", "detail": null, "at": "2026-11-21T07:07:10.123Z" },
        { "status": "sending", "detail": null, "at": "2026-11-21T07:07:11.123Z" },
        { "status": "sent", "detail": null, "at": "2026-11-21T07:07:11.123Z" },
        { "status": "delivered", "detail": null, "at": "2026-11-21T07:07:13.123Z" },
    ]);
    assert_eq!(text["events"], events);
    assert_eq!(text["status"], "delivered");
    assert_eq!(text["sent_at"], "2026-11-21T07:07:11.123Z");
    assert_eq!(text["delivered_at"], "2026-11-21T07:07:13.123Z");
    let listed = list(&account, "").await;
    assert_eq!(keys(&listed[0]), MESSAGE_FIELDS);
}

#[tokio::test]
async fn what_does_not_exist_is_404() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let id = first_id(&account.send("07700 900123", "Hello").await);
    let unknown = format!("msg_{}", "0".repeat(26));
    let upper = id.to_uppercase();
    let batch = id.replace("msg_", "bat_");
    for other in [&unknown, &upper, &batch, "x", "%00", "%ff", "..", "msg_", "%2e%2e"] {
        for path in [format!("/messages/{other}"), format!("/messages/{other}/cancel")] {
            let method = if path.ends_with("cancel") { "POST" } else { "GET" };
            let ask = account.live.ask(method.parse().unwrap(), &path);
            assert_eq!(ask.send().await.refused(404, "not_found"), Value::Null, "{path}");
        }
    }
}

#[tokio::test]
async fn lists_are_newest_first_and_whole_at_every_page_size() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    assert_eq!(
        account.live.get("/messages").await.assert(200).json["meta"],
        json!({ "next_cursor": null })
    );
    account.send(json!(numbers(60)), "x").await;
    rig.pass(1).await;
    account.send(json!(numbers(45)), "y").await;
    let all = account.live.pages("/messages", 100).await;
    assert_eq!(all.len(), 105);
    assert!(ids(&all).is_sorted_by(|newer, older| newer > older), "ids fall");
    for limit in [1, 7, 35, 99] {
        assert_eq!(account.live.pages("/messages", limit).await, all, "pages of {limit}");
    }
    let standard = account.live.get("/messages").await.ok();
    assert_eq!(standard.as_array().unwrap()[..], all[..25]);
    let last = account.live.get("/messages?limit=5&q=none-of-them").await.assert(200);
    assert_eq!(last.json, json!({ "data": [], "meta": { "next_cursor": null } }));
}

#[tokio::test]
async fn a_full_last_page_says_that_it_is_the_last() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    account.send(json!(numbers(10)), "x").await;
    let exact = account.live.get("/messages?limit=10").await.assert(200);
    assert_eq!(exact.json["meta"]["next_cursor"], Value::Null);
    let short = account.live.get("/messages?limit=9").await.assert(200);
    assert_eq!(short.json["meta"]["next_cursor"].as_str().unwrap().len(), 26);
}

#[tokio::test]
async fn a_reader_of_pages_misses_nothing_and_sees_nothing_twice_while_messages_are_added() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    account.send(json!(numbers(30)), "old").await;
    let before = account.live.pages("/messages", 100).await;
    let (mut seen, mut next) = (Vec::new(), "/messages?limit=4".to_owned());
    loop {
        let page = account.live.get(&next).await.assert(200);
        seen.extend(page.json["data"].as_array().unwrap().iter().cloned());
        account.send("07700 900999", "new").await;
        rig.clock.advance(std::time::Duration::from_millis(1));
        let Some(cursor) = page.json["meta"]["next_cursor"].as_str() else { break };
        next = format!("/messages?limit=4&cursor={cursor}");
    }
    assert_eq!(ids(&seen), ids(&before));
}

#[tokio::test]
async fn a_page_has_1_to_100_messages() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    account.send(json!(numbers(101)), "x").await;
    for (limit, count) in [(1, 1), (100, 100)] {
        let page = account.live.get(&format!("/messages?limit={limit}")).await.ok();
        assert_eq!(page.as_array().unwrap().len(), count);
    }
    for (limit, code) in [
        ("0", "out_of_range"),
        ("101", "out_of_range"),
        ("-1", "out_of_range"),
        ("9223372036854775808", "out_of_range"),
        ("ten", "wrong_type"),
        ("1.5", "wrong_type"),
        ("1e2", "wrong_type"),
        ("", "empty"),
        ("5&limit=5", "duplicate_key"),
    ] {
        let reply = account.live.get(&format!("/messages?limit={limit}")).await;
        reply.mistake("limit", code);
    }
    let cursor = "0".repeat(27);
    for cursor in ["x", "1", &cursor, "msg_00000000000000000000000000", "%00"] {
        let reply = account.live.get(&format!("/messages?cursor={cursor}")).await;
        assert_eq!(reply.mistakes()[0].0, "cursor");
    }
}

#[tokio::test]
async fn bad_parameters_are_named_together() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let query = "limit=0&cursor=x&direction=up&status=lost&q=&since=now&until=2026-13-01T00:00:00Z";
    let reply = account.live.get(&format!("/messages?{query}")).await;
    let named = reply.mistakes();
    let fields: Vec<&str> = named.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["limit", "cursor", "direction", "status", "q", "since", "until"]);
    for path in ["/messages", "/messages/export"] {
        let blank = account.live.get(&format!("{path}?q=%20")).await;
        assert_eq!(blank.status, 200, "blanks ask for nothing");
    }
}

#[tokio::test]
async fn filters_narrow_the_list_together() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let own = format!("/accounts/{}/keys", account.id);
    rig.operator().get(&own).await.assert(200);
    let request =
        json!({ "to": "07700 900123", "body": "Your TABLE is ready", "client_ref": "r1" });
    let first = account.live.post("/messages", request).await.created();
    rig.pass(5).await;
    let later = json!({
        "to": "07700 900124", "body": "100% _off_", "client_ref": "r2",
        "schedule_at": "2026-11-22T00:00:00Z",
    });
    let second = account.live.post("/messages", later).await.created();
    let shared = parse_any(SHARED_NUMBER).unwrap();
    let person = parse_any("07700 900123").unwrap();
    let inbound = rig.sms.operator().inbound(person, shared, "Thanks for the table").await.unwrap();
    let third = inbound.expect("it belongs to the account").id.to_string();
    let (first, second, batch) =
        (first_id(&first), first_id(&second), first["batch_id"].as_str().unwrap().to_owned());
    let one = |id: &String| vec![id.clone()];
    for (query, expected) in [
        (String::new(), vec![third.clone(), second.clone(), first.clone()]),
        ("direction=outbound".to_owned(), vec![second.clone(), first.clone()]),
        ("direction=inbound".to_owned(), one(&third)),
        ("status=delivered".to_owned(), one(&first)),
        ("status=scheduled".to_owned(), one(&second)),
        ("status=received".to_owned(), one(&third)),
        ("status=failed".to_owned(), vec![]),
        ("q=07700900123".to_owned(), vec![third.clone(), first.clone()]),
        ("q=%2B44%207700%20900123".to_owned(), vec![third.clone(), first.clone()]),
        ("q=table".to_owned(), vec![third.clone(), first.clone()]),
        ("q=tAbLe%20is".to_owned(), one(&first)),
        ("q=%25".to_owned(), one(&second)),
        ("q=_".to_owned(), one(&second)),
        (format!("batch_id={batch}"), one(&first)),
        ("client_ref=r2".to_owned(), one(&second)),
        ("client_ref=R2".to_owned(), vec![]),
        ("since=2026-11-21T07:07:15.123Z".to_owned(), vec![third.clone(), second.clone()]),
        ("until=2026-11-21T07:07:15.123Z".to_owned(), one(&first)),
        (
            "since=2026-11-21T08:07:10.123%2B01:00&until=2026-11-21T07:07:10.124Z".to_owned(),
            one(&first),
        ),
        ("since=2026-11-21T08:07:15.124+01:00".to_owned(), vec![]),
        ("q=table&direction=inbound".to_owned(), one(&third)),
        ("q=table&status=scheduled".to_owned(), vec![]),
        (format!("batch_id=bat_{}", "0".repeat(26)), vec![]),
        ("batch_id=nonsense".to_owned(), vec![]),
        (format!("campaign_id=cmp_{}", "0".repeat(26)), vec![]),
        (format!("campaign_id={batch}"), vec![]),
    ] {
        assert_eq!(found(&account, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn filtered_pages_are_whole() {
    let rig = Rig::new().await;
    let account = rig.account(1_000).await;
    for round in 0..5 {
        account.send(json!(numbers(9)), if round % 2 == 0 { "even" } else { "odd" }).await;
        rig.clock.advance(std::time::Duration::from_millis(5));
    }
    for limit in [1, 2, 8, 9, 10, 100] {
        assert_eq!(account.live.pages("/messages?q=even", limit).await.len(), 27);
        assert_eq!(account.live.pages("/messages?q=07700900003", limit).await.len(), 5);
    }
}

#[tokio::test]
async fn a_message_that_is_not_yet_on_its_way_is_cancelled_and_refunded() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let queued = first_id(&account.send("07700 900123", &"a".repeat(161)).await);
    let later = json!({ "to": "07700 900124", "body": "x", "schedule_at": "2026-11-22T00:00:00Z" });
    let scheduled = first_id(&account.live.post("/messages", later).await.created());
    assert_eq!(account.balance().await, 7);
    for (id, balance) in [(queued, 9), (scheduled, 10)] {
        let path = format!("/messages/{id}/cancel");
        let reply = account.live.call(&path).await.assert(200);
        let text = &reply.json["data"];
        assert_eq!(reply.json["meta"], Value::Null);
        assert_eq!(keys(text), MESSAGE_FIELDS);
        assert_eq!(text["status"], "cancelled");
        assert_eq!(text["cancelled_at"], "2026-11-21T07:07:10.123Z");
        assert_eq!(account.balance().await, balance);
        let details = account.live.call(&path).await.refused(409, "message_not_cancellable");
        assert_eq!(details, json!({ "status": "cancelled" }));
        assert_eq!(account.balance().await, balance, "refunded once");
    }
    rig.pass(3).await;
    assert_eq!(found(&account, "status=cancelled").await.len(), 2);
}

#[tokio::test]
async fn a_message_on_its_way_cannot_be_cancelled() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let sent = first_id(&account.send("07700 900904", "x").await);
    let delivered = first_id(&account.send("07700 900123", "x").await);
    let failed = first_id(&account.send("07700 900901", "x").await);
    rig.pass(4).await;
    for (id, status) in [(sent, "sent"), (delivered, "delivered"), (failed, "failed")] {
        let before = account.live.get(&format!("/messages/{id}")).await.ok();
        let reply = account.live.call(&format!("/messages/{id}/cancel")).await;
        let details = reply.refused(409, "message_not_cancellable");
        assert_eq!(details, json!({ "status": status }));
        assert_eq!(account.live.get(&format!("/messages/{id}")).await.ok(), before);
    }
    assert_eq!(account.balance().await, 8, "the failed one was refunded");
}

#[tokio::test]
async fn both_kinds_of_key_see_the_same_messages() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900123", "live").await;
    let request = json!({ "to": "07700 900124", "body": "test" });
    let test = account.test.post("/messages", request).await.created();
    let (by_live, by_test) =
        (account.live.get("/messages").await.ok(), account.test.get("/messages").await.ok());
    assert_eq!(by_live, by_test);
    assert_eq!((&by_live[0]["test"], &by_live[1]["test"]), (&json!(true), &json!(false)));
    let id = first_id(&test);
    account.live.call(&format!("/messages/{id}/cancel")).await.assert(200);
    assert_eq!(account.balance().await, 9);
}

#[tokio::test]
async fn paths_and_methods_are_exact() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    account.send("07700 900123", "x").await;
    for path in ["/messages/", "/messages//", "/Messages", "/messages/quote/", "/nothing", "", "/"]
    {
        account.live.get(path).await.refused(404, "not_found");
    }
    for (method, path, allow) in [
        ("PUT", "/messages", "GET, HEAD, POST"),
        ("DELETE", "/messages", "GET, HEAD, POST"),
        ("GET", "/messages/quote", "POST"),
        ("HEAD", "/messages/quote", "POST"),
        ("POST", "/messages/export", "GET, HEAD"),
        ("PATCH", "/messages/x", "GET, HEAD"),
        ("GET", "/messages/x/cancel", "POST"),
        ("OPTIONS", "/balance", "GET, HEAD"),
        ("TRACE", "/webhooks", "GET, HEAD, POST"),
    ] {
        let reply = account.live.ask(method.parse().unwrap(), path).send().await;
        assert_eq!((reply.status, reply.header("allow")), (405, allow), "{method} {path}");
    }
    for path in ["/messages", "/messages/export", "/balance", "/webhooks", "/openapi.json"] {
        let head = account.live.ask("HEAD".parse().unwrap(), path).send().await.assert(200);
        let get = account.live.get(path).await;
        assert_eq!(head.header("content-type"), get.header("content-type"));
        assert!(head.bytes.is_empty());
    }
}
