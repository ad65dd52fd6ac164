//! A server whose machine's clock is set by an hour while it runs. Linux only: it needs
//! libfaketime, which `scripts/test` installs.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::future::join_all;
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};

use crate::process::{Process, TOKEN};
use crate::server_postgres::{account, cluster, data, until_status};

/// The burst of a key. It takes 20 s to come back at 20 requests a second, so a step that fills it
/// shows even on a slow machine.
const BURST: usize = 400;

/// The clock of a server's machine. The time that has passed is left alone.
struct Wall {
    file: PathBuf,
}

impl Wall {
    fn right(name: &str) -> Self {
        let name = format!("sms-clock-{}-{name}", std::process::id());
        let wall = Self { file: std::env::temp_dir().join(name) };
        wall.set(0);
        wall
    }

    /// Sets it so many hours ahead of the clock of the tests.
    fn set(&self, hours: i64) {
        let ahead = sms_test_clock::seconds_ahead() + hours * 3_600;
        fs::write(&self.file, format!("{ahead:+}")).unwrap();
    }

    fn server(&self, database: Option<&str>) -> Process {
        let (library, burst) = (sms_test_clock::library(), BURST.to_string());
        let mut settings = vec![
            ("LD_PRELOAD", library.as_str()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().unwrap()),
            ("FAKETIME_NO_CACHE", "1"),
            ("DONT_FAKE_MONOTONIC", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("SMS_ADMIN_TOKEN", TOKEN),
            ("SMS_DEMO", "false"),
            ("SMS_RATE_PER_SECOND", "20"),
            ("SMS_RATE_BURST", burst.as_str()),
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

/// How many requests a key may make at once: several at a time, until one is refused.
async fn admitted(server: &Process, key: &str) -> usize {
    let mut admitted = 0;
    loop {
        let asking = (0..20).map(|_| server.call("GET", "/api/v1/balance", key, &Value::Null));
        let answers = join_all(asking).await;
        let allowed = answers.iter().filter(|answer| answer.status == 200).count();
        admitted += allowed;
        assert!(admitted < 10 * BURST, "no request is refused");
        for refused in answers.iter().filter(|answer| answer.status != 200) {
            let wait = refused.header("retry-after").expect("says when");
            assert!(wait.parse::<u32>().unwrap() <= 2, "{wait}");
        }
        if allowed < answers.len() {
            return admitted;
        }
    }
}

async fn steps_change_nothing(wall: &Wall, server: &Process) {
    let keys = account(server, 100).await;
    let later = json!({
        "to": "07700 900123", "body": "Tomorrow", "schedule_at": in_half_an_hour()
    });
    let later = sent(server, &keys, &later).await;
    let now = json!({ "to": "07700 900123", "body": "Now" });
    for hours in [1, -1, 0] {
        wall.set(hours);
        let id = sent(server, &keys, &now).await;
        until_status(server, &keys, &id, "delivered").await;
        assert_eq!(status(server, &keys, &later).await, "scheduled", "{hours} h");
    }
    // The bucket is neither filled again nor blocked by a step.
    admitted(server, &keys).await;
    for hours in [1, -1] {
        wall.set(hours);
        let more = admitted(server, &keys).await;
        assert!(more < BURST / 2, "{more} more after {hours} h");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_machines_clock_by_an_hour_moves_no_schedule_and_no_limit_in_memory() {
    let wall = Wall::right("memory");
    let server = wall.server(None);
    steps_change_nothing(&wall, &server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_machines_clock_by_an_hour_moves_no_schedule_and_no_limit_on_postgres() {
    let database = cluster().create(None).await;
    let wall = Wall::right("postgres");
    let server = wall.server(Some(&cluster().url(&database)));
    steps_change_nothing(&wall, &server).await;
    drop(server);
    cluster().drop(&database).await;
}
