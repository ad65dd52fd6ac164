//! Copies of the file while it is in use, and checks of what it holds.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use futures_channel::oneshot;
use rusqlite::{Connection, OpenFlags};

use crate::SqliteStore;
use crate::error::OpenError;
use crate::open;

/// A copy could not be made, or the file could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// There is no file.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// The copy would replace a file.
    #[error("{} exists already: name another file, or move it away", .0.display())]
    Exists(PathBuf),
    /// The copy could not be written.
    #[error("{} could not be written: {source}", .path.display())]
    Files {
        /// The copy.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// SQLite failed.
    #[error("SQLite failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The thread that did the work is gone.
    #[error("the work was interrupted")]
    Interrupted,
}

/// Something in the file that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// SQLite reports damage.
    Damage(String),
    /// So many rows break a rule of the platform.
    Broken {
        /// The rule.
        rule: &'static str,
        /// How many rows break it.
        rows: u32,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(report) => write!(f, "the file is damaged: {report}"),
            Self::Broken { rule, rows } => write!(f, "{rows} rows break the rule: {rule}"),
        }
    }
}

/// The sizes of a store's files, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileSizes {
    /// The file itself.
    pub file: u64,
    /// The log of commits that are not in the file yet.
    pub log: u64,
}

impl SqliteStore {
    /// Writes a consistent copy of the file to a new file, while the store is in use. The copy is
    /// on disk when this returns.
    ///
    /// # Errors
    ///
    /// If `to` exists, or cannot be written.
    pub async fn backup(&self, to: impl AsRef<Path>) -> Result<(), MaintenanceError> {
        let (from, to) = (self.path().to_owned(), to.as_ref().to_owned());
        on_a_thread(move || backup_file(&from, &to)).await
    }

    /// Checks the file: that SQLite finds it intact, and that balances equal their ledgers, what
    /// waits is in the queue, and counts are what a recount finds. Reads everything once, while the
    /// store is in use.
    ///
    /// # Errors
    ///
    /// If the file cannot be read at all.
    pub async fn check(&self) -> Result<Vec<Finding>, MaintenanceError> {
        let path = self.path().to_owned();
        on_a_thread(move || check_file(&path)).await
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

/// Writes a consistent copy of the file at `from` to a new file, also while another program serves
/// from it. The copy is on disk when this returns.
///
/// # Errors
///
/// If there is no such file, or if `to` exists or cannot be written.
pub fn backup_file(from: &Path, to: &Path) -> Result<(), MaintenanceError> {
    let connection = open_to_care(from)?;
    let failed = |source| MaintenanceError::Files { path: to.to_owned(), source };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(to).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => MaintenanceError::Exists(to.to_owned()),
        _ => failed(source),
    });
    drop(made?);
    let copied = connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]);
    if let Err(error) = copied {
        // Half a copy is worse than none.
        let _ = std::fs::remove_file(to);
        return Err(error.into());
    }
    let synced = File::open(to).and_then(|file| file.sync_all());
    synced.and_then(|()| open::sync_folder(to)).map_err(failed)
}

/// A connection to a file that is there and is one of the platform's.
fn open_to_care(path: &Path) -> Result<Connection, MaintenanceError> {
    if !path.is_file() {
        return Err(MaintenanceError::Missing(path.to_owned()));
    }
    let of_sqlite = |source| open::explain(path, source);
    // For writing, because the index of the log is shared memory; nothing is written.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
    let pragmas = "PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8192;";
    connection.execute_batch(pragmas).map_err(of_sqlite)?;
    open::check_origin(path, &connection)?;
    Ok(connection)
}

/// Reads all pages of the file at `path`, also while another program serves from it.
///
/// # Errors
///
/// If a page is damaged, or the file cannot be used.
pub fn check_pages(path: &Path) -> Result<(), MaintenanceError> {
    Ok(open::check_pages(path, &open_to_care(path)?)?)
}

/// Rules of the platform, each with a query that counts the rows that break it.
const RULES: [(&str, &str); 12] = [
    (
        "the balance of an account is the sum of its ledger",
        "SELECT count(*) FROM account a WHERE balance <>
             (SELECT coalesce(sum(amount), 0) FROM ledger_entry e WHERE e.account = a.no)",
    ),
    (
        "the balance after an entry is the one before it and its amount",
        "SELECT count(*) FROM (
             SELECT balance_after - amount
                    - lag(balance_after, 1, 0) OVER (PARTITION BY account ORDER BY seq) AS gap
             FROM ledger_entry) WHERE gap <> 0",
    ),
    (
        "entries are numbered without gaps",
        "SELECT count(*) FROM account a WHERE ledger_seq <>
             (SELECT count(*) FROM ledger_entry e WHERE e.account = a.no)",
    ),
    (
        "a message is refunded if it failed or was cancelled, and only then",
        "SELECT count(*) FROM message m WHERE (m.status IN (6, 7) AND m.credits > 0) <>
             EXISTS (SELECT 1 FROM ledger_entry e WHERE e.message_id = m.id AND e.kind = 1)",
    ),
    (
        "a refund gives back what its message cost",
        "SELECT count(*) FROM ledger_entry e JOIN message m ON m.id = e.message_id
             WHERE e.kind = 1 AND e.amount <> m.credits",
    ),
    (
        "a send is charged what its messages cost",
        "SELECT count(*) FROM ledger_entry e WHERE e.kind = 0 AND -e.amount <>
             (SELECT coalesce(sum(m.credits), 0) FROM message m WHERE m.batch_id = e.batch_id)",
    ),
    (
        "a place in the queue is that of a message that waits",
        "SELECT count(*) FROM queue q WHERE NOT EXISTS (
             SELECT 1 FROM message m WHERE m.id = q.id AND m.status IN (0, 1, 2))",
    ),
    (
        "a message that waits is in the queue",
        "SELECT count(*) FROM message m WHERE m.status IN (0, 1, 2)
             AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.id = m.id)
             AND NOT EXISTS (SELECT 1 FROM launching l WHERE l.batch_id = m.batch_id)",
    ),
    (
        "a message on its way is held, or was",
        "SELECT count(*) FROM message m JOIN queue q ON q.id = m.id
             WHERE m.status = 2 AND q.lease IS NULL AND q.was_held = 0",
    ),
    (
        "the number of unread messages is that of the conversations",
        "SELECT count(*) FROM account a WHERE unread <>
             (SELECT coalesce(sum(unread), 0) FROM conversation c WHERE c.account = a.no)",
    ),
    (
        "the count of a list is that of its contacts",
        "SELECT count(*) FROM contact_list l WHERE contact_count <>
             (SELECT count(*) FROM list_member m WHERE m.list_id = l.id)",
    ),
    (
        "the recipients of a campaign are its messages",
        "SELECT count(*) FROM campaign c WHERE launched_at IS NOT NULL AND recipients <>
             (SELECT count(*) FROM message m WHERE m.campaign_id = c.id
                  AND m.batch_id = c.batch_id)",
    ),
];

/// Checks the file at `path` as [`SqliteStore::check`] does, also while another program serves from
/// it.
///
/// # Errors
///
/// If there is no such file, or it cannot be read at all.
pub fn check_file(path: &Path) -> Result<Vec<Finding>, MaintenanceError> {
    let connection = open_to_care(path)?;
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let report = statement.query_map([], |row| row.get::<_, String>(0));
    let report = report.and_then(Iterator::collect::<rusqlite::Result<Vec<String>>>);
    let lines = match report {
        Ok(lines) => lines,
        Err(error) => return Ok(vec![Finding::Damage(error.to_string())]),
    };
    if lines != ["ok"] {
        return Ok(lines.into_iter().map(Finding::Damage).collect());
    }
    // All rules are about one moment.
    connection.execute_batch("BEGIN")?;
    let mut findings = Vec::new();
    for (rule, query) in RULES {
        let rows = connection.query_row(query, [], |row| row.get::<_, u32>(0))?;
        if rows > 0 {
            findings.push(Finding::Broken { rule, rows });
        }
    }
    Ok(findings)
}
