//! Webhook secrets in the database: sealed with `SMS_SECRET_KEY`, opened to sign, sealed again when
//! the key is rotated.

use poem::http::HeaderMap;
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::process::{Process, TOKEN, run};
use crate::server::receiver;
use crate::server_postgres::{account, cluster, data};
use crate::socket::{Server, bounded};

// 32 times `A`, `B` and `C`.
pub(crate) const FIRST: &str = "first:QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
const SECOND: &str = "second:QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=";
const NOT_FIRST: &str = "first:Q0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0M=";

fn settings<'a>(url: &'a str, keys: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("DATABASE_URL", url),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
        ("SMS_SECRET_KEY", keys),
    ]
}

fn start(url: &str, keys: &str) -> Process {
    Process::start(&settings(url, keys))
}

/// What a server says that does not start with these keys.
fn refused(url: &str, keys: &str) -> String {
    let output = run(&[], &[&settings(url, keys)[..], &[("SMS_ADDR", "127.0.0.1:0")]].concat());
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(output.stdout.is_empty(), "no banner before it serves");
    told
}

/// The secrets of all endpoints as the database has them, the current one of each first.
async fn stored(url: &str) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let sql = "SELECT concat_ws(' ', secret, old_secret) FROM endpoint ORDER BY id";
    let rows = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    rows.iter().flat_map(|row: &String| row.split(' ').map(str::to_owned)).collect()
}

/// The ids of the keys that seal them; `-` for plain text.
async fn keys_of_stored(url: &str) -> Vec<String> {
    let of = |secret: &String| match secret.strip_prefix("sealed:") {
        Some(sealed) => sealed.split(':').next().unwrap().to_owned(),
        None => "-".to_owned(),
    };
    stored(url).await.iter().map(of).collect()
}

/// A customer with an endpoint that receives.
pub(crate) struct Customer {
    pub(crate) key: String,
    webhook: String,
    _receiver: Server,
    received: UnboundedReceiver<(HeaderMap, Vec<u8>)>,
}

impl Customer {
    /// The customer and the endpoint's secret.
    pub(crate) async fn at(server: &Process) -> (Self, String) {
        let key = account(server, 100).await;
        let (receiver, received) = receiver().await;
        let url = format!("http://{}/hook", receiver.addr);
        let hook = json!({ "url": url, "events": ["message.delivered"] });
        let made = server.call("POST", "/api/v1/webhooks", &key, &hook).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let made = data(&made);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        let webhook = format!("/api/v1/webhooks/{}", text("id"));
        (Self { key, webhook, _receiver: receiver, received }, text("secret"))
    }

    async fn rotate(&self, server: &Process) -> String {
        let body = json!({ "rotate_secret": true });
        let rotated = server.call("PATCH", &self.webhook, &self.key, &body).await;
        assert_eq!(rotated.status, 200, "{}", rotated.body);
        data(&rotated)["secret"].as_str().unwrap().to_owned()
    }

    /// A delivery and a test verify with each of these secrets.
    pub(crate) async fn verifies(&mut self, server: &Process, secrets: &[&str]) {
        let body = json!({ "to": "07700 900123", "body": "Hello" });
        let sent = server.call("POST", "/api/v1/messages", &self.key, &body).await;
        assert_eq!(sent.status, 201, "{}", sent.body);
        self.next_verifies(secrets).await;
        let test = format!("{}/test", self.webhook);
        let tested = server.call("POST", &test, &self.key, &Value::Null).await;
        assert_eq!(tested.status, 200, "{}", tested.body);
        self.next_verifies(secrets).await;
    }

    async fn next_verifies(&mut self, secrets: &[&str]) {
        let (headers, body) = bounded(self.received.recv()).await.unwrap();
        let signature = headers["x-connect-signature"].to_str().unwrap();
        let now = SystemClock.now().to_chrono().timestamp();
        for secret in secrets {
            assert_eq!(sms_webhooks::verify(secret, signature, &body, now), Ok(()));
        }
        assert_eq!(signature.matches("v1=").count(), secrets.len(), "{signature}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_secrets_are_sealed_in_the_database_and_deliveries_verify() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = start(&url, FIRST);
    let told = server.wait_for_log("webhook secrets are sealed");
    assert!(told.contains("key=first"), "{told}");
    let (mut customer, first) = Customer::at(&server).await;
    customer.verifies(&server, &[&first]).await;
    let second = customer.rotate(&server).await;
    customer.verifies(&server, &[&second, &first]).await;
    assert_eq!(keys_of_stored(&url).await, ["first", "first"]);
    drop(server);
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_in_plain_text_and_of_an_earlier_key_are_sealed_with_the_first_key_at_the_start() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = start(&url, "");
    let warning = server.wait_for_log("webhook secrets are stored in plain text");
    assert!(warning.contains("WARN") && warning.contains("SMS_SECRET_KEY"), "{warning}");
    let (mut customer, first) = Customer::at(&server).await;
    let second = customer.rotate(&server).await;
    assert_eq!(stored(&url).await, [second.as_str(), first.as_str()]);
    drop(server);
    for (keys, current) in [(FIRST, "first"), (&format!("{SECOND},{FIRST}"), "second")] {
        let server = start(&url, keys);
        let told = server.wait_for_log("webhook secrets are sealed");
        assert!(told.contains(&format!("key={current}")), "{told}");
        assert!(told.contains("endpoints=1"), "{told}");
        assert_eq!(keys_of_stored(&url).await, [current, current]);
        customer.verifies(&server, &[&second, &first]).await;
    }
    // The old key is needed no longer.
    let before = stored(&url).await;
    let server = start(&url, SECOND);
    let told = server.wait_for_log("webhook secrets are sealed");
    assert!(told.contains("endpoints=0"), "{told}");
    assert_eq!(stored(&url).await, before);
    customer.verifies(&server, &[&second, &first]).await;
    drop(server);
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_the_key_of_a_stored_secret_does_not_start() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = start(&url, FIRST);
    let (mut customer, secret) = Customer::at(&server).await;
    drop(server);
    let before = stored(&url).await;
    for keys in ["", SECOND] {
        let told = refused(&url, keys);
        let reason = "check SMS_SECRET_KEY: a webhook secret is sealed with key `first`, which is \
                      not among the keys given";
        assert!(told.contains(reason), "{told}");
    }
    for keys in [NOT_FIRST.to_owned(), format!("{SECOND},{NOT_FIRST}")] {
        let told = refused(&url, &keys);
        assert!(told.contains("key `first` does not open a webhook secret"), "{told}");
        assert!(!told.contains("Q0ND") && !told.contains("QkJC"), "{told}");
    }
    assert_eq!(stored(&url).await, before);
    let server = start(&url, &format!("{FIRST},{SECOND}"));
    customer.verifies(&server, &[&secret]).await;
    drop(server);
    cluster().drop(&database).await;
}
