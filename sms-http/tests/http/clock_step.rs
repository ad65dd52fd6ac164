//! A server whose machine's clock is set by an hour while it runs. Needs libfaketime (Debian:
//! `apt-get install faketime`), so it runs on demand:
//! `cargo test -p sms-http --test http -- --ignored clock_step`.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};

use crate::process::{Process, TOKEN};
use crate::server_postgres::{account, cluster, data, until_status};

/// Where the library is; `SMS_TEST_FAKETIME` names another place.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The clock of a server's machine. The time that has passed is left alone.
struct Wall {
    file: PathBuf,
}

impl Wall {
    fn right(name: &str) -> Self {
        let name = format!("sms-clock-{}-{name}", std::process::id());
        let wall = Self { file: std::env::temp_dir().join(name) };
        wall.set("+0");
        wall
    }

    fn set(&self, offset: &str) {
        fs::write(&self.file, offset).unwrap();
    }

    fn server(&self, database: Option<&str>) -> Process {
        let library = std::env::var("SMS_TEST_FAKETIME").unwrap_or_else(|_| LIBRARY.to_owned());
        assert!(fs::exists(&library).unwrap(), "no {library}: install libfaketime");
        let mut settings = vec![
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("SMS_ADMIN_TOKEN", TOKEN),
            ("SMS_DEMO", "false"),
        ];
        settings.extend(database.map(|url| ("DATABASE_URL", url)));
        Process::start(&settings)
    }
}

impl Drop for Wall {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn in_half_an_hour() -> String {
    let at: DateTime<Utc> = SystemClock.now().to_chrono() + TimeDelta::minutes(30);
    at.to_rfc3339()
}

async fn sent(server: &Process, key: &str, body: &Value) -> String {
    let sent = server.call("POST", "/api/v1/messages", key, body).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    data(&sent)["messages"][0]["id"].as_str().unwrap().to_owned()
}

async fn status(server: &Process, key: &str, id: &str) -> Value {
    let path = format!("/api/v1/messages/{id}");
    data(&server.call("GET", &path, key, &Value::Null).await)["status"].take()
}

/// How many of so many requests a key may make at once.
async fn admitted(server: &Process, key: &str) -> usize {
    let mut admitted = 0;
    for _ in 0..80 {
        let answer = server.call("GET", "/api/v1/balance", key, &Value::Null).await;
        if answer.status != 200 {
            let wait = answer.header("retry-after").expect("says when");
            assert!(wait.parse::<u32>().unwrap() <= 2, "{wait}");
            break;
        }
        admitted += 1;
    }
    admitted
}

async fn steps_change_nothing(wall: &Wall, server: &Process) {
    let keys = account(server, 100).await;
    let later = json!({
        "to": "07700 900123", "body": "Tomorrow", "schedule_at": in_half_an_hour()
    });
    let later = sent(server, &keys, &later).await;
    let now = json!({ "to": "07700 900123", "body": "Now" });
    for offset in ["+1h", "-1h", "+0"] {
        wall.set(offset);
        let id = sent(server, &keys, &now).await;
        until_status(server, &keys, &id, "delivered").await;
        assert_eq!(status(server, &keys, &later).await, "scheduled", "{offset}");
    }
    // The bucket is neither filled again nor blocked by a step.
    let first = admitted(server, &keys).await;
    assert!(first < 80, "the burst ends");
    for offset in ["+1h", "-1h"] {
        wall.set(offset);
        let more = admitted(server, &keys).await;
        assert!(more < 20, "{more} more after {offset}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs libfaketime"]
async fn setting_the_machines_clock_by_an_hour_moves_no_schedule_and_no_limit_in_memory() {
    let wall = Wall::right("memory");
    let server = wall.server(None);
    steps_change_nothing(&wall, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs libfaketime"]
async fn setting_the_machines_clock_by_an_hour_moves_no_schedule_and_no_limit_on_postgres() {
    let database = cluster().create(None).await;
    let wall = Wall::right("postgres");
    let server = wall.server(Some(&cluster().url(&database)));
    steps_change_nothing(&wall, &server).await;
    drop(server);
    cluster().drop(&database).await;
}
