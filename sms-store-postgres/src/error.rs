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

/// The five characters by which the database says what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SqlState(String);

impl SqlState {
    fn of(error: &sqlx::Error) -> Option<Self> {
        let sqlx::Error::Database(database) = error else { return None };
        database.code().map(|code| Self(code.into_owned()))
    }

    /// Its class: the first two characters.
    fn class(&self) -> &str {
        self.0.get(..2).unwrap_or(&self.0)
    }

    /// Whether the same transaction may succeed if it is run again at once: it could not be put in
    /// a row with others, waited for one that waited for it, or found what another has just
    /// written.
    fn is_conflict(&self) -> bool {
        matches!(self.0.as_str(), "40001" | "40P01" | "23505")
    }

    /// Whether it is about the connection or the server rather than about what was asked.
    fn is_about_the_server(&self) -> bool {
        matches!(self.class(), "08" | "53") || self.0.starts_with("57P")
    }

    /// Whether trying again later may help: no connection, shutting down, overloaded, a lock or a
    /// statement that took too long.
    fn is_passing(&self) -> bool {
        matches!(self.class(), "08" | "53" | "57")
            || matches!(self.0.as_str(), "55P03" | "25P03" | "40001" | "40P01")
    }
}

/// What may be told of a database error.
#[derive(Debug)]
struct Cause {
    told: String,
    /// `None` when the error did not come from the database.
    state: Option<SqlState>,
}

impl Cause {
    fn of(error: &sqlx::Error) -> Self {
        let state = SqlState::of(error);
        let told = match error {
            sqlx::Error::Database(database) => {
                let code = state.as_ref().map_or("unknown", |state| &state.0);
                let constraint = database.constraint().unwrap_or("none");
                format!("SQLSTATE {code}, constraint {constraint}")
            }
            sqlx::Error::ColumnDecode { index, source } => format!("column {index}: {source}"),
            other => other.to_string(),
        };
        Self { told, state }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.told)
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

/// Whether trying again later may help.
fn is_unavailable(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(_) => SqlState::of(error).is_some_and(|state| state.is_passing()),
        _ => false,
    }
}

/// Another commit came in between: what was read no longer holds. The same transaction may succeed
/// if it is run again at once.
pub(crate) fn overtaken(doing: &'static str) -> StoreError {
    let state = Some(SqlState("40001".to_owned()));
    let told = "another commit came in between".to_owned();
    StoreError::Unavailable { doing, source: Some(Box::new(Cause { told, state })) }
}

fn state(error: &StoreError) -> Option<&SqlState> {
    let (StoreError::Unavailable { source, .. } | StoreError::Internal { source, .. }) = error;
    source.as_ref()?.downcast_ref::<Cause>()?.state.as_ref()
}

/// Whether the database could not be reached, so that the outcome may be unknown. What it refused
/// itself, it has undone.
pub(crate) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. })
        && state(error).is_none_or(SqlState::is_about_the_server)
}

/// Whether the same transaction may succeed if it is run again at once: it could not be put in a
/// row with others, waited for one that waited for it, or found what another has just written.
pub(crate) fn is_conflict(error: &StoreError) -> bool {
    state(error).is_some_and(SqlState::is_conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: Option<&str>) -> StoreError {
        let state = code.map(|code| SqlState(code.to_owned()));
        let passing = state.as_ref().is_none_or(SqlState::is_passing);
        let source = Some(Box::new(Cause { told: "SQLSTATE 40001".to_owned(), state }) as _);
        let doing = "testing";
        if passing {
            StoreError::Unavailable { doing, source }
        } else {
            StoreError::Internal { doing, source }
        }
    }

    #[test]
    fn a_conflict_is_known_by_its_code_and_not_by_words() {
        for (code, conflict) in [
            (Some("40001"), true),
            (Some("40P01"), true),
            (Some("23505"), true),
            (Some("23503"), false),
            (Some("55P03"), false),
            (None, false),
        ] {
            assert_eq!(is_conflict(&told(code)), conflict, "{code:?}");
        }
    }

    #[test]
    fn only_a_database_out_of_reach_leaves_the_outcome_unknown() {
        for (code, gone) in [
            (None, true),
            (Some("08006"), true),
            (Some("53300"), true),
            (Some("57P01"), true),
            (Some("57014"), false),
            (Some("55P03"), false),
            (Some("40001"), false),
            (Some("22003"), false),
        ] {
            assert_eq!(is_gone(&told(code)), gone, "{code:?}");
        }
        let overtaken = overtaken("testing");
        assert!(is_conflict(&overtaken) && !is_gone(&overtaken));
        let closed = failed("testing")(sqlx::Error::PoolClosed);
        assert!(is_gone(&closed) && !is_conflict(&closed));
    }

    #[test]
    fn what_a_column_cannot_hold_is_told_by_the_columns_name() {
        let error = failed("testing")(crate::row::impossible("status"));
        let StoreError::Internal { source: Some(source), .. } = error else { panic!("internal") };
        assert_eq!(source.to_string(), "column status: impossible value");
    }
}
