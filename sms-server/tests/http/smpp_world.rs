//! A server that submits messages to an SMSC, with an account that sends them.

use serde_json::{Value, json};
use sms_test_smsc::{PASSWORD, Smsc, until};

use crate::process::{Process, TOKEN, ask, run};
use crate::server_postgres::{account, cluster, data};

/// The number that sends messages: shared, and on the first route.
pub(crate) const NUMBER: &str = "447700900000";

/// Runs scenarios on memory and on PostgreSQL.
macro_rules! on_both_stores {
    ($($scenario:ident)*) => {
        mod on_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $scenario() {
                super::$scenario(None).await;
            })*
        }

        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $scenario() {
                let database = crate::smpp_world::Database::new().await;
                super::$scenario(Some(&database.url)).await;
                database.drop().await;
            })*
        }
    };
}
pub(crate) use on_both_stores;

/// A database of a test's own.
pub(crate) struct Database {
    name: String,
    pub url: String,
}

impl Database {
    pub(crate) async fn new() -> Self {
        let name = cluster().create(None).await;
        let url = cluster().url(&name);
        Self { name, url }
    }

    pub(crate) async fn drop(self) {
        cluster().drop(&self.name).await;
    }
}

/// A server whose route `main` leads to this SMSC, with more settings.
pub(crate) fn start(store: Option<&str>, smsc: &Smsc, settings: &[(&str, &str)]) -> Process {
    let main = smsc.url();
    let mut all = vec![
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_RATE_PER_SECOND", "100000"),
        ("SMS_RATE_BURST", "100000"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
        ("SMS_ROUTES", "main"),
        ("SMS_ROUTE_MAIN_URL", main.as_str()),
        ("SMS_ROUTE_MAIN_PASSWORD", PASSWORD),
    ];
    all.extend(store.map(|url| ("DATABASE_URL", url)));
    all.retain(|(name, _)| settings.iter().all(|(given, _)| given != name));
    all.extend(settings);
    Process::start(&all)
}

/// A server and an account's live key.
pub(crate) struct World {
    pub server: Process,
    pub key: String,
}

impl World {
    pub(crate) async fn new(store: Option<&str>, smsc: &Smsc, more: &[(&str, &str)]) -> Self {
        Self::of(start(store, smsc, more)).await
    }

    /// With an account made at this server.
    pub(crate) async fn of(server: Process) -> Self {
        let key = account(&server, 100).await;
        Self { server, key }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let path = format!("/api/v1{path}");
        data(&self.server.call("GET", &path, &self.key, &Value::Null).await)
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let made = self.server.call("POST", &format!("/api/v1{path}"), &self.key, body).await;
        assert_eq!(made.status, 201, "{path}: {}", made.body);
        data(&made)
    }

    pub(crate) async fn operator(&self, path: &str) -> Value {
        let path = format!("/admin/v1{path}");
        data(&self.server.call("GET", &path, TOKEN, &Value::Null).await)
    }

    /// Sends one message to each number; their ids.
    pub(crate) async fn send(&self, to: &str, body: &str) -> Vec<String> {
        let sent = self.post("/messages", &json!({ "to": to, "body": body })).await;
        let messages = sent["messages"].as_array().unwrap().iter();
        messages.map(|message| message["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends one message to 07700 900123; its id.
    pub(crate) async fn send_one(&self, body: &str) -> String {
        self.send("07700 900123", body).await.remove(0)
    }

    pub(crate) async fn message(&self, id: &str) -> Value {
        self.get(&format!("/messages/{id}")).await
    }

    /// The message as soon as it has this status.
    pub(crate) async fn until(&self, id: &str, status: &str) -> Value {
        let look = async || Some(self.message(id).await).filter(|text| text["status"] == status);
        until(&format!("{id} to be {status}"), look).await
    }

    /// What `/metrics` says of this name and these labels; 0 for what was never counted.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let page = ask(self.server.addr(), "GET", "/metrics", Some(TOKEN), "").await.body;
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }

    /// What `sms-server routes` prints of the route of this place.
    pub(crate) fn route(&self, place: usize) -> Value {
        let addr = self.server.addr().to_string();
        let output = run(&["routes"], &[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADDR", &addr)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut routes: Value = serde_json::from_slice(&output.stdout).unwrap();
        routes[place].take()
    }

    /// Waits until the route at this position has this state.
    pub(crate) async fn until_route(&self, place: usize, state: &str) -> Value {
        let look = async || Some(self.route(place)).filter(|route| route["state"] == state);
        until(&format!("route {place} to be {state}"), look).await
    }
}

/// The statuses that a message went through.
pub(crate) fn history(message: &Value) -> Vec<&str> {
    let events = message["events"].as_array().unwrap().iter();
    events.map(|event| event["status"].as_str().unwrap()).collect()
}

/// What is said of it besides.
pub(crate) fn details(message: &Value) -> Vec<&str> {
    let events = message["events"].as_array().unwrap().iter();
    events.filter_map(|event| event["detail"].as_str()).collect()
}
