//! What a tester lives through in a sandbox besides messages: months of rent, and campaigns in the
//! nights in which the clocks of London change.

use serde_json::{Value, json};
use sms_core::time::Timestamp;

use crate::rig::{Account, Rig, START_MILLIS};

const DAY: u64 = 24 * 60 * 60;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Moves the rig's clock on to a moment.
async fn advance_to(rig: &Rig, moment: &str) {
    let now = rig.operator().get("/clock").await.ok();
    let left = at(moment).since(at(now["now"].as_str().unwrap()));
    // To the next whole second.
    let seconds = left.as_millis().div_ceil(1_000);
    let body = json!({ "advance_seconds": u64::try_from(seconds).unwrap() });
    rig.operator().post("/clock", body).await.assert(200);
}

#[tokio::test]
async fn a_quarter_of_rent_is_taken_in_moments_each_period_at_its_time() {
    let rig = Rig::new().await;
    let account = rig.account(25).await;
    let number = json!({
        "phone_number": "07700 900800", "account_id": account.id.to_string(),
        "rental_credits": 10, "monthly_credits": 10,
    });
    rig.operator().post("/numbers", number).await.assert(201);
    let shown = async |account: &Account| account.live.get("/numbers").await.ok()[0].clone();
    let day = |days: u64| {
        let millis = START_MILLIS + i64::try_from(days * DAY * 1_000).unwrap();
        Timestamp::from_millis(millis).to_string()
    };
    assert_eq!(shown(&account).await["rental_charged_at"], day(0));
    let month = json!({ "advance_seconds": 30 * DAY });
    rig.operator().post("/clock", month.clone()).await.assert(200);
    assert_eq!(shown(&account).await["rental_charged_at"], day(30));
    assert_eq!(account.balance().await, 5);
    // Too little for the third: it waits for credits, and then counts from when it was due.
    rig.operator().post("/clock", month).await.assert(200);
    assert_eq!(shown(&account).await["rental_charged_at"], day(30));
    assert_eq!(account.balance().await, 5);
    let credits = format!("/accounts/{}/credits", account.id);
    rig.operator().post(&credits, json!({ "amount": 100, "note": "x" })).await.assert(200);
    rig.operator().post("/clock", json!({ "advance_seconds": 3_600 })).await.assert(200);
    assert_eq!(shown(&account).await["rental_charged_at"], day(60));
    let ledger = rig.operator().get(&format!("/accounts/{}/ledger", account.id)).await.ok();
    let rents = ledger.as_array().unwrap().iter().filter(|entry| entry["kind"] == "rent");
    assert_eq!(rents.count(), 3);
    assert_eq!(account.balance().await, 95);
}

/// Launches a campaign to one contact; the answer.
async fn launched(account: &Account, list: &Value) -> Value {
    let draft = json!({ "name": "Night", "body": "x", "list_id": list["id"] });
    let draft = account.live.post("/campaigns", draft).await.created();
    let path = format!("/campaigns/{}/send", draft["id"].as_str().unwrap());
    account.live.post(&path, json!({})).await.assert(200).json
}

#[tokio::test]
async fn campaigns_wait_for_the_morning_of_london_in_both_nights_in_which_its_clocks_change() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let list = account.live.post("/lists", json!({ "name": "Regulars" })).await.created();
    let members = format!("/lists/{}/contacts", list["id"].as_str().unwrap());
    account.live.post(&members, json!({ "phones": ["07700 900123"] })).await.assert(200);
    for (night, morning) in [
        // Summer time begins on 28 March 2027: nine o'clock is an hour earlier.
        ("2027-03-27T22:00:00Z", "2027-03-28T08:00:00.000Z"),
        // It ends on 31 October.
        ("2027-10-30T21:30:00Z", "2027-10-31T09:00:00.000Z"),
    ] {
        advance_to(&rig, night).await;
        let answer = launched(&account, &list).await;
        assert_eq!(answer["meta"]["quiet_hours_applied"], true);
        assert_eq!(answer["data"]["scheduled_at"], morning);
        assert_eq!(answer["data"]["status"], "scheduled");
        rig.operator().post("/clock", json!({ "advance_seconds": DAY })).await.assert(200);
        let path = format!("/campaigns/{}", answer["data"]["id"].as_str().unwrap());
        let after = account.live.get(&path).await.ok();
        assert_eq!((&after["status"], &after["counts"]["delivered"]), (&json!("sent"), &json!(1)));
        let messages = account.live.get("/messages?limit=1").await.ok();
        assert_eq!(messages[0]["sent_at"], morning);
    }
}
