//! The server on its file store, as its operators run it: what it keeps and where, killed and
//! started again, backed up, restored, checked, damaged.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::process::{Process, TOKEN, ask, run};
use crate::server_postgres::{data, until_status};

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sms-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs a command on the folder: what it printed, or why it failed.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = run(arguments, &[("SMS_DATA_DIR", self.path())]);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn send(server: &Process, key: &str, body: &str) -> String {
    let request = json!({ "to": "07700 900123", "body": body });
    let sent = server.call("POST", "/api/v1/messages", key, &request).await;
    assert_eq!(sent.status, 201, "{}", sent.body);
    data(&sent)["messages"][0]["id"].as_str().unwrap().to_owned()
}

async fn message(server: &Process, key: &str, id: &str) -> Value {
    data(&server.call("GET", &format!("/api/v1/messages/{id}"), key, &Value::Null).await)
}

#[tokio::test]
async fn what_was_answered_survives_a_kill_and_leaves_after_the_next_start() {
    let folder = Folder::new("killed");
    let settings = [("SMS_DATA_DIR", folder.path())];
    let server = Process::start(&settings);
    let key = server.said("Live key");
    let delivered = send(&server, &key, "before").await;
    until_status(&server, &key, &delivered, "delivered").await;
    let waiting = send(&server, &key, "just before").await;
    server.signal("-KILL");
    let _ = server.ended();

    let server = Process::start_again(&settings);
    assert_eq!(message(&server, &key, &delivered).await["status"], "delivered");
    let later = until_status(&server, &key, &waiting, "delivered").await;
    assert_eq!(later["body"], "just before");
    let balance = data(&server.call("GET", "/api/v1/balance", &key, &Value::Null).await);
    assert_eq!(balance["credits"], 998, "both were charged once");
    let from = message(&server, &key, &send(&server, &key, "after").await).await;
    assert_eq!(from["from"], "+447700900001", "the demo's number stays online");
}

#[tokio::test]
async fn the_demo_and_the_token_are_made_once_and_shown_only_then() {
    let folder = Folder::new("made-once");
    let settings = [("SMS_DATA_DIR", folder.path())];
    let server = Process::start(&settings);
    let database = folder.file("sms.db");
    assert!(server.banner.contains(database.to_str().unwrap()), "{}", server.banner);
    let token = fs::read_to_string(folder.file("admin-token")).unwrap().trim().to_owned();
    assert!(!server.banner.contains(&token), "the banner names the file, not the token");
    assert!(server.banner.contains(folder.file("admin-token").to_str().unwrap()));
    server.signal("-TERM");
    assert_eq!(server.ended().code(), Some(0));

    let server = Process::start_again(&settings);
    assert!(!server.banner.contains("cc_live_"), "{}", server.banner);
    let accounts = ask(server.addr(), "GET", "/admin/v1/accounts", Some(&token), "").await;
    assert_eq!(data(&accounts).as_array().unwrap().len(), 1);
    assert_eq!(fs::read_to_string(folder.file("admin-token")).unwrap().trim(), token);
}

#[tokio::test]
async fn only_their_owner_can_read_the_folder_and_its_files() {
    let folder = Folder::new("modes");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    send(&server, &server.said("Live key"), "x").await;
    assert_eq!(mode(&folder.0), 0o700);
    for name in ["sms.db", "sms.db-wal", "admin-token"] {
        assert_eq!(mode(&folder.file(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_second_server_on_one_folder_is_refused() {
    let folder = Folder::new("second");
    let first = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    let second = run(&[], &[("SMS_DATA_DIR", folder.path()), ("SMS_ADDR", "127.0.0.1:0")]);
    assert_eq!(second.status.code(), Some(1));
    let told = String::from_utf8(second.stderr).unwrap();
    assert!(told.contains("is in use by another program"), "{told}");
    assert_eq!(ask(first.addr(), "GET", "/readyz", None, "").await.status, 200);
}

#[tokio::test]
async fn commands_read_the_token_that_the_server_keeps() {
    let folder = Folder::new("token");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    let addr = server.addr().to_string();
    let with = |settings: &[(&str, &str)]| run(&["account", "list"], settings);
    let listed = with(&[("SMS_DATA_DIR", folder.path()), ("SMS_ADDR", &addr)]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    assert!(String::from_utf8(listed.stdout).unwrap().contains("\"Demo\""));
    let elsewhere = Folder::new("token-elsewhere");
    let refused = with(&[("SMS_DATA_DIR", elsewhere.path()), ("SMS_ADDR", &addr)]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("SMS_ADMIN_TOKEN is missing"), "{told}");
}

#[tokio::test]
async fn a_backup_of_a_serving_server_is_whole_and_can_be_restored_elsewhere() {
    let folder = Folder::new("backup");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path()), ("SMS_ADMIN_TOKEN", TOKEN)]);
    let key = server.said("Live key");
    let kept = send(&server, &key, "kept").await;
    let copy = folder.file("copy.db");
    let copy_name = copy.to_str().unwrap();
    folder.run(&["backup", copy_name]).unwrap();
    assert_eq!(mode(&copy), 0o600);
    let missed = send(&server, &key, "missed").await;
    let refused = folder.run(&["backup", copy_name]).unwrap_err();
    assert!(refused.contains("exists already"), "{refused}");
    assert!(folder.run(&["check"]).unwrap().contains("is in order"));

    let other = Folder::new("restored");
    let told = other.run(&["restore", copy_name]).unwrap();
    assert!(told.contains("is restored from"), "{told}");
    let refused = other.run(&["restore", copy_name]).unwrap_err();
    assert!(refused.contains("exists already"), "{refused}");
    let settings = [("SMS_DATA_DIR", other.path()), ("SMS_ADMIN_TOKEN", TOKEN)];
    let restored = Process::start_again(&settings);
    assert_eq!(message(&restored, &key, &kept).await["body"], "kept");
    let path = format!("/api/v1/messages/{missed}");
    assert_eq!(restored.call("GET", &path, &key, &Value::Null).await.status, 404);
}

#[tokio::test]
async fn restoring_into_a_folder_in_use_is_refused() {
    let folder = Folder::new("restore-in-use");
    let _server = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    let copy = folder.file("copy.db");
    folder.run(&["backup", copy.to_str().unwrap()]).unwrap();
    let refused = folder.run(&["restore", copy.to_str().unwrap()]).unwrap_err();
    assert!(refused.contains("is in use by another program"), "{refused}");
}

#[tokio::test]
async fn a_corrupted_page_is_named_and_a_damaged_backup_is_refused() {
    let folder = Folder::new("corrupted");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    let key = server.said("Live key");
    for _ in 0..20 {
        send(&server, &key, &"a long body ".repeat(100)).await;
    }
    let copy = folder.file("copy.db");
    folder.run(&["backup", copy.to_str().unwrap()]).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&copy).unwrap();
    let pages = file.metadata().unwrap().len() / 4_096;
    for page in 2..pages.min(30) {
        file.seek(SeekFrom::Start(page * 4_096)).unwrap();
        file.write_all(&[0xA5; 512]).unwrap();
    }
    drop(file);
    let other = Folder::new("corrupted-restore");
    let refused = other.run(&["restore", copy.to_str().unwrap()]).unwrap_err();
    assert!(refused.contains("damaged"), "{refused}");

    fs::create_dir_all(&other.0).unwrap();
    fs::copy(&copy, other.file("sms.db")).unwrap();
    let found = other.run(&["check"]).unwrap_err();
    assert!(found.contains("damaged") || found.contains("not in order"), "{found}");
    let started = run(&[], &[("SMS_DATA_DIR", other.path()), ("SMS_ADDR", "127.0.0.1:0")]);
    let told = String::from_utf8(started.stderr).unwrap();
    assert_eq!(started.status.code(), Some(1), "{told}");
    assert!(told.contains("damaged") && told.contains("restore a backup"), "{told}");
}

#[test]
fn commands_on_the_file_say_what_is_wrong() {
    let folder = Folder::new("nothing");
    let missing = folder.run(&["backup", "/tmp/never-written.db"]).unwrap_err();
    assert!(missing.contains("does not exist"), "{missing}");
    let missing = folder.run(&["check"]).unwrap_err();
    assert!(missing.contains("does not exist"), "{missing}");
    let refused = run(&["check"], &[("SMS_STORE", "memory")]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("for the file store"), "{told}");
}
