//! Opens the file: its folder and lock, its schema, and the settings of its connections.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::built;
use crate::checkpoint;
use crate::db::Db;
use crate::error::{MaintenanceError, OpenError, SqlResult};
use crate::settings::SqliteSettings;

/// Marks files of this platform: "sms1".
pub(crate) const APPLICATION_ID: i64 = 0x736d_7331;
/// Each brings the schema from one version to the next. They are only added, never changed.
pub(crate) const MIGRATIONS: [&str; 13] = [
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_lane_and_share.sql"),
    include_str!("../migrations/0003_giving_up.sql"),
    include_str!("../migrations/0004_session.sql"),
    include_str!("../migrations/0005_event.sql"),
    include_str!("../migrations/0006_replay.sql"),
    include_str!("../migrations/0007_messages_on_their_way.sql"),
    include_str!("../migrations/0008_field_gaps.sql"),
    include_str!("../migrations/0009_what_networks_send.sql"),
    include_str!("../migrations/0010_reply_count.sql"),
    include_str!("../migrations/0011_unmatched_receipts.sql"),
    include_str!("../migrations/0012_originators.sql"),
    include_str!("../migrations/0013_keys_in_order.sql"),
];
/// Files up to this size, in bytes, are read whole when they are opened, to find damage. That takes
/// some 50 ms.
pub(crate) const CHECKED_AT_OPENING: u64 = 16 << 20;

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
    let file = private().open(beside(path, ".lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// The path of a file with the name of another and an ending.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
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

/// What one file is, whatever its name. Nothing on systems that do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    /// The file at this path; `None` if there is none.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Some(Self::of(&std::fs::metadata(path).ok()?))
    }

    #[cfg(unix)]
    fn of(about: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(about.dev(), about.ino())
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// Whether an open file is the one at this path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let open = file.metadata().ok().map(|about| FileId::of(&about));
    open.is_some() && open == FileId::at(path)
}

/// A connection to a file that is there. Rust lets one thread at a time use it, so it takes no
/// mutexes of its own, whatever SQLite was built for.
pub(crate) fn connect(path: &Path) -> SqlResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// The connection that writes, once the schema is the newest, and a handle of the file. The handle
/// must stay open for as long as any connection does: on Unix, to close one handle of a file drops
/// all locks that the program holds on it, those of SQLite included.
pub(crate) fn writer(
    path: &Path,
    settings: &SqliteSettings,
    purpose: Purpose,
) -> Result<(Db, File), OpenError> {
    let failed = |source| OpenError::Files { path: path.to_owned(), source };
    // SQLite gives its other files the mode of this one.
    let file = private().open(path).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    sync_folder(path).map_err(failed)?;
    let of_sqlite = |source: rusqlite::Error| explain(path, source);
    if let Some(refusal) = built::refusal(rusqlite::version_number()) {
        return Err(OpenError::UnfitSqlite(refusal));
    }
    built::log();
    let connection = connect(path).map_err(of_sqlite)?;
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
    Ok((Db::new(connection), file))
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path, settings: &SqliteSettings) -> Result<Db, OpenError> {
    connect_reader(path, settings).map_err(|source| explain(path, source))
}

pub(crate) fn connect_reader(path: &Path, settings: &SqliteSettings) -> SqlResult<Db> {
    // Opened for writing, as the log's index is shared memory; nothing is ever written.
    let connection = connect(path)?;
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

/// Refuses what [`check_origin`] does, and a file that holds nothing yet.
pub(crate) fn check_is_ours(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    check_origin(path, connection)?;
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|source| explain(path, source))?;
    if version == 0 { Err(OpenError::NotOurs(path.to_owned())) } else { Ok(()) }
}

/// A connection to a file that is there and is one of the platform's, for what needs no server.
pub(crate) fn to_care(path: &Path) -> Result<Connection, MaintenanceError> {
    let found = FileId::at(path);
    to_care_at(path, &|| FileId::at(path) == found)
}

/// The same, of a file that must be at its place before and after its log is opened by its name:
/// the log of another file must not be read with it.
pub(crate) fn to_care_at(
    path: &Path,
    is_at_place: &dyn Fn() -> bool,
) -> Result<Connection, MaintenanceError> {
    if !path.is_file() {
        return Err(MaintenanceError::Missing(path.to_owned()));
    }
    let moved = || MaintenanceError::Moved(path.to_owned());
    if !is_at_place() {
        return Err(moved());
    }
    let of_sqlite = |source| explain(path, source);
    // For writing, because the index of the log is shared memory; nothing is written.
    let connection = connect(path).map_err(of_sqlite)?;
    let pragmas = "PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192;";
    connection.execute_batch(pragmas).map_err(of_sqlite)?;
    let is_ours = check_is_ours(path, &connection);
    if !is_at_place() {
        return Err(moved());
    }
    is_ours?;
    Ok(connection)
}

/// Refuses files into which a copy was begun that has not ended.
pub(crate) fn refuse_half_a_copy(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let query = "SELECT count(*) FROM sqlite_schema WHERE name = 'copy_journal'";
    let found: i64 = connection
        .query_row(query, [], |row| row.get(0))
        .map_err(|source| explain(path, source))?;
    if found > 0 { Err(OpenError::HalfCopied(path.to_owned())) } else { Ok(()) }
}

/// Has SQLite read all pages.
fn check_pages(path: &Path, connection: &Connection) -> Result<(), OpenError> {
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
    let missing = missing_migrations(path, connection)?;
    let known = MIGRATIONS.len() - missing.len();
    for (step, migration) in (known + 1..).zip(missing) {
        let whole = format!(
            "BEGIN IMMEDIATE;
             {migration}
             PRAGMA application_id = {APPLICATION_ID};
             PRAGMA user_version = {step};
             COMMIT;"
        );
        connection.execute_batch(&whole).map_err(|source| explain(path, source))?;
    }
    Ok(())
}

/// The migrations that a file of this or an earlier version lacks, the next one first.
pub(crate) fn missing_migrations(
    path: &Path,
    connection: &Connection,
) -> Result<&'static [&'static str], OpenError> {
    let version: i64 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|source| explain(path, source))?;
    let known = usize::try_from(version).unwrap_or_default().min(MIGRATIONS.len());
    let all: &[&str] = &MIGRATIONS;
    Ok(&all[known..])
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
