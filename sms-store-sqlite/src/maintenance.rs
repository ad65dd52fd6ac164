//! Copies of the file while it is in use, and checks of what it holds.

use std::path::Path;

use futures_channel::oneshot;
use rusqlite::Connection;

use crate::SqliteStore;
use crate::backup;
use crate::error::{Finding, MaintenanceError};
use crate::{open, rules};

/// The sizes of a store's files, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSizes {
    /// The file itself.
    pub file: u64,
    /// The log of commits that are not in the file yet.
    pub log: u64,
}

impl SqliteStore {
    /// Writes a consistent copy of the file to a new file, while the store is in use, as
    /// [`backup_file`](crate::backup_file) does.
    ///
    /// # Errors
    ///
    /// If `to` exists, or cannot be written, or if the file is no longer at its place.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<(), MaintenanceError> {
        let to = to.as_ref().to_owned();
        self.care(move |from, connection| backup::copy(&connection, from, &to)).await
    }

    /// Checks the file: that SQLite finds it intact, and that balances equal their ledgers, what
    /// waits is in the queue, and counts are what a recount finds. Reads everything once, while the
    /// store is in use.
    ///
    /// # Errors
    ///
    /// If the file cannot be read at all, or is no longer at its place.
    pub async fn check(&self) -> Result<Vec<Finding>, MaintenanceError> {
        self.care(|_, connection| findings(&connection)).await
    }

    /// Does long work on the file that the store has open. Another file may have its name by now.
    async fn care<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path, Connection) -> Result<T, MaintenanceError> + Send + 'static,
    ) -> Result<T, MaintenanceError> {
        let (path, place) = (self.path().to_owned(), self.place().clone());
        on_a_thread(move || {
            let connection = open::to_care_at(&path, &|| place.check().is_ok())?;
            work(&path, connection)
        })
        .await
    }

    /// The sizes of the files.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn file_sizes(&self) -> std::io::Result<FileSizes> {
        let mut log = self.path().as_os_str().to_owned();
        log.push("-wal");
        let file = std::fs::metadata(self.path())?.len();
        let log = std::fs::metadata(log).map_or(0, |log| log.len());
        Ok(FileSizes { file, log })
    }
}

/// Runs long work on a thread of its own.
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MaintenanceError> + Send + 'static,
) -> Result<T, MaintenanceError> {
    let (answer, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name("sms-sqlite-care".to_owned());
    let spawned = thread.spawn(move || {
        let _ = answer.send(work());
    });
    spawned.map_err(|_| MaintenanceError::Interrupted)?;
    receiver.await.map_err(|_| MaintenanceError::Interrupted)?
}

/// Checks the file at `path` as [`SqliteStore::check`] does, also while another program serves from
/// it.
///
/// # Errors
///
/// If there is no such file, or it cannot be read at all.
pub fn check_file(path: &Path) -> Result<Vec<Finding>, MaintenanceError> {
    findings(&open::to_care(path)?)
}

fn findings(connection: &Connection) -> Result<Vec<Finding>, MaintenanceError> {
    connection.execute_batch("BEGIN")?;
    Ok(rules::findings(connection)?)
}
