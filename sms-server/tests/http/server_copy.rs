//! `sms-server copy` as an operator runs it: from the file to PostgreSQL and back, killed on the
//! way.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};

use crate::process::{Process, TOKEN, command, run};
use crate::secret_key::{Customer, FIRST};
use crate::server_postgres::{cluster, data, until_status};

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sms-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn address(&self) -> String {
        format!("sqlite:{}", self.path())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a copy to its end: what it printed, or why it failed.
fn copy(from: &str, to: &str) -> Result<String, String> {
    let output = run(&["copy", "--from", from, "--to", to], &[]);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Starts a copy and kills it once it has told of so many portions. Returns whether it was killed
/// before it ended.
fn killed_copy(from: &str, to: &str, portions: usize) -> bool {
    let mut command = command(&["copy", "--from", from, "--to", to], &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.map_while(Result::ok).take(portions).count();
    // Whether it still runs or not.
    let _ = child.kill();
    let ended = child.wait().unwrap();
    told == portions && !ended.success()
}

async fn list(server: &Process, key: &str, path: &str) -> Value {
    data(&server.call("GET", path, key, &Value::Null).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_grows_out_of_its_file_and_back_however_often_the_copy_is_killed() {
    let (folder, back) = (Folder::new("copied"), Folder::new("copied-back"));
    let database = cluster().create(None).await;
    let url = cluster().url(&database);
    let server = Process::start(&on("SMS_DATA_DIR", folder.path()));
    let (mut customer, secret) = Customer::at(&server).await;
    customer.verifies(&server, &[&secret]).await;
    let later = json!({ "to": "07700 900124", "body": "later", "schedule_at": in_an_hour() });
    let sent = server.call("POST", "/api/v1/messages", &customer.key, &later).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    let refused = copy(&folder.address(), &url).unwrap_err();
    assert!(refused.contains("is in use by another program"), "{refused}");
    let lists = ["/api/v1/messages", "/api/v1/balance"];
    let mut before = Vec::new();
    for path in lists {
        before.push(list(&server, &customer.key, path).await);
    }
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0));

    let killed = |kill: &usize| killed_copy(&folder.address(), &url, kill % 3 + 1);
    // On a fast machine the last runs may end before they are killed.
    let kills = (0..10).take_while(killed).count();
    assert!(kills >= 3, "killed {kills} times");
    if kills == 10 {
        let told = copy(&folder.address(), &url).unwrap();
        assert!(told.contains("verified: every table has the same rows"), "{told}");
    }
    let again = copy(&folder.address(), &url).unwrap_err();
    assert!(again.contains("already holds data"), "{again}");
    let told = copy(&url, &back.address()).unwrap();
    assert!(told.contains("verified: every table has the same rows"), "{told}");

    for settings in [on("DATABASE_URL", &url), on("SMS_DATA_DIR", back.path())] {
        let server = Process::start(&settings);
        for (path, expected) in lists.iter().zip(&before) {
            assert_eq!(&list(&server, &customer.key, path).await, expected, "{path}");
        }
        customer.verifies(&server, &[&secret]).await;
        let now = json!({ "to": "07700 900125", "body": "from the copy" });
        let sent = server.call("POST", "/api/v1/messages", &customer.key, &now).await;
        let id = data(&sent)["messages"][0]["id"].as_str().unwrap().to_owned();
        until_status(&server, &customer.key, &id, "delivered").await;
    }
    cluster().drop(&database).await;
}

/// The settings of a server on this data.
fn on<'a>(store: &'a str, place: &'a str) -> [(&'a str, &'a str); 5] {
    [
        (store, place),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_DEMO", "false"),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
        ("SMS_SECRET_KEY", FIRST),
    ]
}

fn in_an_hour() -> String {
    let at = SystemClock.now().to_chrono() + TimeDelta::hours(1);
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[test]
fn copies_that_cannot_be_made_say_why() {
    let folder = Folder::new("copy-nothing");
    let missing = copy(&folder.address(), "sqlite:/tmp/never-written.db").unwrap_err();
    assert!(missing.contains("there is no file") && missing.contains("sms.db"), "{missing}");
    let invalid = copy("sms.db", &folder.address()).unwrap_err();
    assert!(invalid.contains("write sqlite:PATH"), "{invalid}");
}
