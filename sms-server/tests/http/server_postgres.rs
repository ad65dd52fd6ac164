//! The server on PostgreSQL, as its operators run it: started, killed, started again, and two of
//! them on one database.

use std::sync::OnceLock;

use serde_json::{Value, json};
use sms_test_postgres::Cluster;

use crate::process::{Process, TOKEN, run};
use crate::socket::Answer;

pub(crate) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

pub(crate) fn data(answer: &Answer) -> Value {
    let mut json: Value = serde_json::from_str(&answer.body).unwrap();
    json["data"].take()
}

pub(crate) fn start(url: &str) -> Process {
    let settings = [("DATABASE_URL", url), ("SMS_ADMIN_TOKEN", TOKEN), ("SMS_DEMO", "false")];
    Process::start(&settings)
}

/// A server without a rate limit: at the usual limit a key's burst is spent when servers come and
/// go.
pub(crate) fn start_unlimited(url: &str) -> Process {
    let settings = [
        ("DATABASE_URL", url),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_RATE_PER_SECOND", "100000"),
        ("SMS_RATE_BURST", "100000"),
    ];
    Process::start(&settings)
}

/// Makes an account with credits, a number and a live key.
pub(crate) async fn account(server: &Process, credits: u32) -> String {
    let account = json!({ "name": "Bistro", "status": "active", "credits": credits });
    let made = server.call("POST", "/admin/v1/accounts", TOKEN, &account).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = data(&made)["id"].as_str().unwrap().to_owned();
    let number = json!({ "phone_number": "07700 900000" });
    assert_eq!(server.call("POST", "/admin/v1/numbers", TOKEN, &number).await.status, 201);
    let keys = format!("/admin/v1/accounts/{id}/keys");
    let key = server.call("POST", &keys, TOKEN, &json!({ "kind": "live" })).await;
    data(&key)["key"].as_str().unwrap().to_owned()
}

/// Polls until the message has this status.
pub(crate) async fn until_status(server: &Process, key: &str, id: &str, status: &str) -> Value {
    let path = format!("/api/v1/messages/{id}");
    let waiting = async {
        loop {
            let message = data(&server.call("GET", &path, key, &Value::Null).await);
            if message["status"] == status {
                return message;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    // A server that was killed may have had it: its lease of 30 s has to run out first.
    let bound = std::time::Duration::from_mins(1);
    tokio::time::timeout(bound, waiting).await.expect("took too long")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accepted_messages_survive_a_kill_and_are_sent() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let first = start_unlimited(&url);
    let key = account(&first, 100).await;
    let body = json!({ "to": "07700 900123", "body": "Hello" });
    let sent = first.call("POST", "/api/v1/messages", &key, &body).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let id = data(&sent)["messages"][0]["id"].as_str().unwrap().to_owned();
    first.signal("-KILL");
    drop(first);

    let second = start_unlimited(&url);
    let message = until_status(&second, &key, &id, "delivered").await;
    let mut events: Vec<&Value> =
        message["events"].as_array().unwrap().iter().map(|event| &event["status"]).collect();
    // The first server may have held it: then it is told that the second one took it over.
    events.dedup();
    assert_eq!(events, ["queued", "sending", "sent", "delivered"]);
    let balance = data(&second.call("GET", "/api/v1/balance", &key, &Value::Null).await);
    assert_eq!(balance["credits"], 99);
    drop(second);
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_a_database_and_a_key_made_by_one_serves_at_the_other() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let one = start_unlimited(&url);
    let other = start_unlimited(&url);
    let key = account(&one, 100).await;
    let body = json!({ "to": "07700 900123, 07700 900124", "body": "Hello" });
    let sent = other.call("POST", "/api/v1/messages", &key, &body).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    for message in data(&sent)["messages"].as_array().unwrap() {
        until_status(&one, &key, message["id"].as_str().unwrap(), "delivered").await;
    }
    drop((one, other));
    cluster().drop(&database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_migrate_command_can_be_repeated() {
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    for _ in 0..2 {
        let output = run(&["migrate"], &[("DATABASE_URL", &url)]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}");
    }
    let output = run(&["migrate"], &[]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("DATABASE_URL"));
    cluster().drop(&database).await;
}

#[test]
fn a_database_that_does_not_answer_is_reported_without_its_password() {
    let url = "postgres://user:password@127.0.0.1:1/sms";
    let output = run(&[], &[("DATABASE_URL", url), ("SMS_ADMIN_TOKEN", TOKEN)]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("DATABASE_URL cannot be used"), "{told}");
    assert!(!told.contains("password"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debug_lines_of_other_crates_are_never_logged() {
    let cluster = cluster();
    let database = cluster.create(None).await;
    // sqlx logs a misspelt parameter of a URL with its value, which may be the password.
    let url = format!("{}?pasword=canary-of-the-address", cluster.url(&database));
    let server = Process::start(&[
        ("DATABASE_URL", &url),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_LOG", "trace,sqlx=trace,sqlx::query=trace,sqlx_postgres=trace,h2=trace"),
    ]);
    account(&server, 100).await;
    server.signal("-TERM");
    let log = server.log_until(": stopped");
    assert!(log.iter().any(|line| line.contains(" INFO sms_http::")), "{log:#?}");
    for line in &log {
        let is_ours = line.contains(" sms_");
        assert!(is_ours || !line.contains("DEBUG") && !line.contains("TRACE"), "{line}");
        assert!(!line.contains("canary"), "{line}");
    }
    assert!(server.ended().success());
    cluster.drop(&database).await;
}
