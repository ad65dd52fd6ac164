//! `/campaigns/{id}/send` and `/cancel`, and the results of the messages.

use std::time::Duration;

use poem::http::Method;
use serde_json::{Value, json};

use crate::campaign::{draft, list_of, path};
use crate::message_send::numbers;
use crate::rig::{Account, Client, Reply, Rig};
use crate::sender_name::{ask, decide};

/// In seconds.
const YEAR: i64 = 365 * 24 * 60 * 60;

async fn launch(client: &Client, campaign: &Value, body: Value) -> Reply {
    client.post(&format!("{}/send", path(campaign)), body).await
}

async fn cancel(client: &Client, campaign: &Value) -> Reply {
    client.call(&format!("{}/cancel", path(campaign))).await
}

/// A draft to so many people that ignores quiet hours: the tests begin inside them.
async fn draft_to(account: &Account, count: usize) -> Value {
    let list = list_of(account, &numbers(count)).await;
    draft(&account.live, &list, json!({ "ignore_quiet_hours": true })).await
}

fn count(campaign: &Value, status: &str) -> u64 {
    campaign["counts"][status].as_u64().unwrap()
}

#[tokio::test]
async fn a_launch_messages_the_list_and_takes_its_credits() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 3).await;
    account.live.post("/opt-outs", json!({ "phone": numbers(3)[1] })).await.assert(201);
    rig.clock.advance(Duration::from_secs(5));
    let at = format!("{}/send", path(&made));
    let reply = account.live.call(&at).await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "quiet_hours_applied": false, "replayed": false }));
    let launched = &reply.json["data"];
    let mut expected = made.clone();
    for (field, value) in [
        ("status", json!("sending")),
        ("launched_at", json!("2026-11-21T07:07:15.123Z")),
        ("updated_at", json!("2026-11-21T07:07:15.123Z")),
        ("recipients", json!(2)),
        ("rejected", json!(1)),
        ("credits", json!(2)),
    ] {
        expected[field] = value;
    }
    expected["counts"]["queued"] = json!(2);
    assert_eq!(*launched, expected);
    assert_eq!(account.live.get(&path(&made)).await.ok(), expected);
    assert_eq!(account.live.get("/campaigns").await.ok(), json!([expected]));
    assert_eq!(account.balance().await, 8);
    let id = made["id"].as_str().unwrap();
    let messages = account.live.pages(&format!("/messages?campaign_id={id}"), 1).await;
    assert_eq!(messages.len(), 2);
    for text in &messages {
        assert_eq!(text["campaign_id"], made["id"]);
        assert_eq!(text["batch_id"], messages[0]["batch_id"]);
    }
    let ledger = format!("/accounts/{}/ledger", account.id);
    let entry = rig.operator().get(&ledger).await.ok()[0].clone();
    assert_eq!((&entry["kind"], &entry["amount"]), (&json!("send"), &json!(-2)));
    assert_eq!(
        (&entry["campaign_id"], &entry["batch_id"]),
        (&made["id"], &messages[0]["batch_id"])
    );
    rig.work().await;
    let sent = account.live.get(&path(&made)).await.ok();
    assert_eq!((&sent["status"], count(&sent, "sent")), (&json!("sent"), 2));
    assert_eq!(sent["completed_at"], "2026-11-21T07:07:15.123Z");
    rig.pass(5).await;
    let done = account.live.get(&path(&made)).await.ok();
    assert_eq!((count(&done, "delivered"), count(&done, "sent")), (2, 0));
    assert_eq!(done["completed_at"], sent["completed_at"]);
    launch(&account.live, &made, json!({})).await.refused(409, "campaign_already_launched");
    account.live.patch(&path(&made), json!({})).await.refused(409, "campaign_not_draft");
    account.live.delete(&path(&made)).await.refused(409, "campaign_not_draft");
}

#[tokio::test]
async fn a_launch_costs_what_a_quote_to_the_list_says() {
    let rig = Rig::new().await;
    let account = rig.account(100).await;
    let list = list_of(&account, &[]).await;
    for (number, first_name) in [("07700 900001", "Ann"), ("07700 900002", "Beatrice")] {
        let person = json!({ "phone": number, "first_name": first_name });
        let contact = account.live.post("/contacts", person).await.created();
        let members = format!("/lists/{}/contacts", list.as_str().unwrap());
        let joining = json!({ "contact_ids": [contact["id"]] });
        account.live.post(&members, joining).await.assert(200);
    }
    // 157 septets and the name: one segment for Ann, two for Beatrice.
    let body = format!("{}{{first_name}}", "x".repeat(157));
    let request = json!({ "body": body, "list_id": list });
    let quote = account.live.post("/messages/quote", request).await.ok();
    let extra = json!({ "body": body, "ignore_quiet_hours": true });
    let made = draft(&account.live, &list, extra).await;
    let launched = launch(&account.live, &made, json!({})).await.ok();
    assert_eq!((&launched["credits"], &quote["credits"]), (&json!(3), &json!(3)));
    assert_eq!(launched["recipients"], quote["recipients"]);
    assert_eq!(account.balance().await, 97);
}

#[tokio::test]
async fn quiet_hours_put_a_launch_off_to_their_end() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let list = list_of(&account, &numbers(2)).await;
    // 07:07 in London, within 21:00 to 09:00.
    let made = draft(&account.live, &list, json!({})).await;
    let reply = launch(&account.live, &made, json!({})).await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "quiet_hours_applied": true, "replayed": false }));
    let launched = &reply.json["data"];
    assert_eq!(launched["status"], "scheduled");
    assert_eq!(launched["scheduled_at"], "2026-11-21T09:00:00.000Z");
    assert_eq!(launched["launched_at"], "2026-11-21T07:07:10.123Z");
    assert_eq!((count(launched, "scheduled"), account.balance().await), (2, 8));
    rig.work().await;
    assert_eq!(account.live.get(&path(&made)).await.ok()["status"], "scheduled");
    rig.clock.advance(Duration::from_hours(2));
    rig.work().await;
    assert_eq!(account.live.get(&path(&made)).await.ok()["status"], "sent");
    // (draft, body of the launch, when, whether for quiet hours)
    for (extra, body, scheduled_at, quiet) in [
        (
            json!({}),
            json!({ "ignore_quiet_hours": true, "schedule_at": "2026-11-21T22:00:00Z" }),
            json!("2026-11-21T22:00:00.000Z"),
            false,
        ),
        (
            json!({ "ignore_quiet_hours": true }),
            json!({ "schedule_at": "2026-11-22T08:59:59Z" }),
            json!("2026-11-22T08:59:59.000Z"),
            false,
        ),
        (
            json!({ "ignore_quiet_hours": true }),
            json!({ "schedule_at": "2026-11-21T21:00:00Z", "ignore_quiet_hours": false }),
            json!("2026-11-22T09:00:00.000Z"),
            true,
        ),
        (
            json!({}),
            json!({ "schedule_at": "2026-11-22T09:00:00Z" }),
            json!("2026-11-22T09:00:00.000Z"),
            false,
        ),
        (json!({}), json!({ "schedule_at": null }), Value::Null, false),
        // In summer clocks in London are an hour ahead.
        (
            json!({}),
            json!({ "schedule_at": "2027-06-01T20:00:00Z" }),
            json!("2027-06-02T08:00:00.000Z"),
            true,
        ),
    ] {
        let again = account.live.post("/campaigns", {
            let mut input = json!({ "name": "x", "body": "x", "list_id": list });
            input.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            input
        });
        let made = again.await.created();
        rig.operator()
            .post(
                &format!("/accounts/{}/credits", account.id),
                json!({ "amount": 2, "note": "more" }),
            )
            .await
            .assert(200);
        let reply = launch(&account.live, &made, body.clone()).await.assert(200);
        assert_eq!(reply.json["data"]["scheduled_at"], scheduled_at, "{body}");
        assert_eq!(reply.json["meta"]["quiet_hours_applied"], quiet, "{body}");
        let given = body.get("ignore_quiet_hours").or(extra.get("ignore_quiet_hours"));
        let ignores = given.cloned().unwrap_or(json!(false));
        assert_eq!(reply.json["data"]["ignore_quiet_hours"], ignores);
    }
}

#[tokio::test]
async fn what_a_launch_asks_for_has_to_be_right() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 1).await;
    let at = |seconds: i64| {
        let millis = crate::rig::START_MILLIS + seconds * 1_000;
        json!({ "schedule_at": sms_core::time::Timestamp::from_millis(millis).to_string() })
    };
    for seconds in [-61, YEAR + 1] {
        launch(&account.live, &made, at(seconds)).await.mistake("schedule_at", "out_of_range");
    }
    let wrong = json!({ "schedule_at": "2020-01-01T00:00:00Z", "track_links": 5 });
    let mistakes = launch(&account.live, &made, wrong).await.mistakes();
    let fields: Vec<&str> = mistakes.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["track_links", "schedule_at"]);
    launch(&account.live, &made, json!([])).await.refused(422, "validation_failed");
    assert_eq!(account.live.get(&path(&made)).await.ok()["status"], "draft");
    let soon = launch(&account.live, &made, at(YEAR)).await.ok();
    assert_eq!(soon["status"], "scheduled");
    let past = draft_to(&account, 1).await;
    let now = launch(&account.live, &past, at(-60)).await.ok();
    assert_eq!((&now["status"], &now["scheduled_at"]), (&json!("sending"), &Value::Null));
}

#[tokio::test]
async fn a_campaign_counts_its_links_and_every_hit_on_them() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 3).await;
    let words = json!({ "body": "https://example.com/menu and https://example.com/wine" });
    account.live.patch(&path(&made), words).await.assert(200);
    let hook = json!({ "url": "https://example.com/hook", "events": ["link.clicked"] });
    account.live.post("/webhooks", hook).await.assert(201);
    let sent = launch(&account.live, &made, json!({ "track_links": true })).await.ok();
    let expected = |clicks: u64, unique: u64| {
        json!({
            "track_links": true, "links": 6, "clicks": clicks, "unique_clicked": unique,
        })
    };
    assert_eq!(sent["links"], expected(0, 0));
    let filter = format!("/links?campaign_id={}", made["id"].as_str().unwrap());
    let links = account.live.pages(&filter, 4).await;
    assert_eq!(links.len(), 6);
    for (place, hits) in [(0, 3), (5, 1)] {
        let path = format!("/l/{}", links[place]["code"].as_str().unwrap());
        for _ in 0..hits {
            rig.client(None).ask_at(Method::GET, &path).send().await.assert(302);
        }
    }
    assert_eq!(account.live.get(&path(&made)).await.ok()["links"], expected(4, 2));
    rig.work().await;
    let told = rig.hooks.take_events();
    assert_eq!(told.len(), 4);
    assert!(told.iter().all(|event| event["data"]["campaign_id"] == made["id"]));
    // The messages show the short links, and cost what a quote of them does.
    let messages = account.live.pages(&filter.replace("/links", "/messages"), 100).await;
    assert!(
        messages.iter().all(|text| !text["body"].as_str().unwrap().contains("example.com/menu"))
    );
    // A test tracks none.
    let test = draft_to(&account, 1).await;
    let sent = launch(&account.test, &test, json!({ "track_links": true })).await.ok();
    assert_eq!(sent["links"]["links"], 0);
}

#[tokio::test]
async fn a_launch_that_cannot_be_paid_changes_nothing() {
    let rig = Rig::new().await;
    let account = rig.account(4).await;
    let made = draft_to(&account, 5).await;
    let details = launch(&account.live, &made, json!({})).await.refused(402, "insufficient_credit");
    assert_eq!(details, json!({ "needed": 5, "balance": 4 }));
    assert_eq!(account.live.get(&path(&made)).await.ok(), made);
    assert_eq!(account.live.get("/messages").await.ok(), json!([]));
    let credits = format!("/accounts/{}/credits", account.id);
    let more = json!({ "amount": 1, "note": "one more" });
    rig.operator().post(&credits, more).await.assert(200);
    launch(&account.live, &made, json!({})).await.assert(200);
    assert_eq!(account.balance().await, 0);
}

#[tokio::test]
async fn a_launch_to_nobody_leaves_a_draft() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let empty = draft_to(&account, 0).await;
    let opted_out = draft_to(&account, 1).await;
    account.live.post("/opt-outs", json!({ "phone": numbers(1)[0] })).await.assert(201);
    for client in [&account.live, &account.test] {
        for made in [&empty, &opted_out] {
            let details = launch(client, made, json!({})).await.refused(422, "no_recipients");
            assert_eq!(details[0]["field"], "list_id");
            assert_eq!(account.live.get(&path(made)).await.ok(), *made);
        }
    }
    let list = format!("/lists/{}", empty["list_id"].as_str().unwrap());
    account.live.delete(&list).await.assert(204);
    let details = launch(&account.live, &empty, json!({})).await.refused(404, "not_found");
    assert_eq!(details, json!({ "resource": "list", "id": empty["list_id"] }));
}

#[tokio::test]
async fn the_sender_is_approved_when_a_campaign_is_launched_too() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let name = ask(&account, "Bistro").await;
    decide(&rig, &name, "approve").await;
    let list = list_of(&account, &numbers(1)).await;
    let extra = json!({ "sender": "Bistro", "append_opt_out": true, "ignore_quiet_hours": true });
    let made = draft(&account.live, &list, extra).await;
    decide(&rig, &name, "reject").await;
    launch(&account.live, &made, json!({})).await.refused(422, "sender_not_approved");
    decide(&rig, &name, "approve").await;
    launch(&account.live, &made, json!({})).await.assert(200);
    let text = account.live.get("/messages").await.ok()[0].clone();
    assert_eq!(text["sender"], "Bistro");
    let body = "The menu is here\nText STOP to +447700900000 to opt out";
    assert_eq!(text["body"], body);
}

#[tokio::test]
async fn an_account_that_may_not_send_may_not_launch() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 1).await;
    let at = format!("/accounts/{}", account.id);
    for (status, code) in [("pending", "account_pending"), ("suspended", "account_suspended")] {
        rig.operator().patch(&at, json!({ "status": status })).await.assert(200);
        launch(&account.live, &made, json!({})).await.refused(403, code);
        // An invalid request is refused, whoever the caller is.
        let wrong = json!({ "schedule_at": "soon" });
        launch(&account.live, &made, wrong).await.refused(422, "validation_failed");
    }
    launch(&account.test, &made, json!({})).await.refused(403, "account_suspended");
    rig.operator().patch(&at, json!({ "status": "pending" })).await.assert(200);
    launch(&account.test, &made, json!({})).await.assert(200);
}

#[tokio::test]
async fn a_test_key_launches_test_messages_to_fifty_contacts() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (most, more) = (draft_to(&account, 50).await, draft_to(&account, 51).await);
    launch(&account.test, &more, json!({})).await.refused(422, "test_limit_exceeded");
    let tracked = json!({ "track_links": true });
    let launched = launch(&account.test, &most, tracked).await.ok();
    assert_eq!((&launched["recipients"], &launched["credits"]), (&json!(50), &json!(0)));
    assert_eq!(account.balance().await, 10);
    let messages = account.live.get("/messages?limit=100").await.ok();
    for text in messages.as_array().unwrap() {
        assert_eq!((&text["test"], &text["route"]), (&json!(true), &json!("test")));
    }
    launch(&account.live, &most, json!({})).await.refused(409, "campaign_already_launched");
    for _ in 0..5 {
        let made = draft_to(&account, 50).await;
        launch(&account.test, &made, json!({})).await.assert(200);
    }
    let seventh = draft_to(&account, 1).await;
    let reply = launch(&account.test, &seventh, json!({})).await;
    assert_eq!(reply.header("retry-after"), "3600");
    reply.refused(429, "rate_limited");
    rig.pass(4).await;
    let done = account.live.get(&path(&most)).await.ok();
    assert_eq!((&done["status"], count(&done, "cancelled")), (&json!("sent"), 0));
}

#[tokio::test]
async fn a_cancel_takes_back_what_has_not_left() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 5).await;
    cancel(&account.live, &made).await.refused(409, "campaign_not_cancellable");
    launch(&account.live, &made, json!({})).await.assert(200);
    // A worker has claimed two and not recorded their outcome yet.
    let at = rig.sms.now();
    let until = at.plus(Duration::from_secs(30));
    let lease = sms_core::dispatch::Lease { token: sms_core::dispatch::LeaseToken(1), until };
    let ids = sms_core::ids::IdSource::default().draw(at, &sms_core::random::SeededRandom::new(5));
    let plan = sms_core::dispatch::ClaimPlan {
        at,
        limit: 2,
        lease,
        wanted: sms_core::dispatch::Wanted::AllBut(Vec::new()),
        turns: sms_core::dispatch::Turns::default(),
        default_route: sms_core::route::RouteName::new("simulator"),
        ids,
    };
    assert_eq!(rig.sms.store().dispatch_claim(plan).await.unwrap().messages.len(), 2);
    let reply = cancel(&account.live, &made).await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "cancelled_messages": 3 }));
    let cancelled = &reply.json["data"];
    assert_eq!(
        (&cancelled["status"], &cancelled["completed_at"]),
        (&json!("cancelled"), &Value::Null)
    );
    assert_eq!(cancelled["cancelled_at"], "2026-11-21T07:07:10.123Z");
    assert_eq!((count(cancelled, "cancelled"), count(cancelled, "sending")), (3, 2));
    assert_eq!((cancelled["credits"].as_u64(), account.balance().await), (Some(5), 8));
    cancel(&account.live, &made).await.refused(409, "campaign_not_cancellable");
    let filter = format!("/messages?campaign_id={}&status=cancelled", made["id"].as_str().unwrap());
    let messages = account.live.get(&filter).await.ok();
    assert_eq!(messages.as_array().unwrap().len(), 3);
    let ledger = format!("/accounts/{}/ledger", account.id);
    let entries = rig.operator().get(&ledger).await.ok();
    let refunds = entries.as_array().unwrap().iter().filter(|entry| entry["kind"] == "refund");
    for refund in refunds.clone() {
        assert_eq!((&refund["campaign_id"], &refund["amount"]), (&made["id"], &json!(1)));
    }
    assert_eq!(refunds.count(), 3);
    // The lease expires: the two may have been sent, and nobody sends them again.
    rig.pass(31).await;
    let after = account.live.get(&path(&made)).await.ok();
    assert_eq!((&after["status"], count(&after, "undelivered")), (&json!("cancelled"), 2));
}

#[tokio::test]
async fn a_scheduled_campaign_is_cancelled_whole_and_a_sent_one_not_at_all() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let scheduled = draft_to(&account, 3).await;
    let later = json!({ "schedule_at": "2026-12-24T12:00:00Z" });
    launch(&account.live, &scheduled, later).await.assert(200);
    let reply = cancel(&account.live, &scheduled).await.assert(200);
    assert_eq!(reply.json["meta"], json!({ "cancelled_messages": 3 }));
    assert_eq!((count(&reply.json["data"], "cancelled"), account.balance().await), (3, 10));
    assert_eq!(reply.json["data"]["scheduled_at"], "2026-12-24T12:00:00.000Z");
    let sent = draft_to(&account, 1).await;
    launch(&account.live, &sent, json!({})).await.assert(200);
    rig.work().await;
    let details = cancel(&account.live, &sent).await.refused(409, "campaign_not_cancellable");
    assert_eq!(details, json!({ "status": "sent" }));
}

#[tokio::test]
async fn a_cancel_that_was_interrupted_is_completed_and_refunded() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let made = draft_to(&account, 3).await;
    let later = json!({ "schedule_at": "2026-12-24T12:00:00Z" });
    launch(&account.live, &made, later).await.assert(200);
    let campaign = made["id"].as_str().unwrap().parse().unwrap();
    let at = rig.sms.now();
    let plan = sms_core::campaign::cancel::CancelPlan { account: account.id, campaign, at };
    rig.sms.store().campaign_cancel(plan).await.unwrap();
    rig.sms.tidy(100).await.unwrap();
    assert_eq!(account.balance().await, 7, "whoever cancelled it may still be at it");
    rig.clock.advance(Duration::from_secs(121));
    while rig.sms.tidy(100).await.unwrap() > 0 {}
    assert_eq!(account.balance().await, 10);
    let after = account.live.get(&path(&made)).await.ok();
    assert_eq!((&after["status"], count(&after, "cancelled")), (&json!("cancelled"), 3));
}
