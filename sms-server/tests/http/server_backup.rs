//! Backups and restores as operators make them, and `/readyz` when the file is moved.

use std::fs;
use std::path::Path;

use crate::fresh::Folder;
use crate::process::{Process, TOKEN, ask, run};

/// Runs a command on a folder: what it printed, or why it failed.
fn run_on(folder: &Folder, arguments: &[&str]) -> Result<String, String> {
    let output = run(arguments, &[("SMS_DATA_DIR", folder.path())]);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[tokio::test]
async fn what_is_no_whole_backup_is_refused_and_the_folder_stays_empty() {
    let folder = Folder::new("backup-whole");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path()), ("SMS_ADMIN_TOKEN", TOKEN)]);
    let place = Path::new(folder.path());
    let good = place.join("nightly.db");
    run_on(&folder, &["backup", good.to_str().unwrap()]).unwrap();
    drop(server);
    let whole = fs::read(&good).unwrap();
    let bad = place.join("bad.db");
    let half = &whole[..whole.len() / 2];
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for (bytes, reason) in [
        (&[][..], "is no whole backup"),
        (half, "is no whole backup"),
        (b"something else", "is no whole backup"),
        (&changed, "is damaged"),
    ] {
        fs::write(&bad, bytes).unwrap();
        let other = Folder::new("backup-refused");
        let refused = run_on(&other, &["restore", bad.to_str().unwrap()]).unwrap_err();
        assert!(refused.contains(reason) && refused.contains("use another backup"), "{refused}");
        assert!(!Path::new(other.path()).join("sms.db").exists());
        assert_eq!(fs::read(&bad).unwrap(), bytes, "it stays as it is");
    }
}

#[tokio::test]
async fn a_server_whose_file_was_moved_is_not_ready_and_says_why() {
    let folder = Folder::new("moved-file");
    let server = Process::start(&[("SMS_DATA_DIR", folder.path())]);
    let ready = || ask(server.addr(), "GET", "/readyz", None, "");
    assert_eq!(ready().await.status, 200);
    let elsewhere = Folder::new("moved-file-away");
    fs::rename(folder.path(), elsewhere.path()).unwrap();
    let refused = ready().await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("was moved, replaced or deleted"), "{}", refused.body);
    assert!(!refused.body.contains(folder.path()), "strangers see no path: {}", refused.body);
    let request = r#"{ "to": "07700 900123", "body": "x" }"#;
    let key = server.said("Live key");
    let sent = ask(server.addr(), "POST", "/api/v1/messages", Some(&key), request).await;
    assert_eq!(sent.status, 503, "what the next start would not find is not accepted");
    fs::rename(elsewhere.path(), folder.path()).unwrap();
    assert_eq!(ready().await.status, 200);
}
