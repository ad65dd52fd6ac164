//! The examples of both documents: what a server answers when an account's story is told to it.
//!
//! After a change on purpose, `SMS_UPDATE_GOLDEN=1 cargo test -p sms-server document examples`
//! writes them anew; they become part of the documents with the next build.

use std::path::PathBuf;
use std::sync::Arc;

use poem::http::Method;
use serde_json::{Map, Value, json};
use sms_http::rate_limit::Gcra;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{PgSettings, PgStore};

use crate::described::item_of;
use crate::event_reader::Reader;
use crate::rig::{Ask, Client, Rig};
use crate::server_postgres::cluster;

/// An account's story, and the examples that it has given so far.
struct Story {
    rig: Rig,
    live: Client,
    operator: Client,
    of_api: Map<String, Value>,
    of_operator: Map<String, Value>,
}

impl Story {
    async fn begin(rig: Rig) -> Self {
        let (live, operator) = (rig.client(None), rig.operator());
        let (of_api, of_operator) = (Map::new(), Map::new());
        let mut story = Self { rig, live, operator, of_api, of_operator };
        let account = json!({ "name": "Bookings", "status": "active", "credits": 1_000 });
        let account = story.operate("POST", "/accounts", Some(account)).await;
        let keys = format!("/accounts/{}/keys", id(&account));
        let key = json!({ "kind": "live", "name": "Booking server" });
        let made = story.operate("POST", &keys, Some(key)).await;
        story.live = story.rig.client(made["key"].as_str());
        story.account(&id(&account)).await;
        story
    }

    /// Asks the API, and keeps the first answer of each operation. Returns its data.
    async fn ask(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (client, document) = (self.live.clone(), &self.rig.documents().api);
        let (id, example, data) = told(&client, document, method, path, body).await;
        self.of_api.entry(id).or_insert(example);
        data
    }

    /// Asks the operator's API.
    async fn operate(&mut self, method: &str, path: &str, body: Option<Value>) -> Value {
        let (client, document) = (self.operator.clone(), &self.rig.documents().admin);
        let (id, example, data) = told(&client, document, method, path, body).await;
        self.of_operator.entry(id).or_insert(example);
        data
    }

    /// What only the operator does.
    async fn account(&mut self, account: &str) {
        let own = format!("/accounts/{account}");
        let number = json!({
            "phone_number": "07700 900001", "account_id": account, "rental_credits": 20,
            "monthly_credits": 20,
        });
        let number = self.operate("POST", "/numbers", Some(number)).await;
        let number = format!("/numbers/{}", id(&number));
        self.operate("POST", &format!("{number}/check-in"), None).await;
        let settings = json!({ "settings": { "quiet_hours_start": "22:00" } });
        self.operate("PATCH", &own, Some(settings)).await;
        let credits = json!({ "amount": 500, "note": "Invoice 2026-117" });
        self.operate("POST", &format!("{own}/credits"), Some(credits)).await;
        for path in ["/accounts", &own, &format!("{own}/keys"), &format!("{own}/ledger")] {
            self.operate("GET", path, None).await;
        }
        for path in ["/numbers", "/routes", "/routes/simulator/unmatched-receipts", "/clock"] {
            self.operate("GET", path, None).await;
        }
    }

    /// Endpoints. Returns the path of one that hears everything.
    async fn webhooks(&mut self) -> String {
        let input = json!({
            "url": "https://example.com/sms-events",
            "events": [
                "message.sent", "message.delivered", "message.failed", "message.received",
                "opt_out.created", "link.clicked",
            ],
            "description": "Booking system",
        });
        let hook = format!("/webhooks/{}", id(&self.ask("POST", "/webhooks", Some(input)).await));
        self.ask("PATCH", &hook, Some(json!({ "rotate_secret": true }))).await;
        self.ask("GET", "/webhooks", None).await;
        self.ask("POST", &format!("{hook}/test"), None).await;
        hook
    }

    /// Contacts, lists and templates. Returns the id of a list with people on it.
    async fn people(&mut self) -> String {
        let person = json!({
            "phone": "07700 900123", "first_name": "Sam", "email": "sam@example.com",
            "custom": { "points": 120 },
        });
        let contact = self.ask("POST", "/contacts", Some(person)).await;
        let path = format!("/contacts/{}", id(&contact));
        self.ask("PATCH", &path, Some(json!({ "last_name": "Green" }))).await;
        let list = json!({ "name": "Regulars", "description": "Guests who come every week" });
        let list = id(&self.ask("POST", "/lists", Some(list)).await);
        let of_list = format!("/lists/{list}");
        self.ask("PATCH", &of_list, Some(json!({ "name": "Regular guests" }))).await;
        let members = json!({ "contact_ids": [contact["id"]], "phones": ["07700 900124", "12"] });
        self.ask("POST", &format!("{of_list}/contacts"), Some(members)).await;
        let rows = json!({
            "rows": [{ "phone": "07700 900125", "first_name": "Kim" }, { "phone": "12" }],
            "list_id": list,
        });
        self.ask("POST", "/contacts/import", Some(rows)).await;
        let template = json!({ "name": "Table", "body": "Hi {first_name}, your table is ready" });
        let template = id(&self.ask("POST", "/templates", Some(template)).await);
        let template = format!("/templates/{template}");
        let changed = json!({ "body": "Hi {first_name}, your table is ready. See you soon" });
        self.ask("PATCH", &template, Some(changed)).await;
        for path in [
            "/contacts?limit=2",
            &path,
            "/contacts/fields",
            "/lists",
            &of_list,
            &format!("{of_list}/contacts"),
            "/templates",
            &template,
        ] {
            self.ask("GET", path, None).await;
        }
        self.ask("DELETE", &template, None).await;
        list
    }

    async fn sender_names(&mut self) {
        let name = json!({ "value": "Bistro", "purpose": "Our restaurant's name" });
        let name = id(&self.ask("POST", "/sender-ids", Some(name)).await);
        let other = json!({ "value": "Bank", "purpose": "A test" });
        let other = id(&self.ask("POST", "/sender-ids", Some(other)).await);
        self.operate("GET", "/sender-ids?status=pending", None).await;
        self.operate("POST", &format!("/sender-ids/{name}/approve"), Some(json!({}))).await;
        let reason = json!({ "reason": "The name of another business" });
        self.operate("POST", &format!("/sender-ids/{other}/reject"), Some(reason)).await;
        self.ask("GET", "/sender-ids", None).await;
    }

    async fn messages(&mut self) {
        let send = json!({
            "to": ["07700 900123", "12"], "body": "Your table is ready",
            "client_ref": "booking-42",
        });
        self.ask("POST", "/messages/quote", Some(send.clone())).await;
        let sent = self.ask("POST", "/messages", Some(send)).await;
        let later = json!({
            "to": "07700 900124", "body": "See you tonight", "schedule_at": "2026-12-24T10:00:00Z",
        });
        let later = self.ask("POST", "/messages", Some(later)).await;
        let waiting = format!("/messages/{}/cancel", id(&later["messages"][0]));
        self.ask("POST", &waiting, None).await;
        let tracked = json!({
            "to": "07700 900125", "body": "The menu: https://example.com/menu",
            "track_links": true,
        });
        self.ask("POST", "/messages", Some(tracked)).await;
        for to in ["07700 900901", "07700 900904"] {
            let other = json!({ "to": to, "body": "Your table is ready" });
            self.ask("POST", "/messages", Some(other)).await;
        }
        self.rig.pass(5).await;
        let link = self.ask("GET", "/links", None).await[0].take();
        self.ask("GET", &format!("/links/{}", id(&link)), None).await;
        let short = format!("/l/{}", link["code"].as_str().unwrap());
        self.live.ask_at(Method::GET, &short).send().await.assert(302);
        self.rig.work().await;
        let silent = self.ask("GET", "/messages?q=07700900904", None).await[0].take();
        let receipt = json!({ "message_id": silent["id"], "status": "delivered" });
        self.operate("POST", "/receipts", Some(receipt)).await;
        let message = format!("/messages/{}", id(&sent["messages"][0]));
        for path in [message.as_str(), "/messages/export?status=delivered"] {
            self.ask("GET", path, None).await;
        }
        self.of_api.remove("message_list");
        self.ask("GET", "/messages?limit=2", None).await;
    }

    /// What people send, and what follows from it.
    async fn inbound(&mut self, list: &str) {
        let keyword = json!({
            "keyword": "TABLE", "reply": "We call you back", "add_to_list_id": list,
        });
        let keyword = id(&self.ask("POST", "/keywords", Some(keyword)).await);
        let keyword = format!("/keywords/{keyword}");
        for (from, to, body) in [
            ("07700 900123", "07700 900001", "Yes please"),
            ("07700 900126", "07700 900001", "STOP"),
            ("07700 900126", "07700 900999", "Hello?"),
        ] {
            let text = json!({ "from": from, "to": to, "body": body });
            self.operate("POST", "/inbound", Some(text)).await;
        }
        self.operate("GET", "/unrouted", None).await;
        self.rig.work().await;
        let thread = "/conversations/%2B447700900123";
        self.ask("POST", "/opt-outs", Some(json!({ "phone": "07700 900127", "note": "By phone" })))
            .await;
        self.ask("PATCH", &keyword, Some(json!({ "reply": "We will call you back" }))).await;
        for path in ["/conversations", thread, "/opt-outs", "/keywords", &keyword] {
            self.ask("GET", path, None).await;
        }
        self.ask("POST", &format!("{thread}/read"), None).await;
        self.ask("DELETE", "/opt-outs/%2B447700900127", None).await;
        let rows = json!({ "rows": [{ "phone": "07700 900128", "note": "Brought along" }] });
        self.ask("POST", "/opt-outs/import", Some(rows)).await;
        self.ask("DELETE", &keyword, None).await;
    }

    async fn campaigns(&mut self, list: &str) {
        let draft = json!({
            "name": "Spring menu", "body": "Hi {first_name}, our spring menu is here",
            "list_id": list, "append_opt_out": true, "ignore_quiet_hours": true,
        });
        let campaign = self.ask("POST", "/campaigns", Some(draft.clone())).await;
        let campaign = format!("/campaigns/{}", id(&campaign));
        self.ask("PATCH", &campaign, Some(json!({ "name": "Spring menu 2027" }))).await;
        let later = json!({ "schedule_at": "2026-12-24T10:00:00Z" });
        self.ask("POST", &format!("{campaign}/send"), Some(later)).await;
        self.ask("GET", "/campaigns", None).await;
        self.ask("POST", &format!("{campaign}/cancel"), None).await;
        self.ask("GET", &campaign, None).await;
        let other = self.ask("POST", "/campaigns", Some(draft)).await;
        self.ask("DELETE", &format!("/campaigns/{}", id(&other)), None).await;
    }

    async fn end(&mut self, hook: &str) {
        let events = self.ask("GET", "/events?limit=2", None).await;
        self.ask("GET", &format!("/events/{}", id(&events[0])), None).await;
        self.follow(events[1]["position"].as_str().unwrap()).await;
        for path in
            ["/balance", "/api-keys", "/numbers", "/stats/summary", "/stats/timeseries?days=2"]
        {
            self.ask("GET", path, None).await;
        }
        let deliveries = self.ask("GET", &format!("{hook}/deliveries?limit=2"), None).await;
        let delivery = id(&deliveries[0]);
        self.ask("POST", &format!("{hook}/deliveries/{delivery}/retry"), None).await;
        let missed = json!({ "from": "2026-11-21T07:00:00Z", "types": ["message.delivered"] });
        self.ask("POST", &format!("{hook}/replay"), Some(missed)).await;
        self.ask("DELETE", hook, None).await;
        self.operate("POST", "/clock", Some(json!({ "advance_seconds": 3_600 }))).await;
    }

    /// So many people text a keyword that its replies pause.
    async fn pause(&mut self) {
        let word = json!({ "keyword": "QUIZ", "reply": "Thank you" });
        self.live.post("/keywords", word).await.created();
        let hook = json!({ "url": "https://example.com/pauses", "events": ["replies.paused"] });
        self.live.post("/webhooks", hook).await.created();
        for from in 200..=300 {
            let text = json!({
                "from": format!("07700 900{from}"), "to": "07700 900001", "body": "Quiz",
            });
            self.operator.post("/inbound", text).await.assert(201);
        }
        self.rig.work().await;
        self.events();
        // What was due while the clock moved took ids, in no certain order.
        let id = json!("evt_01m7yjabxkejs8t01th5zprhwq");
        self.of_api["event_replies_paused"]["request"]["id"] = id;
    }

    /// The beginning of a stream: the events after a position.
    async fn follow(&mut self, after: &str) {
        let path = format!("/events/stream?after={after}");
        let mut reader = Reader::open(self.live.ask(Method::GET, &path)).await;
        reader.event().await;
        let example = json!({ "status": 200, "response": reader.text() });
        self.of_api.insert("event_stream".to_owned(), example);
    }

    /// The events that came, as examples of the requests that the server sends.
    fn events(&mut self) {
        for event in self.rig.hooks.take_events() {
            let kind = event["type"].as_str().unwrap().replace('.', "_");
            self.of_api.entry(format!("event_{kind}")).or_insert(json!({ "request": event }));
        }
    }
}

/// Asks for one thing. Returns the operation's id, the example, and the data of the answer.
async fn told(
    client: &Client,
    document: &Value,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (String, Value, Value) {
    let operation = item_of(document, path.split('?').next().unwrap()).unwrap();
    let operation = &operation[method.to_lowercase()]["operationId"];
    let operation = operation.as_str().unwrap_or_else(|| panic!("{method} {path}")).to_owned();
    let ask = client.ask(method.parse().unwrap(), path);
    let ask = body.iter().fold(ask, Ask::json);
    let mut reply = ask.send().await;
    assert!(reply.status < 300, "{method} {path}: {reply:?}");
    let mut example = Map::new();
    example.extend(body.map(|body| ("request".to_owned(), body)));
    example.insert("status".to_owned(), reply.status.into());
    let is_json = reply.header("content-type") == "application/json";
    if is_json {
        example.insert("response".to_owned(), without_secrets(reply.json.clone()));
    } else if !reply.bytes.is_empty() {
        example.insert("response".to_owned(), reply.text().into());
    }
    (operation, example.into(), reply.json["data"].take())
}

/// The value with something else for each key and secret.
fn without_secrets(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) if text.starts_with("cc_live_") && text.len() > 20 => {
            "cc_live_…".clone_into(text);
        }
        Value::String(text) if text.starts_with("whsec_") => "whsec_…".clone_into(text),
        Value::Array(items) => {
            for item in items {
                *item = without_secrets(item.take());
            }
        }
        Value::Object(object) => {
            for item in object.values_mut() {
                *item = without_secrets(item.take());
            }
        }
        _ => {}
    }
    value
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

fn compare(examples: Map<String, Value>, name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sms-http/src").join(name);
    let now = format!("{:#}\n", Value::Object(examples));
    if std::env::var_os("SMS_UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, now).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let differs = committed.lines().zip(now.lines()).position(|(old, new)| old != new);
    assert!(
        committed == now,
        "src/{name} is not what the server answers, from line {:?} on. If the change is meant: \
         SMS_UPDATE_GOLDEN=1 cargo test -p sms-server examples",
        differs.map(|line| line + 1),
    );
}

/// Tells the whole story. Returns the examples of the API and of the operator's API.
async fn told_to(rig: Rig) -> (Map<String, Value>, Map<String, Value>) {
    let mut story = Story::begin(rig).await;
    let hook = story.webhooks().await;
    let list = story.people().await;
    story.sender_names().await;
    story.messages().await;
    story.inbound(&list).await;
    story.campaigns(&list).await;
    story.events();
    story.end(&hook).await;
    let contact = id(&story.ask("GET", "/contacts", None).await[0]);
    story.ask("DELETE", &format!("/lists/{list}/contacts/{contact}"), None).await;
    story.ask("DELETE", &format!("/contacts/{contact}"), None).await;
    story.ask("DELETE", &format!("/lists/{list}"), None).await;
    story.pause().await;
    let account = id(&story.operate("GET", "/accounts", None).await[0]);
    let keys = format!("/accounts/{account}/keys");
    let key = id(&story.operate("GET", &keys, None).await[0]);
    story.operate("DELETE", &format!("{keys}/{key}"), None).await;
    let number = id(&story.operate("GET", "/numbers", None).await[0]);
    story.operate("DELETE", &format!("/numbers/{number}"), None).await;
    (story.of_api, story.of_operator)
}

#[tokio::test]
async fn the_examples_are_what_the_server_answers() {
    let (of_api, of_operator) = told_to(Rig::new().await).await;
    compare(of_api, "api/examples.json");
    compare(of_operator, "admin/examples.json");
}

/// The same without the positions of events, which each store counts in its own way.
fn without_positions(
    (mut of_api, of_operator): (Map<String, Value>, Map<String, Value>),
) -> (Map<String, Value>, Map<String, Value>) {
    let list = &mut of_api["event_list"]["response"];
    assert!(list["meta"]["next_cursor"].take().is_string());
    for event in list["data"].as_array_mut().unwrap() {
        assert!(event["position"].take().is_string());
    }
    let stream = of_api["event_stream"]["response"].take();
    assert!(stream.as_str().unwrap().contains("\nevent: opt_out.created\n"), "{stream}");
    for operation in ["event_get", "webhook_replay"] {
        assert!(of_api[operation]["response"]["data"]["position"].take().is_string());
    }
    (of_api, of_operator)
}

#[tokio::test]
async fn every_store_gives_the_same_answers_to_the_story() {
    let rate = Gcra::new(1_000_000, 1_000_000);
    let on_file = without_positions(told_to(Rig::new().await).await);
    let on_memory = told_to(Rig::with(Arc::new(MemoryStore::new()), rate).await).await;
    assert_eq!(on_file, without_positions(on_memory));
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let postgres = PgStore::connect(&url, PgSettings { connections: 2 }).await.unwrap();
    postgres.migrate().await.unwrap();
    let on_postgres = told_to(Rig::with(Arc::new(postgres), rate).await).await;
    assert_eq!(on_file, without_positions(on_postgres));
}
