//! Temporary folders, and what the stores in them must hold.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_executor::block_on;
use sms_core::message::MessageStatus;
use sms_core::prelude::*;
use sms_store_sqlite::SqliteStore;

use super::child::Told;

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed in the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("sms-sqlite-faults-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.0.join("sms.db")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("sms.db-wal")
    }

    /// Opens the file and checks that everything in it is in order, and that all that was answered
    /// is there.
    pub(super) fn must_hold(&self, all: &[Told]) {
        let store = SqliteStore::open(self.file()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(block_on(store.check()).unwrap(), []);
        let sms = Sms::builder(store).build();
        for told in all {
            match told {
                Told::Accepted(account, id) => {
                    let found = block_on(sms.account(*account, Mode::Live).message_get(*id));
                    found.unwrap_or_else(|error| panic!("{id} is lost: {error}"));
                }
                Told::Cancelled(account, id) => {
                    let found = block_on(sms.account(*account, Mode::Live).message_get(*id));
                    let found = found.unwrap_or_else(|error| panic!("{id} is lost: {error}"));
                    assert_eq!(found.message.status, MessageStatus::Cancelled, "{id}");
                }
                Told::Unavailable(_) | Told::Read => {}
                Told::NotOpened(reason) => panic!("the file was not opened: {reason}"),
                Told::Wrong(answer) => panic!("a wrong answer: {answer}"),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
