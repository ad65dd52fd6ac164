//! A new store for a test: the server's default, a file, or memory with `SMS_TEST_STORE=memory`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sms_core::store::Store;
use sms_store_memory::MemoryStore;
use sms_store_sqlite::{SqliteSettings, SqliteStore};

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed in the end.
pub(crate) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    /// A new folder for the test of this name.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sms-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

/// A new store, and the folder that it needs.
pub(crate) fn store() -> (Arc<dyn Store>, Option<Folder>) {
    if std::env::var_os("SMS_TEST_STORE").is_some_and(|store| store == "memory") {
        return (Arc::new(MemoryStore::new()), None);
    }
    // These tests are not about the disk: where the machine has a folder in memory, they use that.
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = base.join(format!("sms-server-{}-{number}", std::process::id()));
    let mut settings = SqliteSettings::default();
    settings.readers = 1;
    let store = SqliteStore::open_with(folder.join("sms.db"), settings).unwrap();
    (Arc::new(store), Some(Folder(folder)))
}
