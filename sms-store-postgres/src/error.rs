//! From the database's errors to the store's own. The database's text can quote the values of a
//! row, so only its code and the constraint's name are kept.

use std::fmt;

use sms_core::store::{CommitError, StoreError};

/// The database could not be reached or prepared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectFailed(String);

impl ConnectFailed {
    pub(crate) fn new(error: impl Into<sqlx::Error>) -> Self {
        Self(Cause::of(&error.into()).to_string())
    }

    pub(crate) fn migration(error: &sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(cause)
            | sqlx::migrate::MigrateError::ExecuteMigration(cause, _) => {
                Self(format!("a migration failed: {}", Cause::of(cause)))
            }
            other => Self(format!("the migrations do not fit the database: {other}")),
        }
    }
}

/// What may be told of a database error.
#[derive(Debug)]
struct Cause(String);

impl Cause {
    fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default().into_owned();
                let constraint = database.constraint().unwrap_or("none");
                Self(format!("SQLSTATE {code}, constraint {constraint}"))
            }
            sqlx::Error::ColumnDecode { index, source } => {
                Self(format!("column {index}: {source}"))
            }
            other => Self(other.to_string()),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

/// Turns a database error into the store's, saying what was being done.
pub(crate) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| store_error(doing, &error)
}

/// The same for a command that can also be refused.
pub(crate) fn commit_failed<R>(doing: &'static str) -> impl Fn(sqlx::Error) -> CommitError<R> {
    move |error| CommitError::Store(store_error(doing, &error))
}

fn store_error(doing: &'static str, error: &sqlx::Error) -> StoreError {
    let source = Some(Box::new(Cause::of(error)) as _);
    if is_unavailable(error) {
        StoreError::Unavailable { doing, source }
    } else {
        StoreError::Internal { doing, source }
    }
}

/// Whether trying again later may help: no connection, shutting down, overloaded, a lock or a
/// statement that took too long.
fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            code.starts_with("08")
                || code.starts_with("53")
                || code.starts_with("57")
                || matches!(&*code, "55P03" | "25P03" | "40001" | "40P01")
        }
        _ => false,
    }
}

/// Whether the database could not be reached, so that the outcome may be unknown.
pub(crate) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. }) && !is_conflict(error)
}

/// Whether the same transaction may succeed if it is run again at once: it could not be put in a
/// row with others, waited for one that waited for it, or found what another has just written.
pub(crate) fn is_conflict(error: &StoreError) -> bool {
    let (StoreError::Unavailable { source, .. } | StoreError::Internal { source, .. }) = error;
    let told = source.as_ref().map(ToString::to_string).unwrap_or_default();
    ["40001", "40P01", "23505"].iter().any(|code| told.starts_with(&format!("SQLSTATE {code}")))
}
