//! Every list with a cursor, of both APIs: newest first, 25 a page unless told otherwise, whole at
//! every page size, and whole for a reader while rows are added.
//!
//! Which lists there are comes from the documents, so a list that is added has to be added here.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{Account, Client, Rig, SHARED_NUMBER};

/// More than stand on a page by default.
const ROWS: usize = 27;

struct Stage {
    rig: Rig,
    account: Account,
    list: String,
    webhook: String,
}

impl Stage {
    async fn new() -> Self {
        let rig = Rig::new().await;
        let account = rig.account(10_000).await;
        let id = |value: Value| value["id"].as_str().unwrap().to_owned();
        let list = id(account.live.post("/lists", json!({ "name": "Regulars" })).await.created());
        let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
        let webhook = id(account.live.post("/webhooks", hook).await.created());
        Self { rig, account, list, webhook }
    }

    /// Who reads the list, and where.
    fn place(&self, list: &str) -> (Client, String) {
        let (client, path) = match list.strip_prefix("admin ") {
            Some(path) => (self.rig.operator(), path),
            None => (self.account.live.clone(), list),
        };
        let own = match path {
            "/lists/{id}/contacts" => self.list.clone(),
            "/webhooks/{id}/deliveries" => self.webhook.clone(),
            _ => self.account.id.to_string(),
        };
        (client, path.replace("{id}", &own))
    }

    /// Makes row `n` of a list.
    async fn add(&self, list: &str, n: usize) {
        let live = &self.account.live;
        let phone = format!("07700 900{n:03}");
        let post = |path: &'static str, body: Value| async move {
            live.post(path, body).await.assert(201);
        };
        match list {
            "/messages" => post("/messages", json!({ "to": phone, "body": "x" })).await,
            "/contacts" => post("/contacts", json!({ "phone": phone })).await,
            "/lists" => post("/lists", json!({ "name": phone })).await,
            "/lists/{id}/contacts" => {
                let path = format!("/lists/{}/contacts", self.list);
                live.post(&path, json!({ "phones": [phone] })).await.assert(200);
            }
            "/campaigns" => {
                let body = json!({ "name": phone, "body": "x", "list_id": self.list });
                post("/campaigns", body).await;
            }
            "/templates" => post("/templates", json!({ "name": phone, "body": "x" })).await,
            "/keywords" => post("/keywords", json!({ "keyword": format!("WORD{n}") })).await,
            "/links" => {
                let body = format!("https://example.com/{n}");
                let body = json!({ "to": phone, "body": body, "track_links": true });
                post("/messages", body).await;
            }
            "/webhooks/{id}/deliveries" | "/events" => {
                post("/messages", json!({ "to": phone, "body": "x" })).await;
                self.rig.pass(1).await;
            }
            "/conversations" => {
                self.account.send(phone.as_str(), "x").await;
                self.rig.pass(1).await;
                self.inbound(&phone, SHARED_NUMBER).await;
            }
            "admin /accounts" => {
                self.rig.operator().post("/accounts", json!({ "name": phone })).await.assert(201);
            }
            "admin /accounts/{id}/ledger" => {
                let path = format!("/accounts/{}/credits", self.account.id);
                let body = json!({ "amount": 1, "note": "x" });
                self.rig.operator().post(&path, body).await.assert(200);
            }
            "admin /sender-ids" => {
                post("/sender-ids", json!({ "value": format!("Name{n}") })).await;
            }
            "admin /unrouted" => self.inbound(&phone, SHARED_NUMBER).await,
            other => panic!("say here how a row of {other} is made"),
        }
        self.rig.clock.advance(Duration::from_millis(1));
    }

    async fn inbound(&self, from: &str, to: &str) {
        let body = json!({ "from": from, "to": to, "body": "x" });
        self.rig.operator().post("/inbound", body).await.assert(201);
    }
}

/// The lists with a cursor of both documents.
async fn lists() -> Vec<String> {
    let rig = Rig::new().await;
    let mut lists = Vec::new();
    for (document, prefix) in [(&rig.documents().api, ""), (&rig.documents().admin, "admin ")] {
        for (path, item) in document["paths"].as_object().unwrap() {
            let parameters = item["get"]["parameters"].as_array().into_iter().flatten();
            if parameters.into_iter().any(|parameter| parameter["name"] == "cursor") {
                lists.push(format!("{prefix}{path}"));
            }
        }
    }
    assert!(lists.len() >= 15, "{lists:?}");
    lists
}

/// When a row came about, as far as the list's order goes.
fn moment(row: &Value) -> &str {
    let moments = [&row["last_message"]["created_at"], &row["created_at"], &row["received_at"]];
    moments.iter().find_map(|moment| moment.as_str()).unwrap_or_else(|| panic!("when? {row}"))
}

#[tokio::test]
async fn every_list_is_newest_first_and_whole_at_every_page_size() {
    for list in lists().await {
        let stage = Stage::new().await;
        for n in 0..ROWS {
            stage.add(&list, n).await;
        }
        let (client, path) = stage.place(&list);
        let all = client.pages(&path, 100).await;
        assert!(all.len() >= ROWS, "{list} has {} rows", all.len());
        assert!(all.is_sorted_by(|newer, older| moment(newer) >= moment(older)), "{list}");
        for limit in [1, 7, 26, 27, 28] {
            assert_eq!(client.pages(&path, limit).await, all, "{list}, {limit} a page");
        }
        let page = client.get(&path).await.assert(200);
        assert_eq!(page.json["data"].as_array().unwrap()[..], all[..25], "{list}: 25 by default");
        assert!(page.json["meta"]["next_cursor"].is_string(), "{list}");
    }
}

#[tokio::test]
async fn a_reader_of_any_list_misses_nothing_and_sees_nothing_twice_while_rows_are_added() {
    for list in lists().await {
        let stage = Stage::new().await;
        for n in 0..6 {
            stage.add(&list, n).await;
        }
        let (client, path) = stage.place(&list);
        let before = client.pages(&path, 100).await;
        let (mut seen, mut cursor, mut more) = (Vec::new(), String::new(), 6);
        loop {
            let page = client.get(&format!("{path}?limit=2{cursor}")).await.assert(200);
            seen.extend(page.json["data"].as_array().unwrap().iter().cloned());
            let Some(next) = page.json["meta"]["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
            stage.add(&list, more).await;
            more += 1;
        }
        assert_eq!(seen, before, "{list}");
    }
}

#[tokio::test]
async fn a_limit_is_1_to_100_on_every_list() {
    for list in lists().await {
        let stage = Stage::new().await;
        let (client, path) = stage.place(&list);
        for limit in [1, 100] {
            client.get(&format!("{path}?limit={limit}")).await.assert(200);
        }
        for limit in [0, 101] {
            client.get(&format!("{path}?limit={limit}")).await.mistake("limit", "out_of_range");
        }
        client.get(&format!("{path}?cursor=nonsense")).await.assert(422);
    }
}
