//! The table of `docs/endpoints.md`, row by row: in the document of the API, and answered as it
//! says.

use std::collections::BTreeSet;

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Account, Reply, Rig};

const TABLE: &str = include_str!("../../../docs/endpoints.md");

/// A row of the table.
struct Row {
    method: Method,
    path: &'static str,
    /// What is answered first comes first.
    answers: Vec<u16>,
    meta: &'static str,
    errors: BTreeSet<u16>,
}

fn rows() -> Vec<Row> {
    let codes = |cell: &str| cell.split(',').filter_map(|code| code.trim().parse().ok()).collect();
    let mut rows = Vec::new();
    for line in TABLE.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [operation, answers, meta, errors] = cells[..] else { panic!("four cells: {line}") };
        let (method, path) = operation.split_once(' ').unwrap();
        let errors: Vec<u16> = codes(errors);
        rows.push(Row {
            method: method.parse().unwrap(),
            path,
            answers: codes(answers),
            meta,
            errors: errors.into_iter().collect(),
        });
    }
    assert!(rows.len() > 50, "{} rows", rows.len());
    rows
}

impl Row {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The operation in the document.
    fn described<'d>(&self, document: &'d Value) -> &'d Value {
        let method = self.method.as_str().to_lowercase();
        let operation = &document["paths"][self.path][method.as_str()];
        assert!(operation.is_object(), "{} is not in the document", self.name());
        operation
    }
}

#[tokio::test]
async fn every_endpoint_is_in_the_document_and_no_other_is() {
    let rig = Rig::new().await;
    let document = &rig.documents().api;
    let mut named: BTreeSet<String> = rows().iter().map(Row::name).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let name = format!("{} {path}", method.to_uppercase());
            assert!(named.remove(&name), "{name} is not in docs/endpoints.md");
        }
    }
    assert_eq!(named, BTreeSet::new(), "these are not in the document");
}

#[tokio::test]
async fn every_endpoint_is_described_with_its_answers_and_errors() {
    // What comes from below the handlers is not in the table.
    let everywhere = [408, 413, 414, 415, 500, 503];
    let rig = Rig::new().await;
    for row in rows() {
        let operation = row.described(&rig.documents().api);
        let is_open = row.path.starts_with("/openapi");
        let common: &[u16] = if is_open { &[] } else { &[401, 404, 422, 429] };
        let mut expected = row.errors.clone();
        expected.extend(row.answers.iter().chain(common));
        let codes = operation["responses"].as_object().unwrap().keys();
        let mut described: BTreeSet<u16> = codes.map(|code| code.parse().unwrap()).collect();
        described.retain(|code| !everywhere.contains(code));
        assert_eq!(described, expected, "{}", row.name());
    }
}

/// An account with something of everything, made anew for each row.
struct Stage {
    rig: Rig,
    account: Account,
    contact: String,
    list: String,
    campaign: String,
    launched: String,
    template: String,
    keyword: String,
    link: String,
    message: String,
    waiting: String,
    webhook: String,
    delivery: String,
    event: String,
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

impl Stage {
    async fn new() -> Self {
        let rig = Rig::new().await;
        let account = rig.account(1_000).await;
        let live = &account.live;
        let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
        let webhook = id(&live.post("/webhooks", hook).await.created());
        let person = json!({ "phone": "07700 900123", "custom": { "points": 5 } });
        let contact = id(&live.post("/contacts", person).await.created());
        let list = id(&live.post("/lists", json!({ "name": "Regulars" })).await.created());
        let joining = json!({ "contact_ids": [contact] });
        live.post(&format!("/lists/{list}/contacts"), joining).await.assert(200);
        let input = json!({ "name": "Spring", "body": "Hello", "list_id": list });
        let campaign = id(&live.post("/campaigns", input.clone()).await.created());
        let launched = id(&live.post("/campaigns", input).await.created());
        let at = json!({ "schedule_at": "2026-12-01T12:00:00Z" });
        live.post(&format!("/campaigns/{launched}/send"), at).await.assert(200);
        let template = json!({ "name": "Table", "body": "x" });
        let template = id(&live.post("/templates", template).await.created());
        let keyword = id(&live.post("/keywords", json!({ "keyword": "JOIN" })).await.created());
        let tracked = json!({
            "to": "07700 900124", "body": "See https://example.com/spring", "track_links": true,
        });
        let message = id(&live.post("/messages", tracked).await.created()["messages"][0]);
        let link = id(&live.get("/links").await.ok()[0]);
        rig.pass(5).await;
        let inbound =
            json!({ "from": "07700 900124", "to": crate::rig::SHARED_NUMBER, "body": "x" });
        rig.operator().post("/inbound", inbound).await.assert(201);
        let later = json!({
            "to": "07700 900125", "body": "x", "schedule_at": "2026-12-24T00:00:00Z",
        });
        let waiting = id(&live.post("/messages", later).await.created()["messages"][0]);
        live.post("/opt-outs", json!({ "phone": "07700 900126" })).await.assert(201);
        let deliveries = live.get(&format!("/webhooks/{webhook}/deliveries")).await.ok();
        let delivery = id(&deliveries[0]);
        let event = id(&live.get("/events").await.ok()[0]);
        Self {
            rig,
            account,
            contact,
            list,
            campaign,
            launched,
            template,
            keyword,
            link,
            message,
            waiting,
            webhook,
            delivery,
            event,
        }
    }

    /// The row's path with ids of this account in it.
    fn path(&self, row: &Row) -> String {
        let own = match (&row.method, row.path.split('/').nth(1).unwrap()) {
            (_, "messages") if row.path.ends_with("/cancel") => &self.waiting,
            (_, "messages") => &self.message,
            (_, "contacts") => &self.contact,
            (_, "lists") => &self.list,
            (_, "campaigns") if row.path.ends_with("/cancel") => &self.launched,
            (_, "campaigns") => &self.campaign,
            (_, "templates") => &self.template,
            (_, "keywords") => &self.keyword,
            (_, "links") => &self.link,
            (_, "events") => &self.event,
            _ => &self.webhook,
        };
        let phone = if row.path.starts_with("/opt-outs") { "900126" } else { "900124" };
        row.path
            .replace("{id}", own)
            .replace("{contact_id}", &self.contact)
            .replace("{delivery_id}", &self.delivery)
            .replace("{phone}", &format!("%2B447700{phone}"))
    }

    /// A body that is right for the row.
    fn body(&self, row: &Row) -> Option<Value> {
        Some(match row.name().as_str() {
            "POST /messages" | "POST /messages/quote" => {
                json!({ "to": "07700900127", "body": "x" })
            }
            "POST /contacts" | "POST /opt-outs" => json!({ "phone": "07700 900128" }),
            "PATCH /contacts/{id}" => json!({ "first_name": "x" }),
            "POST /opt-outs/import" | "POST /contacts/import" => {
                json!({ "rows": [{ "phone": "07700 900129" }] })
            }
            "POST /lists" | "PATCH /lists/{id}" | "PATCH /campaigns/{id}" => json!({ "name": "x" }),
            "POST /lists/{id}/contacts" => json!({ "phones": ["07700 900130"] }),
            "POST /campaigns" => json!({ "name": "x", "body": "x", "list_id": self.list }),
            "POST /templates" | "PATCH /templates/{id}" => json!({ "name": "x", "body": "x" }),
            "POST /keywords" | "PATCH /keywords/{id}" => json!({ "keyword": "WIN" }),
            "POST /sender-ids" => json!({ "value": "Bistro" }),
            "POST /webhooks" | "PATCH /webhooks/{id}" => {
                json!({ "url": "https://example.com/h", "events": ["link.clicked"] })
            }
            "POST /webhooks/{id}/replay" => json!({ "from": "2026-11-21T07:00:00Z" }),
            _ => return None,
        })
    }

    async fn ask(&self, row: &Row, token: Option<&str>) -> Reply {
        let client = self.rig.client(token);
        let ask = client.ask(row.method.clone(), &self.path(row));
        match self.body(row) {
            Some(body) => ask.json(&body).send().await,
            None => ask.send().await,
        }
    }
}

/// What stands in `meta`, as the table writes it.
fn meta_of(reply: &Reply) -> String {
    if reply.header("content-type").starts_with("text/csv") {
        return "CSV".to_owned();
    }
    if reply.header("content-type") == "text/event-stream" {
        return "events".to_owned();
    }
    let names = reply.json["meta"].as_object().into_iter().flat_map(|meta| meta.keys());
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn every_endpoint_answers_as_documented() {
    for row in rows() {
        let stage = Stage::new().await;
        let reply = stage.ask(&row, stage.account.live.token.as_deref()).await;
        assert_eq!(reply.status, row.answers[0], "{}: {}", row.name(), reply.text());
        assert_eq!(meta_of(&reply), row.meta, "{}", row.name());
        let has_envelope = reply.json.get("data").is_some() && reply.json.get("meta").is_some();
        let is_stream = ["CSV", "events"].contains(&row.meta);
        let has_none = reply.status == 204 || is_stream || row.path.starts_with("/openapi");
        assert_eq!(has_envelope, !has_none, "{}", row.name());
    }
}

#[tokio::test]
async fn no_endpoint_but_the_document_answers_without_a_key() {
    let stage = Stage::new().await;
    for row in rows().iter().filter(|row| !row.path.starts_with("/openapi")) {
        for token in [None, Some("cc_live_nonsense")] {
            let reply = stage.ask(row, token).await;
            reply.refused(401, "unauthorized");
        }
    }
}

#[tokio::test]
async fn an_id_of_another_account_is_404_everywhere() {
    let stage = Stage::new().await;
    let other = stage.rig.account(100).await;
    for row in rows().iter().filter(|row| row.path.contains('{')) {
        let reply = stage.ask(row, other.live.token.as_deref()).await;
        assert_eq!(reply.status, 404, "{}: {}", row.name(), reply.text());
    }
}
