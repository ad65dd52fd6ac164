//! What can go wrong, and how callers see it.

use std::fmt;
use std::path::PathBuf;

use rusqlite::ErrorCode;
use sms_core::store::StoreError;

/// The result of a step within a transaction.
pub(crate) type SqlResult<T> = Result<T, rusqlite::Error>;

/// A store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another program has opened the file.
    #[error(
        "{} is in use by another program, and one file serves one program: stop the other one, or \
         use PostgreSQL to run several servers", .0.display()
    )]
    InUse(PathBuf),
    /// A copy into the file was begun and has not ended.
    #[error(
        "{} holds a part of a copy: start `sms-server copy` again with the same source and target",
        .0.display()
    )]
    HalfCopied(PathBuf),
    /// A folder or a file could not be made or opened.
    #[error("{} could not be made or opened: {source}", .path.display())]
    Files {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The file is no database of this platform.
    #[error("{} is not a database of this platform", .0.display())]
    NotOurs(PathBuf),
    /// A newer program has written the file.
    #[error(
        "{} was written by a newer version of this program (schema {found}, this one knows \
         {known}): use that version, or restore a backup", .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "{} is damaged ({finding}): restore a backup, or recover what is left with `sqlite3 \
         .recover`", .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite reports.
        finding: String,
    },
    /// The program contains a SQLite that the store cannot use.
    #[error("{0}")]
    UnfitSqlite(String),
    /// SQLite failed.
    #[error("SQLite could not open {}: {source}", .path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: rusqlite::Error,
    },
}

/// A copy could not be made or restored, or the file could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// There is no file.
    #[error("{} does not exist", .0.display())]
    Missing(PathBuf),
    /// Another file has the name now, or none has.
    #[error(
        "{} was moved, replaced or deleted: put the file back that belongs there, or restart the \
         server, and try again", .0.display()
    )]
    Moved(PathBuf),
    /// The copy would replace a file.
    #[error("{} exists already: name another file, or move it away", .0.display())]
    Exists(PathBuf),
    /// Another program writes the same copy.
    #[error("{} is being written by another program: wait until it has ended", .0.display())]
    UnderWay(PathBuf),
    /// A backup without the seal with which a whole one ends.
    #[error(
        "{} is no whole backup: `sms-server backup` did not finish it, or an earlier version or \
         another program wrote it; use another backup, or see docs/stores.md", .0.display()
    )]
    NotWhole(PathBuf),
    /// A backup that has changed since it was written, or was written from a damaged file.
    #[error("{} is damaged ({finding}): use another backup", .path.display())]
    DamagedBackup {
        /// The backup.
        path: PathBuf,
        /// What is wrong.
        finding: String,
    },
    /// A backup that breaks rules of the platform.
    #[error("{} is not in order, so it was not restored: {}", .path.display(), listed(.findings))]
    NotInOrder {
        /// The backup.
        path: PathBuf,
        /// What is wrong.
        findings: Vec<Finding>,
    },
    /// A file could not be read or written.
    #[error("{} could not be read or written: {source}", .path.display())]
    Files {
        /// The file.
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

fn listed(findings: &[Finding]) -> String {
    findings.iter().fold(String::new(), |all, finding| all + "\n" + &finding.to_string())
}

/// The file that a store has open is no longer at its place. The message names no path, so that
/// it can be shown to anyone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file of the store was moved, replaced or deleted, so nothing is written to it: put it \
     back, or stop the server and restore a backup"
)]
#[non_exhaustive]
pub struct FileMoved;

/// The cause of an error that several commands of one commit share.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Trouble {
    /// A retry may succeed: the disk is full, or it failed.
    #[error("{0}")]
    Passing(String),
    /// A bug, or data that cannot be read.
    #[error("{0}")]
    Lasting(String),
    /// The file holds what SQLite cannot have written.
    #[error(
        "the file is damaged ({0}): stop the program and restore a backup, or recover what is left \
         with `sqlite3 .recover`"
    )]
    Damaged(String),
    /// The file is not at its place, so the next start would not find what is written to it.
    #[error(transparent)]
    Moved(#[from] FileMoved),
    /// The file can no longer be trusted; the program has to open it again.
    #[error("the store stopped after a failed write ({0}): restart the program")]
    Down(String),
}

impl Trouble {
    /// Whether the error says that the file is damaged.
    pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
        let code = error.sqlite_error_code();
        matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    }

    pub(crate) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory,
            ) => Self::Passing(error.to_string()),
            _ => Self::Lasting(error.to_string()),
        }
    }

    pub(crate) fn during(self, doing: &'static str) -> StoreError {
        match self {
            Self::Lasting(_) => StoreError::Internal { doing, source: Some(Box::new(self)) },
            Self::Moved(moved) => StoreError::Unavailable { doing, source: Some(Box::new(moved)) },
            Self::Passing(_) | Self::Damaged(_) | Self::Down(_) => {
                StoreError::Unavailable { doing, source: Some(Box::new(self)) }
            }
        }
    }
}

/// A value that the program cannot have written.
#[derive(Debug, thiserror::Error)]
#[error("the column {0} has an invalid value")]
pub(crate) struct Invalid(pub(crate) String);

/// Something that a command relies on is missing.
#[derive(Debug, thiserror::Error)]
#[error("{0} is missing")]
pub(crate) struct Missing(pub(crate) &'static str);

impl Missing {
    pub(crate) fn error(what: &'static str) -> rusqlite::Error {
        rusqlite::Error::ToSqlConversionFailure(Box::new(Self(what)))
    }
}

/// The same error for each of so many commands.
pub(crate) fn all_failed<T, E: From<StoreError>>(
    count: usize,
    error: &StoreError,
) -> Vec<Result<T, E>> {
    (0..count).map(|_| Err(E::from(again(error)))).collect()
}

/// The error once more, with its cause as text.
fn again(error: &StoreError) -> StoreError {
    let cause = |source: &Option<Box<dyn std::error::Error + Send + Sync>>| {
        source.as_ref().map(|source| source.to_string().into())
    };
    match error {
        StoreError::Unavailable { doing, source } => {
            StoreError::Unavailable { doing, source: cause(source) }
        }
        StoreError::Internal { doing, source } => {
            StoreError::Internal { doing, source: cause(source) }
        }
    }
}
