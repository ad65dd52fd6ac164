//! The file, or its log, is moved, replaced or deleted while a program has it open.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};

use futures_executor::block_on;
use sms_core::prelude::*;
use sms_core::store::Health;
use sms_store_sqlite::{FileMoved, MaintenanceError, SqliteStore, check_file};

use super::folder::Folder;

/// Names the file that the program checks.
const FILE: &str = "SMS_FAULTS_CHECKED";

fn refused(store: &SqliteStore) -> bool {
    match block_on(store.health_check()) {
        Ok(()) => false,
        Err(error) => {
            let cause = error.source().unwrap();
            assert!(cause.is::<FileMoved>(), "{cause}");
            assert!(cause.to_string().contains("moved, replaced or deleted"), "{cause}");
            true
        }
    }
}

#[test]
fn a_store_takes_no_writes_while_its_file_is_not_at_its_place() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let sms = Sms::builder(store.clone()).build();
    let create = || block_on(sms.operator().account_create(NewAccountInput::active("Bistro", 1)));
    create().unwrap();
    for (path, name) in [(folder.file(), "sms.db"), (folder.log(), "sms.db-wal")] {
        let away = folder.0.join("away");
        fs::rename(&path, &away).unwrap();
        assert!(refused(&store) && create().is_err(), "{name} was moved");
        fs::copy(&away, &path).unwrap();
        assert!(refused(&store) && create().is_err(), "{name} was replaced by a copy");
        fs::remove_file(&path).unwrap();
        assert!(refused(&store), "{name} was deleted");
        fs::rename(&away, &path).unwrap();
        assert!(!refused(&store) && create().is_ok(), "{name} is back");
    }
    drop((sms, store));
    assert_eq!(check_file(&folder.file()).unwrap(), []);
    let store = SqliteStore::open(folder.file()).unwrap();
    let accounts =
        block_on(Sms::builder(store).build().operator().account_list(PageRequest::default()));
    assert_eq!(accounts.unwrap().items.len(), 3, "those that were answered");
}

/// Whether the store refuses to back up and to check whatever has the name of its file.
fn refuses_care(store: &SqliteStore, folder: &Folder) -> bool {
    let copy = folder.0.join("copy.db");
    let is_moved =
        |error| matches!(error, MaintenanceError::Moved(_) | MaintenanceError::Missing(_));
    let backup = block_on(store.backup(&copy)).err().is_some_and(is_moved);
    let check = block_on(store.check()).err().is_some_and(is_moved);
    assert_eq!(backup, check);
    assert_eq!(backup, !copy.exists());
    let _ = fs::remove_file(&copy);
    backup
}

#[test]
fn a_store_backs_up_and_checks_no_other_file_than_its_own() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let other = Folder::new();
    drop(SqliteStore::open(other.file()).unwrap());
    assert!(!refuses_care(&store, &folder));
    for (path, name) in [(folder.file(), "sms.db"), (folder.log(), "sms.db-wal")] {
        let away = folder.0.join("away");
        fs::rename(&path, &away).unwrap();
        assert!(refuses_care(&store, &folder), "{name} was moved");
        assert!(!path.exists(), "{name} was not made anew");
        fs::copy(other.file(), &path).unwrap();
        assert!(refuses_care(&store, &folder), "{name} was replaced");
        fs::rename(&away, &path).unwrap();
        assert!(!refuses_care(&store, &folder), "{name} is back");
    }
}

/// The program that checks. Without a parent it does nothing.
#[test]
fn child_that_checks_a_file_in_use() {
    let Some(file) = std::env::var_os(FILE) else { return };
    assert_eq!(check_file(file.as_ref()).unwrap(), []);
}

/// SQLite removes the log when the last connection is closed, and knows by its locks which is the
/// last. A check in another process must not be taken for it.
#[test]
fn a_check_beside_a_store_leaves_the_log_to_it() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let sms = Sms::builder(store.clone()).build();
    let create = || block_on(sms.operator().account_create(NewAccountInput::active("Bistro", 1)));
    create().unwrap();
    let log = || fs::metadata(folder.log()).map(|about| about.ino()).ok();
    let before = log();
    assert!(before.is_some());
    let checked = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "moved::child_that_checks_a_file_in_use"])
        .env(FILE, folder.file())
        .stdout(Stdio::null())
        .status();
    assert!(checked.unwrap().success());
    assert_eq!(log(), before);
    assert!(!refused(&store) && create().is_ok());
}
