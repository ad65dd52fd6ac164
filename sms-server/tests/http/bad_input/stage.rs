//! An account with something of everything, and every operation that can be asked of it.

use poem::http::Method;
use serde_json::{Map, Value, json};

use crate::rig::{Client, Reply, Rig};

/// An operation of either API, with the ids in its path filled in.
pub(super) struct Operation<'r> {
    pub(super) client: &'r Client,
    pub(super) document: &'r Value,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) id: String,
    pub(super) item: Value,
}

/// An account with something of everything.
pub(super) struct Stage {
    pub(super) rig: Rig,
    pub(super) live: Client,
    pub(super) operator: Client,
    pub(super) account: String,
    pub(super) message: String,
    pub(super) webhook: String,
    pub(super) number: String,
    pub(super) delivery: String,
    pub(super) contact: String,
    pub(super) list: String,
    pub(super) keyword: String,
    pub(super) campaign: String,
    pub(super) key: String,
    pub(super) template: String,
    pub(super) sender_name: String,
    pub(super) link: String,
    pub(super) event: String,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let rig = Rig::new().await;
        let account = rig.account(1_000).await;
        let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
        let webhook = account.live.post("/webhooks", hook).await.created();
        let sent = account.send("07700 900123", "x").await;
        rig.pass(1).await;
        let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
        let person = json!({ "phone": "07700 900123" });
        let contact = account.live.post("/contacts", person).await.created();
        let list = account.live.post("/lists", json!({ "name": "Regulars" })).await.created();
        let keyword = json!({ "keyword": "pizza", "reply": "Yum" });
        let keyword = account.live.post("/keywords", keyword).await.created();
        let spring = json!({ "name": "Spring", "body": "x", "list_id": list["id"] });
        let campaign = account.live.post("/campaigns", spring).await.created();
        let operator = rig.operator();
        let template = json!({ "name": "Table", "body": "x" });
        let template = account.live.post("/templates", template).await.created();
        let name = account.live.post("/sender-ids", json!({ "value": "Bistro" })).await.created();
        let tracked = json!({
            "to": "07700 900123", "body": "https://example.com", "track_links": true,
            "schedule_at": "2026-12-24T00:00:00Z",
        });
        account.live.post("/messages", tracked).await.assert(201);
        let deliveries = format!("/webhooks/{}/deliveries", id(&webhook));
        Self {
            event: id(&account.live.get("/events").await.ok()[0]),
            link: id(&account.live.get("/links").await.ok()[0]),
            message: id(&sent["messages"][0]),
            number: id(&operator.get("/numbers").await.ok()[0]),
            delivery: id(&account.live.get(&deliveries).await.ok()[0]),
            key: id(&operator.get(&format!("/accounts/{}/keys", account.id)).await.ok()[0]),
            webhook: id(&webhook),
            template: id(&template),
            sender_name: id(&name),
            contact: id(&contact),
            list: id(&list),
            keyword: id(&keyword),
            campaign: id(&campaign),
            account: account.id.to_string(),
            live: account.live,
            operator,
            rig,
        }
    }

    /// Every operation of both documents.
    pub(super) fn operations(&self) -> Vec<Operation<'_>> {
        let documents = self.rig.documents();
        let both = [(&self.live, &documents.api), (&self.operator, &documents.admin)];
        let mut operations = Vec::new();
        for (client, document) in both {
            for (path, item) in document["paths"].as_object().unwrap() {
                for (method, operation) in item.as_object().unwrap() {
                    operations.push(Operation {
                        client,
                        document,
                        method: method.to_uppercase().parse().unwrap(),
                        path: self.filled(path),
                        id: operation["operationId"].as_str().unwrap().to_owned(),
                        item: operation.clone(),
                    });
                }
            }
        }
        operations
    }

    pub(super) fn filled(&self, path: &str) -> String {
        let id = match path.split('/').nth(1).unwrap() {
            "campaigns" => &self.campaign,
            "contacts" => &self.contact,
            "events" => &self.event,
            "links" => &self.link,
            "keywords" => &self.keyword,
            "lists" => &self.list,
            "messages" => &self.message,
            "webhooks" => &self.webhook,
            "accounts" => &self.account,
            "numbers" => &self.number,
            "sender-ids" => &self.sender_name,
            "templates" => &self.template,
            _ => "",
        };
        let path = path.replace("{id}", id).replace("{delivery_id}", &self.delivery);
        let path = path.replace("{key_id}", &self.key).replace("{phone}", "07700900123");
        let path = path.replace("{contact_id}", &self.contact).replace("{name}", "simulator");
        assert!(!path.contains('{'), "say what stands for the parameter of {path}");
        path
    }

    /// Everything that a request could have changed.
    pub(super) async fn state(&self) -> Vec<Value> {
        let mut state = Vec::new();
        for path in [
            "/messages?limit=100",
            "/webhooks",
            "/balance",
            "/campaigns?limit=100",
            "/contacts",
            "/links",
            "/conversations",
            "/keywords",
            "/lists",
            "/numbers",
            "/stats/summary",
            "/events?limit=100",
            "/opt-outs?limit=100",
            "/sender-ids",
            "/templates?limit=100",
        ] {
            state.push(self.live.get(path).await.ok());
        }
        let of_account = format!("/accounts/{}", self.account);
        let (keys, ledger) = (format!("{of_account}/keys"), format!("{of_account}/ledger"));
        for path in ["/accounts", "/numbers", "/unrouted", &keys, &ledger] {
            state.push(self.operator.get(path).await.ok());
        }
        state
    }
}

impl Operation<'_> {
    pub(super) fn takes_body(&self) -> bool {
        self.item.get("requestBody").is_some()
    }

    /// Whether its body may not be left out.
    pub(super) fn needs_body(&self) -> bool {
        self.item["requestBody"]["required"] == true
    }

    pub(super) fn body_schema(&self) -> &Value {
        let schema = &self.item["requestBody"]["content"]["application/json"]["schema"];
        let name = schema["$ref"].as_str().expect("bodies have names");
        self.document.pointer(name.strip_prefix('#').unwrap()).unwrap()
    }

    pub(super) async fn send(&self, body: impl Into<Vec<u8>>) -> Reply {
        self.client.ask(self.method.clone(), &self.path).bytes(body).send().await
    }

    /// A body that is right.
    pub(super) fn good_body(&self) -> Map<String, Value> {
        let body = match self.id.as_str() {
            "message_send" | "message_quote" => json!({ "to": "07700 900123", "body": "x" }),
            "campaign_create" => {
                let list = format!("lst_{}", "0".repeat(26));
                json!({ "name": "Spring", "body": "x", "list_id": list })
            }
            "contact_create" => json!({ "phone": "07700 900124" }),
            "contact_import" => json!({ "rows": [{ "phone": "07700 900124" }] }),
            "keyword_create" => json!({ "keyword": "pasta" }),
            "list_create" => json!({ "name": "Regulars" }),
            "webhook_create" => {
                json!({ "url": "https://example.com/hook", "events": ["message.sent"] })
            }
            "account_update"
            | "campaign_update"
            | "campaign_send"
            | "contact_update"
            | "keyword_update"
            | "list_add"
            | "list_update"
            | "webhook_update"
            | "template_update"
            | "sender_name_approve"
            | "sender_name_reject" => json!({}),
            "webhook_replay" => json!({ "from": "2026-11-22T12:00:00Z" }),
            "template_create" => json!({ "name": "Table", "body": "x" }),
            "sender_name_create" => json!({ "value": "Till" }),
            "opt_out_import" => json!({ "rows": [{ "phone": "07700 900125" }] }),
            "opt_out_create" => json!({ "phone": "07700 900125" }),
            "account_create" => json!({ "name": "Bookings" }),
            "api_key_create" => json!({ "kind": "live" }),
            "credits_adjust" => json!({ "amount": 1 }),
            "number_create" => json!({ "phone_number": "07700 900002" }),
            "inbound_take" => {
                json!({ "from": "07700 900123", "to": "07700 900000", "body": "x" })
            }
            "clock_advance" => json!({ "advance_seconds": 1 }),
            "receipt_record" => {
                json!({ "message_id": format!("msg_{}", "0".repeat(26)), "status": "delivered" })
            }
            other => panic!("say what a good body of {other} is"),
        };
        body.as_object().unwrap().clone()
    }
}
