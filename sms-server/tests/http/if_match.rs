//! `ETag` and `If-Match`: a change is made on the version that the caller read, or not at all.

use poem::http::Method;
use serde_json::{Value, json};

use crate::rig::{Account, Ask, Client, Reply, Rig};

/// A resource that has versions.
struct Row {
    /// What the message of a 412 calls it.
    kind: &'static str,
    client: Client,
    path: String,
    /// The tag that its creation answered.
    made: String,
    /// A change that makes another version of it.
    change: Value,
    /// A later change.
    later: Value,
    /// Whether it can be deleted.
    removable: bool,
    /// Whether it can be read alone.
    readable: bool,
}

fn tag(reply: &Reply) -> String {
    let tag = reply.header("etag").to_owned();
    assert!(tag.len() == 34 && tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    tag
}

/// One resource of each kind, made through the API.
async fn rows(rig: &Rig, account: &Account) -> Vec<Row> {
    let live = &account.live;
    let list = live.post("/lists", json!({ "name": "VIP" })).await;
    let list_id = list.json["data"]["id"].clone();
    let campaign = json!({ "name": "Spring", "body": "Hello", "list_id": list_id });
    let hook = json!({ "url": "https://example.com/hook", "events": ["message.sent"] });
    let contact = live.post("/contacts", json!({ "phone": "07700 900123" })).await;
    let template = live.post("/templates", json!({ "name": "Table", "body": "x" })).await;
    let keyword = live.post("/keywords", json!({ "keyword": "JOIN" })).await;
    let campaign = live.post("/campaigns", campaign).await;
    let webhook = live.post("/webhooks", hook).await;
    let operator = rig.operator();
    let own = operator.post("/accounts", json!({ "name": "Bistro" })).await;
    let row = |kind, path: &str, made: Reply, field: &str, values: [&str; 2]| Row {
        kind,
        client: if kind == "account" { operator.clone() } else { live.clone() },
        path: format!("{path}/{}", made.json["data"]["id"].as_str().unwrap()),
        made: tag(&made.assert(201)),
        change: json!({ field: values[0] }),
        later: json!({ field: values[1] }),
        removable: kind != "account",
        readable: kind != "webhook",
    };
    vec![
        row("campaign", "/campaigns", campaign, "body", ["Hi", "Hey"]),
        row("contact", "/contacts", contact, "notes", ["regular", "VIP"]),
        row("template", "/templates", template, "name", ["Tisch", "Till"]),
        row("keyword", "/keywords", keyword, "reply", ["Yum", "Thanks"]),
        row("webhook", "/webhooks", webhook, "description", ["till", "kitchen"]),
        row("account", "/accounts", own, "name", ["Brasserie", "Trattoria"]),
        row("list", "/lists", list, "name", ["Regulars", "Friends"]),
    ]
}

impl Row {
    async fn patch(&self, if_match: &str, body: &Value) -> Reply {
        self.ask(Method::PATCH, if_match).json(body).send().await
    }

    async fn delete(&self, if_match: &str) -> Reply {
        self.ask(Method::DELETE, if_match).send().await
    }

    fn ask(&self, method: Method, if_match: &str) -> Ask {
        self.client.ask(method, &self.path).header("if-match", if_match)
    }

    /// That the answer says what changed, and what to do.
    fn changed(&self, reply: Reply) {
        let reply = reply.assert(412);
        let (kind, error) = (self.kind, &reply.json["error"]);
        assert_eq!(error["code"], "precondition_failed");
        let message =
            format!("this {kind} changed after you read it: read it again and repeat the change");
        assert_eq!(error["message"], message);
        assert_eq!(error["details"], json!({ "resource": kind }));
    }

    /// The resource as it is now, with its tag.
    async fn read(&self) -> Option<(String, Value)> {
        if !self.readable {
            return None;
        }
        let reply = self.client.get(&self.path).await.assert(200);
        Some((tag(&reply), reply.json["data"].clone()))
    }
}

#[tokio::test]
async fn a_change_of_every_resource_is_made_on_the_version_that_was_read_or_not_at_all() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for row in rows(&rig, &account).await {
        if let Some((read, _)) = row.read().await {
            assert_eq!(read, row.made, "{}: it is as it was made", row.kind);
        }
        let first = tag(&row.patch(&row.made, &row.change).await.assert(200));
        assert_ne!(first, row.made, "{}", row.kind);
        let before = row.read().await;
        let weak = format!("W/{first}");
        let strangers = format!("{}, {weak}, \"x\"", row.made);
        for other in [&row.made, &weak, &strangers, "\"\""] {
            row.changed(row.patch(other, &row.later).await);
        }
        assert_eq!(row.read().await, before, "{}: nothing was written", row.kind);
        let either = format!("{}, {first}", row.made);
        let second = tag(&row.patch(&either, &row.later).await.assert(200));
        assert_ne!(second, first, "{}", row.kind);
        let again = tag(&row.patch("*", &row.change).await.assert(200));
        assert_eq!(again, first, "{}: equal values have equal tags", row.kind);
        let unasked = row.client.patch(&row.path, row.later.clone()).await.assert(200);
        assert_eq!(tag(&unasked), second, "{}", row.kind);
        if row.removable {
            row.changed(row.delete(&first).await);
            assert_eq!(
                row.read().await.map(|(tag, _)| tag),
                row.readable.then_some(second.clone())
            );
            row.delete(&second).await.assert(204);
            for gone in ["*", &second] {
                row.patch(gone, &row.change).await.refused(404, "not_found");
                row.delete(gone).await.refused(404, "not_found");
            }
        }
    }
}

#[tokio::test]
async fn a_header_that_is_no_list_of_tags_is_refused_with_its_name() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    for row in rows(&rig, &account).await {
        for wrong in ["abc", "\"abc", "\"a\" \"b\"", "*, \"a\""] {
            row.patch(wrong, &row.change).await.mistake("If-Match", "invalid_format");
            if row.removable {
                row.delete(wrong).await.mistake("If-Match", "invalid_format");
            }
        }
        row.patch("", &row.change).await.mistake("If-Match", "empty");
    }
}

#[tokio::test]
async fn what_happens_to_a_resource_by_itself_is_no_new_version() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let live = &account.live;
    let list = live.post("/lists", json!({ "name": "VIP" })).await.assert(201);
    let path = format!("/lists/{}", list.json["data"]["id"].as_str().unwrap());
    live.post(&format!("{path}/contacts"), json!({ "phones": ["07700 900123"] })).await.assert(200);
    let after = live.get(&path).await.assert(200);
    assert_eq!(after.json["data"]["contact_count"], 1);
    assert_eq!(tag(&after), tag(&list));
    // A launch is no edit, but a draft is not what it was any more.
    let campaign = json!({ "name": "Spring", "body": "Hello", "list_id": list.json["data"]["id"] });
    let draft = live.post("/campaigns", campaign).await.assert(201);
    let path = format!("/campaigns/{}", draft.json["data"]["id"].as_str().unwrap());
    live.call(&format!("{path}/send")).await.assert(200);
    let late = live.ask(Method::PATCH, &path).header("if-match", &tag(&draft));
    late.json(&json!({ "name": "x" })).send().await.refused(412, "precondition_failed");
}
