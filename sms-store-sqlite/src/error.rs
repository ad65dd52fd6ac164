//! What can go wrong, and how callers see it.

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
