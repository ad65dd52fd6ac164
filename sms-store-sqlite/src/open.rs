//! Opens the file: its folder and lock, its schema, and the settings of its connections.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::checkpoint;
use crate::db::Db;
use crate::error::{OpenError, SqlResult};
use crate::settings::SqliteSettings;

/// Marks files of this platform: "sms1".
const APPLICATION_ID: i64 = 0x736d_7331;
/// Each brings the schema from one version to the next. They are only added, never changed.
pub(crate) const MIGRATIONS: [&str; 7] = [
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_lane_and_share.sql"),
    include_str!("../migrations/0003_giving_up.sql"),
    include_str!("../migrations/0004_session.sql"),
    include_str!("../migrations/0005_event.sql"),
    include_str!("../migrations/0006_replay.sql"),
    include_str!("../migrations/0007_messages_on_their_way.sql"),
];
/// Files up to this size, in bytes, are read whole when they are opened, to find damage. That takes
/// some 50 ms.
pub(crate) const CHECKED_AT_OPENING: u64 = 16 << 20;
/// Earlier versions of SQLite may corrupt a log that two connections restart at once.
const OLDEST_SQLITE: i32 = 3_051_003;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve from it.
    Serve,
    /// To copy from it or to it: a copy may be under way.
    Copy,
}

/// The lock next to a file. It is held until this is dropped, or the program ends in any way.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // A child process that another thread is starting has a copy of the descriptor for a
        // moment. To close this one would leave the lock with the copy.
        let _ = self.0.unlock();
    }
}

/// Makes the folder and takes the lock next to the file.
pub(crate) fn lock(path: &Path) -> Result<Lock, OpenError> {
    let failed = |source| OpenError::Files { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_folder(folder).map_err(failed)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = private().open(PathBuf::from(name)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Makes a folder that only its owner can open.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens files that only their owner can read.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The connection that writes, once the schema is the newest.
pub(crate) fn writer(
    path: &Path,
    settings: &SqliteSettings,
    purpose: Purpose,
) -> Result<Db, OpenError> {
    let failed = |source| OpenError::Files { path: path.to_owned(), source };
    // SQLite gives its other files the mode of this one.
    let file = private().open(path).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    sync_folder(path).map_err(failed)?;
    let of_sqlite = |source: rusqlite::Error| explain(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
    if rusqlite::version_number() < OLDEST_SQLITE {
        let finding = format!("SQLite {} is too old", rusqlite::version());
        return Err(OpenError::Damaged { path: path.to_owned(), finding });
    }
    check_origin(path, &connection)?;
    if let Purpose::Serve = purpose {
        refuse_half_a_copy(path, &connection)?;
    }
    if file.metadata().map_err(failed)?.len() <= CHECKED_AT_OPENING {
        check_pages(path, &connection)?;
    }
    let pragmas = format!(
        "PRAGMA auto_vacuum = INCREMENTAL;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON;
         PRAGMA checkpoint_fullfsync = ON;
         PRAGMA cache_size = -{};
         PRAGMA busy_timeout = 5000;
         PRAGMA foreign_keys = OFF;
         PRAGMA trusted_schema = OFF;",
        settings.writer_cache >> 10,
    );
    connection.execute_batch(&pragmas).map_err(of_sqlite)?;
    checkpoint::watch(&connection);
    migrate(path, &connection)?;
    // Only now: a migration may sort an index of all messages.
    connection.execute_batch("PRAGMA temp_store = MEMORY").map_err(of_sqlite)?;
    // What was staged for launches that had no verdict yet.
    let abandon = "UPDATE launching SET state = 2 WHERE state = 0";
    connection.execute_batch(abandon).map_err(of_sqlite)?;
    Ok(Db::new(connection))
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path, settings: &SqliteSettings) -> Result<Db, OpenError> {
    connect_reader(path, settings).map_err(|source| explain(path, source))
}

pub(crate) fn connect_reader(path: &Path, settings: &SqliteSettings) -> SqlResult<Db> {
    // Opened for writing, as the log's index is shared memory; nothing is ever written.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let pragmas = format!(
        "PRAGMA query_only = ON;
         PRAGMA cache_size = -{};
         PRAGMA temp_store = MEMORY;
         PRAGMA busy_timeout = 5000;
         PRAGMA trusted_schema = OFF;",
        settings.reader_cache >> 10
    );
    connection.execute_batch(&pragmas)?;
    Ok(Db::new(connection))
}

/// A new file is on disk only once its folder is.
#[cfg(unix)]
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Refuses files of other programs, and those of newer versions of this one.
pub(crate) fn check_origin(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let read = || Ok((pragma("application_id")?, pragma("user_version")?, pragma("page_count")?));
    let (application, version, pages) = read().map_err(|source| explain(path, source))?;
    if pages > 0 && application != APPLICATION_ID {
        return Err(OpenError::NotOurs(path.to_owned()));
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if version > known {
        return Err(OpenError::Newer { path: path.to_owned(), found: version, known });
    }
    Ok(())
}

/// Refuses files into which a copy was begun that has not ended.
fn refuse_half_a_copy(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'copy_journal'";
    let found: i64 = connection
        .query_row(query, [], |row| row.get(0))
        .map_err(|source| explain(path, source))?;
    if found > 0 { Err(OpenError::HalfCopied(path.to_owned())) } else { Ok(()) }
}

/// Has SQLite read all pages.
pub(crate) fn check_pages(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let of_sqlite = |source: rusqlite::Error| explain(path, source);
    let finding: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(of_sqlite)?;
    if finding == "ok" {
        return Ok(());
    }
    Err(OpenError::Damaged { path: path.to_owned(), finding })
}

/// Brings the schema to the newest version, each step in one transaction.
fn migrate(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let of_sqlite = |source: rusqlite::Error| explain(path, source);
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(of_sqlite)?;
    for (step, migration) in MIGRATIONS.iter().enumerate() {
        let step = i64::try_from(step + 1).unwrap_or(i64::MAX);
        if step > version {
            let whole = format!(
                "BEGIN IMMEDIATE;
                 {migration}
                 PRAGMA application_id = {APPLICATION_ID};
                 PRAGMA user_version = {step};
                 COMMIT;"
            );
            connection.execute_batch(&whole).map_err(of_sqlite)?;
        }
    }
    Ok(())
}

/// A database in memory, as these migrations leave it.
#[cfg(test)]
pub(crate) fn in_memory(migrations: &[&str]) -> Connection {
    let connection = Connection::open_in_memory().expect("memory can be opened");
    for migration in migrations {
        connection.execute_batch(migration).expect("a new database can be migrated");
    }
    connection
}

/// What an error means for the file.
pub(crate) fn explain(path: &Path, source: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => {
            OpenError::Damaged { path, finding: source.to_string() }
        }
        Some(ErrorCode::NotADatabase) => OpenError::NotOurs(path),
        _ => OpenError::Sqlite { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_lock_is_free_although_a_starting_child_has_a_copy_of_it() {
        let name = format!("sms-lock-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let path = folder.join("sms.db");
        let held = lock(&path).expect("it is free");
        assert!(matches!(lock(&path), Err(OpenError::InUse(_))));
        let copy = held.0.try_clone().expect("it can be copied");
        drop(held);
        assert!(lock(&path).is_ok());
        drop(copy);
        std::fs::remove_dir_all(folder).expect("nobody uses it");
    }
}
