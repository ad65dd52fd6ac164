//! Nothing of one account is seen, changed or told apart by another: every route, every position of
//! an id, from the document.

use std::collections::BTreeSet;

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Account, Rig};

/// An account and the ids of what it has.
struct Tenant {
    account: Account,
    message: String,
    batch: String,
    webhook: String,
    delivery: String,
    template: String,
    sender_name: String,
    opted_out: String,
    contact: String,
    list: String,
    link: String,
    keyword: String,
    number: String,
    campaign: String,
    event: String,
}

impl Tenant {
    async fn new(rig: &Rig, number: &str) -> Self {
        let account = rig.account(100).await;
        let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
        let webhook = account.live.post("/webhooks", hook).await.created();
        account.send(number, "left").await;
        rig.pass(1).await;
        let deliveries = format!("/webhooks/{}/deliveries", webhook["id"].as_str().unwrap());
        let delivery = account.live.get(&deliveries).await.ok();
        let event = account.live.get("/events").await.ok();
        let later = json!({ "to": number, "body": "later", "schedule_at": "2026-12-24T00:00:00Z" });
        let sent = account.live.post("/messages", later).await.created();
        let template = json!({ "name": "Table", "body": "x" });
        let template = account.live.post("/templates", template).await.created();
        let name = account.live.post("/sender-ids", json!({ "value": "Bistro" })).await.created();
        // Each has opted out somebody else.
        let somebody = number.replace("9001", "9002");
        let opt_out = json!({ "phone": somebody });
        let opt_out = account.live.post("/opt-outs", opt_out).await.created();
        let person = json!({ "phone": number, "custom": { "points": 5 } });
        let contact = account.live.post("/contacts", person).await.created();
        let list = account.live.post("/lists", json!({ "name": "Regulars" })).await.created();
        let tracked = json!({
            "to": number, "body": "https://example.com", "track_links": true,
            "schedule_at": "2026-12-24T00:00:00Z",
        });
        account.live.post("/messages", tracked).await.assert(201);
        let link = account.live.get("/links").await.ok();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let keyword = json!({ "keyword": "pizza", "add_to_list_id": list["id"] });
        let keyword = account.live.post("/keywords", keyword).await.created();
        let members = format!("/lists/{}/contacts", text(&list["id"]));
        let joining = json!({ "contact_ids": [contact["id"]] });
        account.live.post(&members, joining).await.assert(200);
        let spring = json!({ "name": "Spring", "body": "x", "list_id": list["id"] });
        let campaign = account.live.post("/campaigns", spring).await.created();
        Self {
            campaign: text(&campaign["id"]),
            event: text(&event[0]["id"]),
            template: text(&template["id"]),
            sender_name: text(&name["id"]),
            opted_out: text(&opt_out["phone"]),
            message: text(&sent["messages"][0]["id"]),
            batch: text(&sent["batch_id"]),
            webhook: text(&webhook["id"]),
            delivery: text(&delivery[0]["id"]),
            contact: text(&contact["id"]),
            list: text(&list["id"]),
            link: text(&link[0]["id"]),
            keyword: text(&keyword["id"]),
            number: text(&contact["phone"]),
            account,
        }
    }

    fn ids(&self) -> Vec<&str> {
        let Self { message, batch, webhook, delivery, template, sender_name, .. } = self;
        let Self { contact, list, link, keyword, campaign, event, .. } = self;
        let first = [message, batch, webhook, delivery, template, sender_name];
        let all = first.into_iter().chain([contact, list, link, keyword, campaign, event]);
        all.map(String::as_str).collect()
    }

    /// What the parameter of a path stands for.
    fn id_of(&self, path: &str, parameter: &str) -> &str {
        match (path.split('/').nth(1).unwrap(), parameter) {
            ("campaigns", "id") => &self.campaign,
            ("contacts", "id") | ("lists", "contact_id") => &self.contact,
            ("events", "id") => &self.event,
            ("links", "id") => &self.link,
            ("conversations", "phone") => &self.number,
            ("keywords", "id") => &self.keyword,
            ("lists", "id") => &self.list,
            ("messages", "id") => &self.message,
            ("opt-outs", "phone") => &self.opted_out,
            ("templates", "id") => &self.template,
            ("webhooks", "id") => &self.webhook,
            ("webhooks", "delivery_id") => &self.delivery,
            _ => panic!("say what {parameter} stands for in {path}"),
        }
    }

    async fn everything(&self) -> Vec<Value> {
        let mut seen = Vec::new();
        for path in [
            "/messages",
            "/webhooks",
            "/balance",
            "/campaigns",
            "/contacts",
            "/links",
            "/conversations",
            "/keywords",
            "/lists",
            "/numbers",
            "/stats/summary",
            "/templates",
            "/sender-ids",
            "/opt-outs",
            "/events",
        ] {
            seen.push(self.account.live.get(path).await.ok());
        }
        let deliveries = format!("/webhooks/{}/deliveries", self.webhook);
        seen.push(self.account.live.get(&deliveries).await.ok());
        let message = format!("/messages/{}", self.message);
        seen.push(self.account.live.get(&message).await.ok());
        seen
    }
}

fn parameters(path: &str) -> Vec<&str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
}

#[tokio::test]
async fn every_route_gives_404_for_another_accounts_id_in_every_position() {
    let rig = Rig::new().await;
    let (own, other) =
        (Tenant::new(&rig, "07700 900123").await, Tenant::new(&rig, "07700 900124").await);
    let before = (own.everything().await, other.everything().await);
    let paths = rig.documents().api["paths"].as_object().unwrap().clone();
    // What a replay needs; no other operation with an id needs anything.
    let body = json!({ "from": "2026-11-22T12:00:00Z" });
    let mut tried = 0;
    for (pattern, item) in &paths {
        let names = parameters(pattern);
        // Each parameter is another account's or one's own, at least one of them another's.
        for mixture in 1..(1_usize << names.len()) {
            let mut path = pattern.clone();
            for (place, name) in names.iter().enumerate() {
                let tenant = if mixture >> place & 1 == 1 { &other } else { &own };
                path = path.replace(&format!("{{{name}}}"), tenant.id_of(pattern, name));
            }
            for method in item.as_object().unwrap().keys() {
                let method: Method = method.to_uppercase().parse().unwrap();
                for client in [&own.account.live, &own.account.test] {
                    let reply = client.ask(method.clone(), &path).json(&body).send().await;
                    assert_eq!(reply.refused(404, "not_found"), Value::Null, "{method} {path}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 26, "{tried}");
    rig.work().await;
    assert_eq!((own.everything().await, other.everything().await), before);
    assert_eq!(rig.hooks.take().len(), 2, "nothing was sent again or tested");
}

#[tokio::test]
async fn an_unknown_id_and_another_accounts_get_the_same_answer() {
    let rig = Rig::new().await;
    let (own, other) =
        (Tenant::new(&rig, "07700 900123").await, Tenant::new(&rig, "07700 900124").await);
    for (theirs, nobodys) in [
        (format!("/messages/{}", other.message), format!("/messages/msg_{}", "0".repeat(26))),
        (
            format!("/webhooks/{}/deliveries", other.webhook),
            format!("/webhooks/whk_{}/deliveries", "0".repeat(26)),
        ),
    ] {
        let theirs = own.account.live.get(&theirs).await;
        let nobodys = own.account.live.get(&nobodys).await;
        assert_eq!((theirs.status, &theirs.bytes), (nobodys.status, &nobodys.bytes));
    }
}

#[tokio::test]
async fn no_list_holds_anything_of_another_account() {
    let rig = Rig::new().await;
    let (own, other) =
        (Tenant::new(&rig, "07700 900123").await, Tenant::new(&rig, "07700 900123").await);
    let paths = rig.documents().api["paths"].as_object().unwrap().clone();
    let lists = paths.iter().filter(|(path, item)| {
        parameters(path).is_empty() && item.get("get").is_some() && *path != "/openapi.json"
    });
    let mut read = BTreeSet::new();
    for (path, _) in lists {
        let text = own.account.live.get(path).await.assert(200).text();
        for id in other.ids() {
            assert!(!text.contains(id), "{path}");
        }
        read.insert(path.as_str());
    }
    let lists = ["/messages", "/messages/export", "/opt-outs", "/sender-ids", "/templates"];
    let more = ["/webhooks", "/events"];
    let lists = lists.into_iter().chain(more).collect();
    assert!(read.is_superset(&lists), "{read:?}");
}

#[tokio::test]
async fn filters_and_cursors_of_another_account_find_nothing_of_it() {
    let rig = Rig::new().await;
    let (own, other) =
        (Tenant::new(&rig, "07700 900123").await, Tenant::new(&rig, "07700 900124").await);
    let empty = json!([]);
    let found = own.account.live.get(&format!("/contacts?list_id={}", other.list)).await.ok();
    assert_eq!(found, empty);
    let joining = json!({ "contact_ids": [other.contact] });
    let members = format!("/lists/{}/contacts", own.list);
    let told = own.account.live.post(&members, joining).await.ok();
    assert_eq!(told, json!({ "added": 0, "invalid": [other.contact] }));
    for query in [format!("batch_id={}", other.batch), "q=07700900124".to_owned()] {
        let found = own.account.live.get(&format!("/messages?{query}")).await.ok();
        assert_eq!(found, empty, "{query}");
        let export = own.account.live.get(&format!("/messages/export?{query}")).await.text();
        assert_eq!(export.lines().count(), 1, "{query}");
    }
    for query in [format!("message_id={}", other.message), "campaign_id=x".to_owned()] {
        let found = own.account.live.get(&format!("/links?{query}")).await.ok();
        assert_eq!(found, empty, "{query}");
    }
    let page = other.account.live.get("/messages?limit=1").await.assert(200);
    let cursor = page.json["meta"]["next_cursor"].as_str().unwrap();
    let found = own.account.live.get(&format!("/messages?cursor={cursor}")).await.assert(200);
    for id in other.ids() {
        assert!(!found.text().contains(id));
    }
    let deliveries = format!("/webhooks/{}/deliveries?cursor={cursor}", own.webhook);
    let found = own.account.live.get(&deliveries).await.assert(200);
    assert!(!found.text().contains(&other.delivery));
}

#[tokio::test]
async fn events_go_to_the_endpoints_of_their_account_alone() {
    let rig = Rig::new().await;
    let (own, other) =
        (Tenant::new(&rig, "07700 900123").await, Tenant::new(&rig, "07700 900124").await);
    rig.hooks.take();
    own.account.send("07700 900904", "mine").await;
    rig.pass(1).await;
    let sent = rig.hooks.take();
    assert_eq!(sent.len(), 1);
    let list = format!("/webhooks/{}/deliveries", other.webhook);
    assert_eq!(other.account.live.get(&list).await.ok().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_key_is_revoked_under_its_own_account_alone() {
    let rig = Rig::new().await;
    let (own, other) = (rig.account(0).await, rig.account(0).await);
    let keys = format!("/accounts/{}/keys", other.id);
    let key = rig.operator().get(&keys).await.ok()[0]["id"].as_str().unwrap().to_owned();
    let wrong = format!("/accounts/{}/keys/{key}", own.id);
    rig.operator().delete(&wrong).await.refused(404, "not_found");
    other.test.get("/balance").await.assert(200);
}
