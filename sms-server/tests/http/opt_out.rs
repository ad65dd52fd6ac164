//! `/opt-outs`: numbers that must not be texted.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig};
use crate::webhook::endpoint;

async fn opt_out(account: &Account, phone: &str, note: Option<&str>) -> Value {
    account.live.post("/opt-outs", json!({ "phone": phone, "note": note })).await.created()
}

async fn listed(account: &Account, query: &str) -> Value {
    account.live.get(&format!("/opt-outs{query}")).await.assert(200).json
}

#[tokio::test]
async fn an_opt_out_is_made_once() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let input =
        json!({ "phone": "07700 900123", "note": "Asked on the phone 🐦", "source": "sms" });
    let reply = account.live.post("/opt-outs", input).await.assert(201);
    let expected = json!({
        "phone": "+447700900123",
        "source": "api",
        "note": "Asked on the phone 🐦",
        "created_at": "2026-11-21T07:07:10.123Z",
    });
    assert_eq!(reply.json, json!({ "data": expected, "meta": null }));
    assert_eq!(keys(&reply.json["data"]), keys(&expected));
    rig.clock.advance(Duration::from_secs(1));
    for phone in ["+447700900123", "(07700) 900-123", "447700900123"] {
        let again = json!({ "phone": phone, "note": "again" });
        let reply = account.test.post("/opt-outs", again).await.assert(200);
        assert_eq!(reply.json, json!({ "data": expected, "meta": null }), "it stays as it is");
    }
    let all = listed(&account, "").await;
    assert_eq!(all, json!({ "data": [expected], "meta": { "total": 1 } }));
    assert_eq!(opt_out(&account, "07700 900124", None).await["note"], Value::Null);
}

#[tokio::test]
async fn only_a_uk_mobile_number_can_be_opted_out() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let post = async |body: Value| account.live.post("/opt-outs", body).await;
    for phone in ["nonsense", "020 7946 0000", "+1 202 555 0123", "07700 900123...", "07700 90012"]
    {
        post(json!({ "phone": phone })).await.mistake("phone", "invalid_format");
    }
    for (phone, code) in [
        (json!(""), "too_short"),
        (json!("7".repeat(41)), "too_long"),
        (json!("07700\u{0}900123"), "invalid_character"),
        (json!(447_700_900_123_i64), "wrong_type"),
        (Value::Null, "required"),
    ] {
        post(json!({ "phone": phone })).await.mistake("phone", code);
    }
    let longest = json!({ "phone": "07624 900123", "note": "é".repeat(500) });
    post(longest).await.assert(201);
    let both = post(json!({ "phone": "x", "note": "é".repeat(501) })).await.mistakes();
    let named = [("phone", "invalid_format"), ("note", "too_long")];
    let mut named = named.map(|(field, code)| (field.to_owned(), code.to_owned())).to_vec();
    let mut both = both;
    named.sort();
    both.sort();
    assert_eq!(both, named);
    assert_eq!(listed(&account, "").await["meta"]["total"], 1);
}

#[tokio::test]
async fn who_is_opted_out_is_texted_no_more() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    let waiting = account.send("07700 900123", "accepted before").await;
    opt_out(&account, "07700 900123", None).await;
    let sent = account.send("07700 900123, 07700 900124", "x").await;
    let rejected = json!([{ "to": "+447700900123", "reason": "opted_out" }]);
    assert_eq!((&sent["rejected"], sent["messages"].as_array().unwrap().len()), (&rejected, 1));
    assert_eq!(other.send("07700 900123", "x").await["rejected"], json!([]));
    rig.pass(5).await;
    let path = format!("/messages/{}", waiting["messages"][0]["id"].as_str().unwrap());
    let after = account.live.get(&path).await.ok();
    assert_eq!((&after["status"], &after["error_code"]), (&json!("failed"), &json!("opted_out")));
    assert_eq!(account.balance().await, 9, "it was refunded");
}

#[tokio::test]
async fn an_opt_out_is_removed_by_its_number_in_any_format() {
    let rig = Rig::new().await;
    let (account, other) = (rig.account(10).await, rig.account(10).await);
    for path in
        ["%2B447700900123", "+447700900123", "447700900123", "07700900123", "07700%20900123"]
    {
        let path = format!("/opt-outs/{path}");
        opt_out(&account, "07700 900123", None).await;
        other.live.delete(&path).await.refused(404, "not_found");
        account.live.delete(&path).await.assert(204);
        account.live.delete(&path).await.refused(404, "not_found");
        assert_eq!(listed(&account, "").await["meta"]["total"], 0);
    }
    for path in ["nonsense", "%2B", "%00", "%2B12025550123", "%2B442079460000", "%ff"] {
        account.live.delete(&format!("/opt-outs/{path}")).await.refused(404, "not_found");
    }
    assert_eq!(account.send("07700 900123", "x").await["rejected"], json!([]));
}

#[tokio::test]
async fn opt_outs_are_listed_newest_first_by_limit_and_offset() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let mut made = Vec::new();
    for n in 0..30 {
        made.insert(0, opt_out(&account, &format!("07700 9001{n:02}"), None).await);
        rig.clock.advance(Duration::from_millis(1));
    }
    let meta = json!({ "total": 30 });
    for (query, from, to) in [
        ("", 0, 25),
        ("?limit=1", 0, 1),
        ("?limit=100", 0, 30),
        ("?offset=0", 0, 25),
        ("?offset=5", 5, 30),
        ("?limit=3&offset=28", 28, 30),
        ("?offset=30", 30, 30),
        ("?offset=9007199254740991", 30, 30),
    ] {
        let expected = json!({ "data": made[from..to], "meta": meta });
        assert_eq!(listed(&account, query).await, expected, "{query}");
    }
    for (query, field, code) in [
        ("limit=0", "limit", "out_of_range"),
        ("limit=101", "limit", "out_of_range"),
        ("limit=x", "limit", "wrong_type"),
        ("offset=-1", "offset", "out_of_range"),
        ("offset=9007199254740992", "offset", "out_of_range"),
        ("offset=1.5", "offset", "wrong_type"),
        ("offset=", "offset", "empty"),
        ("q=", "q", "empty"),
    ] {
        account.live.get(&format!("/opt-outs?{query}")).await.mistake(field, code);
    }
    account.live.get(&format!("/opt-outs?q={}", "x".repeat(200))).await.assert(200);
    account.live.get(&format!("/opt-outs?q={}", "x".repeat(201))).await.mistake("q", "too_long");
}

#[tokio::test]
async fn reading_on_while_others_are_added_misses_none_that_was_there() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    for n in 0..6 {
        opt_out(&account, &format!("07700 90010{n}"), None).await;
        rig.clock.advance(Duration::from_millis(1));
    }
    let there = listed(&account, "").await["data"].as_array().unwrap().clone();
    let mut seen = Vec::new();
    for step in 0..6 {
        let page = listed(&account, &format!("?limit=2&offset={}", step * 2)).await;
        assert_eq!(page["meta"]["total"], 6 + step);
        seen.extend(page["data"].as_array().unwrap().clone());
        opt_out(&account, &format!("07700 90020{step}"), None).await;
        rig.clock.advance(Duration::from_millis(1));
    }
    assert!(there.iter().all(|opt_out| seen.contains(opt_out)));
}

#[tokio::test]
async fn q_finds_a_number_in_any_format_and_words_of_a_note() {
    let rig = Rig::new().await;
    let account = rig.account(0).await;
    let first = opt_out(&account, "07700 900123", Some("Asked on the PHONE")).await;
    rig.clock.advance(Duration::from_millis(1));
    let second = opt_out(&account, "07700 900124", Some("100% sure, by phone")).await;
    for (q, found) in [
        ("07700+900123", vec![&first]),
        ("%2B447700900124", vec![&second]),
        ("07700900125", vec![]),
        ("Phone", vec![&second, &first]),
        ("%25", vec![&second]),
        ("nothing", vec![]),
    ] {
        let expected = json!({ "data": found, "meta": { "total": found.len() } });
        assert_eq!(listed(&account, &format!("?q={q}")).await, expected, "{q}");
    }
    let part = listed(&account, "?q=phone&limit=1&offset=1").await;
    assert_eq!(part, json!({ "data": [first], "meta": { "total": 2 } }));
}

#[tokio::test]
async fn a_stop_and_a_start_are_seen_in_the_list_and_by_hand_is_no_event() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["opt_out.created"]).await;
    opt_out(&account, "07700 900123", Some("by hand")).await;
    rig.work().await;
    assert!(rig.hooks.take().is_empty());
    let inbound = async |from: &str, body: &str| {
        let number =
            json!({ "phone_number": "07700 900003", "account_id": account.id.to_string() });
        let numbers = rig.operator().get("/numbers").await.ok();
        if numbers.as_array().unwrap().len() == 1 {
            rig.operator().post("/numbers", number).await.assert(201);
        }
        let text = json!({ "from": from, "to": "07700 900003", "body": body });
        rig.operator().post("/inbound", text).await.assert(201);
        rig.work().await;
    };
    inbound("07700 900123", "STOP").await;
    assert!(rig.hooks.take().is_empty(), "it had opted out before");
    rig.clock.advance(Duration::from_secs(1));
    inbound("07700 900124", "STOP").await;
    assert_eq!(rig.hooks.take().len(), 1);
    let all = listed(&account, "").await;
    let by_text = json!({
        "phone": "+447700900124",
        "source": "sms",
        "note": null,
        "created_at": "2026-11-21T07:07:11.123Z",
    });
    assert_eq!((&all["data"][0], &all["data"][1]["source"]), (&by_text, &json!("api")));
    let again = json!({ "phone": "07700 900124", "note": "by hand" });
    assert_eq!(account.live.post("/opt-outs", again).await.ok(), by_text);
    inbound("07700 900124", "START").await;
    inbound("07700 900123", "START").await;
    assert_eq!(listed(&account, "").await, json!({ "data": [], "meta": { "total": 0 } }));
}

#[tokio::test]
async fn opt_outs_are_imported_row_by_row_and_again_without_a_change() {
    let rig = Rig::new().await;
    let account = rig.account(5).await;
    account.live.post("/opt-outs", json!({ "phone": "07700900121" })).await.assert(201);
    let rows = json!({ "rows": [
        { "phone": "07700 900121", "note": "again" },
        { "phone": "07700 900122", "note": "Brought along" },
        { "phone": "+447700900122" },
        { "phone": "nonsense" },
        { "phone": "07700900123", "note": "x".repeat(501) },
    ] });
    let imported = account.live.post("/opt-outs/import", rows.clone()).await.assert(200).json;
    let data = &imported["data"];
    assert_eq!(
        (&data["created"], &data["existing"], &data["invalid"]),
        (&2.into(), &2.into(), &1.into())
    );
    let outcomes: Vec<_> =
        data["rows"].as_array().unwrap().iter().map(|row| row["outcome"].clone()).collect();
    assert_eq!(outcomes, ["existing", "created", "existing", "invalid", "created"]);
    assert_eq!(data["rows"][3]["error"], "phone: not a valid phone number");
    assert!(data["rows"][4]["error"].as_str().unwrap().starts_with("note: "), "{data}");
    let again = account.live.post("/opt-outs/import", rows).await.assert(200).json;
    assert_eq!((&again["data"]["created"], &again["data"]["existing"]), (&0.into(), &4.into()));
    let sent = account.send(json!(["07700900122", "07700900124"]), "x").await;
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1);
    let many: Vec<_> = (0..20_001).map(|_| json!({ "phone": "1" })).collect();
    let wrong = account.live.post("/opt-outs/import", json!({ "rows": many })).await.mistakes();
    assert_eq!(wrong.len(), 1);
}
