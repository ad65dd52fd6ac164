//! `GET /stats/summary` and `GET /stats/timeseries`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::message_send::keys;
use crate::rig::{Account, Rig};

const DAY: Duration = Duration::from_hours(24);
const FIVE: [&str; 5] = ["sent", "delivered", "failed", "received", "credits"];

/// Sent, delivered, failed, received and credits.
fn five(value: &Value) -> [i64; 5] {
    FIVE.map(|name| value[name].as_i64().unwrap())
}

async fn summary(account: &Account, query: &str) -> Value {
    account.live.get(&format!("/stats/summary{query}")).await.ok()
}

async fn days(account: &Account, query: &str) -> Vec<Value> {
    account.live.get(&format!("/stats/timeseries{query}")).await.ok().as_array().unwrap().clone()
}

#[tokio::test]
async fn a_summary_has_the_totals_of_its_period_and_the_change_on_the_one_before() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    account.send(json!(["07700 900123", "07700 900124"]), "yesterday").await;
    rig.pass(5).await;
    rig.clock.advance(DAY);
    account.send(json!(["07700 900123", "07700 900901", "07700 900902"]), &"a".repeat(161)).await;
    rig.pass(5).await;
    let body = json!({ "from": "07700 900123", "to": "07700 900000", "body": "Thank you" });
    rig.operator().post("/inbound", body).await.assert(201);
    let answer = account.live.get("/stats/summary?days=1").await.assert(200);
    let expected = json!({
        "from": "2026-11-22T00:00:00.000Z",
        "to": "2026-11-23T00:00:00.000Z",
        "sent": 2, "delivered": 1, "failed": 2, "received": 1, "credits": 4,
        "previous": { "sent": 2, "delivered": 2, "failed": 0, "received": 0, "credits": 2 },
        "change": {
            "sent": 0.0, "delivered": -50.0, "failed": null, "received": null, "credits": 100.0,
        },
    });
    assert_eq!((&answer.json["data"], &answer.json["meta"]), (&expected, &Value::Null));
    assert_eq!(keys(&answer.json["data"]), keys(&expected));
    assert_eq!(account.test.get("/stats/summary?days=1").await.ok(), expected);
    assert_eq!(five(&summary(&account, "").await), [4, 3, 2, 1, 6]);
    let other = rig.account(100).await;
    assert_eq!(five(&summary(&other, "").await), [0; 5]);
}

#[tokio::test]
async fn a_summary_between_moments_is_exact_and_wins_over_days() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let text = account.send("07700 900123", "x").await;
    rig.pass(5).await;
    let id = text["messages"][0]["id"].as_str().unwrap();
    let text = account.live.get(&format!("/messages/{id}")).await.ok();
    let moment = |name: &str| text[name].as_str().unwrap().to_owned();
    let (sent, delivered) = (moment("sent_at"), moment("delivered_at"));
    let query = format!("?from={sent}&to={delivered}&days=9");
    let until = summary(&account, &query).await;
    assert_eq!((&until["from"], &until["to"]), (&json!(sent), &json!(delivered)));
    assert_eq!((five(&until)[0], five(&until)[1]), (1, 0));
    let later = delivered.replace('Z', "1Z").parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let later = (later + Duration::from_millis(1)).to_rfc3339().replace("+00:00", "Z");
    let query = format!("?from={delivered}&to={later}");
    let after = summary(&account, &query).await;
    assert_eq!((five(&after)[0], five(&after)[1]), (0, 1));
    let same = format!("?from={sent}&to={sent}");
    assert_eq!(five(&summary(&account, &same).await), [0; 5]);
    // Any offset means the same moment.
    let offset = "?from=2026-11-21T08:07:10.123%2B01:00&to=2026-11-22T00:00:00Z";
    assert_eq!(five(&summary(&account, offset).await), [1, 1, 0, 0, 1]);
    assert_eq!(summary(&account, offset).await["from"], "2026-11-21T07:07:10.123Z");
    let from = summary(&account, "?from=2026-11-21T07:07:10.124Z").await;
    assert_eq!((&from["to"], five(&from)), (&json!("2026-11-22T00:00:00.000Z"), [1, 1, 0, 0, 0]));
}

#[tokio::test]
async fn a_timeseries_has_every_day_oldest_first() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    account.send("07700 900123", "x").await;
    rig.pass(5).await;
    rig.clock.advance(DAY * 3);
    account.send("07700 900901", "x").await;
    account.test.post("/messages", json!({ "to": "07700 900123", "body": "x" })).await.created();
    rig.pass(5).await;
    let line = |date: &str, [sent, delivered, failed, received, credits]: [i64; 5]| {
        json!({
            "date": date, "sent": sent, "delivered": delivered, "failed": failed,
            "received": received, "credits": credits,
        })
    };
    let expected = [
        line("2026-11-20", [0; 5]),
        line("2026-11-21", [1, 1, 0, 0, 1]),
        line("2026-11-22", [0; 5]),
        line("2026-11-23", [0; 5]),
        line("2026-11-24", [0, 0, 1, 0, 0]),
    ];
    assert_eq!(days(&account, "?days=5").await, expected);
    let answer = account.live.get("/stats/timeseries?days=5").await.assert(200);
    assert_eq!(keys(&answer.json["data"][0]), keys(&expected[0]));
    assert_eq!(answer.json["meta"], Value::Null);
    assert_eq!(days(&account, "").await.len(), 30);
    assert_eq!(days(&account, "?days=366").await.len(), 366);
    assert_eq!(days(&account, "?days=1").await, &expected[4..]);
}

#[tokio::test]
async fn a_day_is_one_of_london_in_summer_too() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    // 2027-06-10T23:30Z is half past midnight in London.
    let wanted: chrono::DateTime<chrono::Utc> = "2027-06-10T22:59:59.500Z".parse().unwrap();
    rig.clock.advance_to(wanted.into());
    account.send("07700 900901", "x").await;
    rig.work().await;
    rig.clock.advance(Duration::from_mins(30));
    account.send("07700 900901", "x").await;
    rig.work().await;
    let both = days(&account, "?days=2").await;
    assert_eq!((&both[0]["date"], &both[1]["date"]), (&json!("2027-06-10"), &json!("2027-06-11")));
    assert_eq!((five(&both[0])[2], five(&both[1])[2]), (1, 1));
    let today = summary(&account, "?days=1").await;
    assert_eq!(today["from"], "2027-06-10T23:00:00.000Z");
    assert_eq!((five(&today)[2], five(&today["previous"])[2]), (1, 1));
}

#[tokio::test]
async fn a_message_delivered_after_all_has_not_failed() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let sent = account.send("07700 900902", "x").await;
    rig.pass(5).await;
    assert_eq!(five(&summary(&account, "?days=1").await), [1, 0, 1, 0, 1]);
    rig.clock.advance(DAY * 2);
    let receipt = json!({ "message_id": sent["messages"][0]["id"], "status": "delivered" });
    rig.operator().post("/receipts", receipt).await.assert(200);
    let lines = days(&account, "?days=3").await;
    assert_eq!((five(&lines[0]), five(&lines[2])), ([1, 0, 0, 0, 1], [0, 1, 0, 0, 0]));
}

#[tokio::test]
async fn one_to_366_days_and_moments_in_order_are_accepted() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    for path in ["/stats/summary", "/stats/timeseries"] {
        for days in ["1", "366"] {
            account.live.get(&format!("{path}?days={days}")).await.assert(200);
        }
        for (days, code) in [
            ("0", "out_of_range"),
            ("367", "out_of_range"),
            ("-1", "out_of_range"),
            ("1.5", "wrong_type"),
            ("x", "wrong_type"),
            ("", "empty"),
        ] {
            account.live.get(&format!("{path}?days={days}")).await.mistake("days", code);
        }
    }
    let backwards = "/stats/summary?from=2026-11-21T07:00:00.001Z&to=2026-11-21T07:00:00Z";
    account.live.get(backwards).await.mistake("from", "out_of_range");
    account.live.get("/stats/summary?from=2026-11-21").await.mistake("from", "invalid_format");
    let all = account.live.get(&format!("{backwards}&days=0")).await.mistakes();
    assert_eq!(all.len(), 2);
    let both = "/stats/summary?from=2027-01-01T00:00:00Z&to=tomorrow&days=367";
    let fields: Vec<String> =
        account.live.get(both).await.mistakes().into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["days", "to"]);
}

#[tokio::test]
async fn what_is_far_from_any_message_is_empty() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    account.send("07700 900901", "x").await;
    rig.work().await;
    let all = "?from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999Z";
    assert_eq!(five(&summary(&account, all).await), [0, 0, 1, 0, 0]);
    let ago = "?from=0001-01-01T00:00:00Z&to=1999-12-31T23:59:59.999Z";
    assert_eq!(five(&summary(&account, ago).await), [0; 5]);
}
