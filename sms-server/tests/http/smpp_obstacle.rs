//! What comes in the way of messages while they wait for a slow network: no more of them are
//! submitted.

use serde_json::{Value, json};
use sms_test_smsc::{Smsc, until};

use crate::process::{Process, TOKEN};
use crate::server_postgres::data;
use crate::smpp_world::{World, on_both_stores, start};

on_both_stores! {
    people_who_answer_stop_while_a_send_goes_out_get_nothing_more
    what_waits_is_not_submitted_after_an_opt_out
    what_waits_is_not_submitted_after_its_account_was_suspended
    what_waits_is_not_submitted_after_its_sender_name_was_rejected
    what_waits_is_not_submitted_after_its_number_was_released
    what_waits_is_not_submitted_after_its_campaign_was_cancelled
}

/// The settings of a route whose window holds two messages.
const WINDOW: [(&str, &str); 1] = [("SMS_ROUTE_MAIN_WINDOW", "2")];

fn phone(n: usize) -> String {
    format!("+4477009002{n:02}")
}

fn phones(count: usize) -> String {
    (0..count).map(phone).collect::<Vec<_>>().join(",")
}

async fn people_who_answer_stop_while_a_send_goes_out_get_nothing_more(store: Option<&str>) {
    const PEOPLE: usize = 40;
    let smsc = Smsc::start().await;
    // Ten messages a second.
    smsc.answers(json!({ "delay": 200 })).await;
    let world = World::new(store, &smsc, &WINDOW).await;
    // What arrives on a number of the account's own is the account's, also from people whom it has
    // not texted yet.
    let account = world.operator("/accounts").await[0]["id"].take();
    let own = json!({ "phone_number": "07700 900299", "route": "main", "account_id": account });
    assert_eq!(world.server.call("POST", "/admin/v1/numbers", TOKEN, &own).await.status, 201);
    let ids = world.send(&phones(PEOPLE), "Hello").await;
    smsc.until("text", 5).await;
    // Who would be texted last answers first: so somebody is in time on a slow machine, too.
    let who = |n: usize| phone(PEOPLE - 1 - n);
    for n in 0..PEOPLE {
        let from = who(n).trim_start_matches('+').to_owned();
        let stop =
            json!({ "source_addr": from, "destination_addr": "447700900299", "octets": b"STOP" });
        smsc.deliver(stop).await;
        smsc.until("answered", n + 1).await;
    }
    for id in &ids {
        until("all to end", async || {
            let message = world.message(id).await;
            ["sent", "failed"].iter().any(|it| message["status"] == *it).then_some(())
        })
        .await;
    }
    // Both go over one connection, so the order is that of the network.
    let (mut stopped, mut texted) = (0, 0);
    for event in smsc.all() {
        if event["event"] == "answered" {
            assert_eq!(event["status"], 0);
            stopped += 1;
        } else if event["event"] == "text" {
            texted += 1;
            let to = event["to"].as_str().unwrap();
            let late = (0..stopped).any(|n| who(n).ends_with(to));
            assert!(!late, "{to} was texted after the STOP of {stopped} people was acknowledged");
        }
    }
    assert!(texted < PEOPLE, "{texted} of {PEOPLE} were texted");
    assert_eq!(world.get("/balance").await["credits"], 100 - texted);
}

/// A server with a slow network, another one on the same database if there is one, and messages
/// that wait for the network.
struct Scene {
    world: World,
    other: Option<(Process, Smsc)>,
    smsc: Smsc,
    ids: Vec<String>,
}

/// How many messages there are.
const ALL: usize = 20;

impl Scene {
    async fn new(store: Option<&str>) -> Self {
        let (smsc, elsewhere) = (Smsc::start().await, Smsc::start().await);
        // Longer than anything here is held up.
        smsc.answers(json!({ "delay": 4_000 })).await;
        elsewhere.answers(json!({ "delay": 4_000 })).await;
        let world = World::new(store, &smsc, &WINDOW).await;
        let other = store.map(|url| (start(Some(url), &elsewhere, &WINDOW), elsewhere));
        smsc.until("bind", 1).await;
        Self { world, other, smsc, ids: Vec::new() }
    }

    /// Sends with these fields besides, and waits until some of it was submitted.
    async fn send(&mut self, fields: Value) {
        let mut body = json!({ "to": phones(ALL), "body": "Hello" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let sent = self.world.post("/messages", &body).await;
        self.take(&sent["messages"]);
        self.smsc.until("text", 2).await;
    }

    fn take(&mut self, messages: &Value) {
        let messages = messages.as_array().unwrap().iter();
        self.ids = messages.map(|message| message["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(self.ids.len(), ALL);
    }

    /// The server at which something comes in the way: another one if there is one.
    fn elsewhere(&self) -> &Process {
        self.other.as_ref().map_or(&self.world.server, |(server, _)| server)
    }

    async fn call(&self, method: &str, path: &str, key: &str, body: Value) -> Value {
        let answer = self.elsewhere().call(method, path, key, &body).await;
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.body);
        if answer.body.is_empty() { Value::Null } else { data(&answer) }
    }

    async fn operator(&self, method: &str, path: &str, body: Value) -> Value {
        self.call(method, &format!("/admin/v1{path}"), TOKEN, body).await
    }

    /// Nothing was submitted but what the windows had, and all the rest ended like this.
    async fn ends(self, status: &str, error: Value) {
        let mut sent = 0;
        for id in &self.ids {
            let message = until("all to end", async || {
                let message = self.world.message(id).await;
                let ends = ["sent", status].iter().any(|it| message["status"] == *it);
                ends.then_some(message)
            })
            .await;
            if message["status"] == "sent" {
                sent += 1;
            } else {
                assert_eq!(message["error_code"], error, "{message}");
            }
        }
        let elsewhere = self.other.as_ref().map_or(0, |(_, smsc)| smsc.seen("text").len());
        let here = self.smsc.seen("text").len();
        assert_eq!(here + elsewhere, sent);
        assert!(here <= 2 && elsewhere <= 2, "{here} and {elsewhere} were submitted");
        assert_eq!(self.world.get("/balance").await["credits"], 100 - sent, "the rest is refunded");
    }
}

async fn what_waits_is_not_submitted_after_an_opt_out(store: Option<&str>) {
    let mut scene = Scene::new(store).await;
    scene.send(json!({})).await;
    for n in 0..ALL {
        let key = scene.world.key.clone();
        scene.call("POST", "/api/v1/opt-outs", &key, json!({ "phone": phone(n) })).await;
    }
    scene.ends("failed", json!("opted_out")).await;
}

async fn what_waits_is_not_submitted_after_its_account_was_suspended(store: Option<&str>) {
    let mut scene = Scene::new(store).await;
    let accounts = scene.operator("GET", "/accounts", Value::Null).await;
    scene.send(json!({})).await;
    let path = format!("/accounts/{}", accounts[0]["id"].as_str().unwrap());
    scene.operator("PATCH", &path, json!({ "status": "suspended" })).await;
    scene.ends("failed", json!("account_suspended")).await;
}

async fn what_waits_is_not_submitted_after_its_sender_name_was_rejected(store: Option<&str>) {
    let mut scene = Scene::new(store).await;
    let name = scene.world.post("/sender-ids", &json!({ "value": "Bistro" })).await;
    let path = format!("/sender-ids/{}", name["id"].as_str().unwrap());
    scene.operator("POST", &format!("{path}/approve"), json!({})).await;
    scene.send(json!({ "sender": "Bistro" })).await;
    scene.operator("POST", &format!("{path}/reject"), json!({})).await;
    scene.ends("failed", json!("sender_not_approved")).await;
}

async fn what_waits_is_not_submitted_after_its_number_was_released(store: Option<&str>) {
    let mut scene = Scene::new(store).await;
    let numbers = scene.operator("GET", "/numbers", Value::Null).await;
    scene.send(json!({})).await;
    let path = format!("/numbers/{}", numbers[0]["id"].as_str().unwrap());
    scene.operator("DELETE", &path, Value::Null).await;
    scene.ends("failed", json!("no_number")).await;
}

async fn what_waits_is_not_submitted_after_its_campaign_was_cancelled(store: Option<&str>) {
    let mut scene = Scene::new(store).await;
    let numbers: Vec<String> = (0..ALL).map(phone).collect();
    let list = scene.world.post("/lists", &json!({ "name": "Guests" })).await;
    let key = scene.world.key.clone();
    let members = format!("/api/v1/lists/{}/contacts", list["id"].as_str().unwrap());
    scene.call("POST", &members, &key, json!({ "phones": numbers })).await;
    let draft = json!({
        "name": "Opening", "body": "Hello", "list_id": list["id"], "ignore_quiet_hours": true
    });
    let draft = scene.world.post("/campaigns", &draft).await;
    let path = format!("/campaigns/{}", draft["id"].as_str().unwrap());
    let send = format!("/api/v1{path}/send");
    let answer = scene.world.server.call("POST", &send, &key, &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    scene.smsc.until("text", 2).await;
    scene.call("POST", &format!("/api/v1{path}/cancel"), &key, json!({})).await;
    let messages = scene.world.get("/messages?limit=100").await;
    scene.take(&messages);
    scene.ends("cancelled", Value::Null).await;
}
