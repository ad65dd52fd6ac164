//! The store's own error, and the one place that turns it into the core's.
//!
//! The database's message can quote the values of a row, so only its code and the constraint's
//! name are kept.

use std::borrow::Cow;
use std::fmt;

use sms_core::store::StoreError;
use sqlx::error::DatabaseError;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError};
use uuid::Uuid;

use crate::retired::{retire, retire_at_once};

/// The database could not be reached or prepared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConnectFailed(String);

impl ConnectFailed {
    pub(crate) fn new(error: impl Into<PgError>) -> Self {
        Self(error.into().to_string())
    }

    /// What is wrong at this host, and what to check.
    pub(crate) fn at(host: &PgConnectOptions, error: &PgError) -> Self {
        let at = format!("{}:{}", host.get_host(), host.get_port());
        let user = host.get_username();
        let database = host.get_database().unwrap_or(user);
        let state = match error {
            PgError::Refused { state, .. } => state.0.as_str(),
            _ => "",
        };
        Self(match (state, error) {
            ("3D000", _) => format!(
                "the PostgreSQL server at {at} has no database {database:?}: create it (`createdb \
                 {database}`), or check the name in the database's URL"
            ),
            ("28P01" | "28000", _) => format!(
                "the PostgreSQL server at {at} does not let the user {user:?} in: check the user \
                 and the password in the database's URL"
            ),
            (_, PgError::Silent) => format!(
                "no PostgreSQL server answers at {at}: check that it runs, and the host and port \
                 in the database's URL"
            ),
            (_, PgError::Connection(cause)) => format!(
                "no connection to a PostgreSQL server at {at} ({cause}): check that it runs, and \
                 the host and port in the database's URL"
            ),
            _ => error.to_string(),
        })
    }

    pub(crate) fn because(cause: impl fmt::Display) -> Self {
        Self(cause.to_string())
    }

    pub(crate) fn migration(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(cause)
            | sqlx::migrate::MigrateError::ExecuteMigration(cause, _) => {
                Self(format!("a migration failed: {}", PgError::from(cause)))
            }
            sqlx::migrate::MigrateError::VersionMismatch(version) => Self(format!(
                "the database has run another text of migration {version} than this program has: \
                 migrations that were run must never be edited"
            )),
            other => Self(format!("the migrations do not fit the database: {other}")),
        }
    }
}

/// The result of this crate's functions.
pub(crate) type PgResult<T> = Result<T, PgError>;

/// Why something could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PgError {
    /// The database refused a statement and rolled its transaction back.
    #[error("SQLSTATE {state}, constraint {}", constraint.as_deref().unwrap_or("none"))]
    Refused {
        /// The database's code.
        state: SqlState,
        /// The constraint that did not hold.
        constraint: Option<String>,
    },
    /// There is no connection, or it broke.
    #[error("no connection to the database: {0}")]
    Connection(sqlx::Error),
    /// The database did not answer in time.
    #[error("the database did not answer in time")]
    Silent,
    /// The task that does the work has ended, with the store or by a panic.
    #[error("the task that does this has ended")]
    Stopped,
    /// The database is a standby, is being promoted, or is read-only.
    #[error("the database takes no writes now")]
    ReadOnly,
    /// A commit was sent, and no answer came.
    #[error("the commit may have happened: {0}")]
    OutcomeUnknown(Box<PgError>),
    /// The statement was prepared before its result got other columns. The database has rolled
    /// back.
    #[error("a statement was prepared for an older schema")]
    StalePlan,
    /// Another commit changed what this transaction read.
    #[error("another commit changed what was read")]
    Overtaken,
    /// A row holds a value that the code cannot read.
    #[error(transparent)]
    Row(#[from] UnreadableRow),
    /// A row that must be there is not.
    #[error("no row of {0} where there must be one")]
    Missing(&'static str),
    /// A row with this id is there already.
    #[error("an id of {0} is taken")]
    Taken(&'static str),
    /// A booking would take a balance out of its range.
    #[error("a booking exceeds what a balance can hold: {0}")]
    Balance(Box<dyn std::error::Error + Send + Sync>),
    /// Any other error of the driver: a bug.
    #[error("{0}")]
    Driver(sqlx::Error),
}

/// A row with a value that the code cannot read.
#[derive(Debug, thiserror::Error)]
pub(crate) struct UnreadableRow {
    column: String,
    cause: String,
    /// The table, once the function that reads its rows has named it.
    table: Option<&'static str>,
    /// The row's `id`, if it has such a column.
    id: Option<Uuid>,
}

impl fmt::Display for UnreadableRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, cause, table, id } = self;
        write!(f, "cannot read column {column}")?;
        if let Some(table) = table {
            write!(f, " of table {table}")?;
        }
        if let Some(id) = id {
            write!(f, ", row {id}")?;
        }
        write!(f, ": {cause}")
    }
}

impl From<sqlx::Error> for PgError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(refusal) if is_stale_plan(&*refusal) => {
                // Every connection that was open by then may have such statements, and keeps them.
                retire_at_once();
                Self::StalePlan
            }
            sqlx::Error::Database(refusal) => {
                let state = refusal.code().map_or_else(String::new, Cow::into_owned);
                let constraint = refusal.constraint().map(str::to_owned);
                Self::Refused { state: SqlState(state), constraint }
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => Self::Connection(error),
            sqlx::Error::ColumnDecode { index, source } => {
                let cause = source.to_string();
                UnreadableRow { column: index, cause, table: None, id: None }.into()
            }
            other => Self::Driver(other),
        }
    }
}

impl PgError {
    /// A column holds a value that its type in the core does not have.
    pub(crate) fn invalid(column: &str) -> Self {
        let (column, cause) = (column.to_owned(), "invalid value".to_owned());
        UnreadableRow { column, cause, table: None, id: None }.into()
    }

    /// Names the table and the row that could not be read, unless they are named already.
    pub(crate) fn in_row(mut self, table: &'static str, id: Option<Uuid>) -> Self {
        if let Self::Row(row) = &mut self
            && row.table.is_none()
        {
            (row.table, row.id) = (Some(table), id);
        }
        self
    }

    /// The core's error, which names the operation. If the server at the other end takes no writes,
    /// connections to it are not used again.
    pub(crate) fn during(self, doing: &'static str) -> StoreError {
        let is_passing = self.is_passing();
        if self.is_read_only() {
            retire();
        }
        let source = Some(Box::new(self) as _);
        if is_passing {
            StoreError::Unavailable { doing, source }
        } else {
            StoreError::Internal { doing, source }
        }
    }

    /// Whether trying again later may help.
    fn is_passing(&self) -> bool {
        match self {
            Self::Refused { state, .. } => state.is_passing(),
            Self::Connection(_)
            | Self::Silent
            | Self::Stopped
            | Self::ReadOnly
            | Self::OutcomeUnknown(_)
            | Self::StalePlan
            | Self::Overtaken => true,
            Self::Row(_)
            | Self::Missing(_)
            | Self::Taken(_)
            | Self::Balance(_)
            | Self::Driver(_) => false,
        }
    }

    /// Whether the same transaction may succeed if it runs again at once.
    pub(crate) fn is_conflict(&self) -> bool {
        match self {
            Self::Refused { state, .. } => state.is_conflict(),
            other => matches!(other, Self::StalePlan | Self::Overtaken),
        }
    }

    /// Whether the database could not be reached, so that the outcome may be unknown.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Self::Refused { state, .. } => state.is_about_the_server(),
            other => other.is_passing() && !other.is_conflict() && !other.is_read_only(),
        }
    }

    /// Whether the server refuses all writes for now, and has written nothing.
    fn is_read_only(&self) -> bool {
        match self {
            Self::Refused { state, .. } => state.is_read_only(),
            other => matches!(other, Self::ReadOnly),
        }
    }

    /// Whether the server would refuse any other write as well, and has written nothing.
    fn is_out_of_service(&self) -> bool {
        let is_full = matches!(self, Self::Refused { state, .. } if state.is_disk_full());
        is_full || self.is_read_only()
    }

    /// Whether the connection stopped answering, so that it cannot be asked to roll back.
    pub(crate) fn is_disconnected(&self) -> bool {
        matches!(self, Self::Silent | Self::Connection(sqlx::Error::Io(_)))
    }
}

/// Whether the statement was prepared before a migration gave its result other columns.
fn is_stale_plan(refusal: &(dyn DatabaseError + 'static)) -> bool {
    let refusal = refusal.try_downcast_ref::<PgDatabaseError>();
    refusal.is_some_and(|refusal| means_stale_plan(refusal.code(), refusal.routine()))
}

/// Other features that are not supported have the same code. The message is translated, and the
/// name of the routine is not.
fn means_stale_plan(code: &str, routine: Option<&str>) -> bool {
    code == "0A000" && routine == Some("RevalidateCachedQuery")
}

/// The five characters of the database's error code (SQLSTATE).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqlState(String);

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "unknown" } else { &self.0 })
    }
}

impl SqlState {
    /// Its class: the first two characters.
    fn class(&self) -> &str {
        self.0.get(..2).unwrap_or(&self.0)
    }

    /// Serialisation failure, deadlock, or a key that another transaction has just inserted.
    fn is_conflict(&self) -> bool {
        matches!(self.0.as_str(), "40001" | "40P01" | "23505")
    }

    /// Whether it is about the connection or the server rather than about the statement.
    fn is_about_the_server(&self) -> bool {
        matches!(self.class(), "08" | "53") && !self.is_disk_full() || self.0.starts_with("57P")
    }

    /// A read-only transaction, or something that must not be done during recovery.
    fn is_read_only(&self) -> bool {
        matches!(self.0.as_str(), "25006" | "55000")
    }

    /// There is no room for another row.
    fn is_disk_full(&self) -> bool {
        self.0 == "53100"
    }

    /// Whether trying again later may help: no connection, shutting down or starting up, read-only,
    /// overloaded, a full or failing disk, a lock or a statement that took too long.
    fn is_passing(&self) -> bool {
        matches!(self.class(), "08" | "53" | "57" | "58")
            || matches!(self.0.as_str(), "55P03" | "25P03" | "40001" | "40P01")
            || self.is_read_only()
    }
}

/// Turns errors of this crate and of the driver into the core's, which name the operation. `?`
/// turns the core's into that of a command which can also be refused.
pub(crate) trait Context<T> {
    fn context(self, doing: &'static str) -> Result<T, StoreError>;
}

impl<T, E: Into<PgError>> Context<T> for Result<T, E> {
    fn context(self, doing: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| error.into().during(doing))
    }
}

fn cause(error: &StoreError) -> Option<&PgError> {
    let (StoreError::Unavailable { source, .. } | StoreError::Internal { source, .. }) = error;
    source.as_ref()?.downcast_ref()
}

/// Whether the database could not be reached, so that the outcome may be unknown. What the database
/// refused, it has rolled back.
pub(crate) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. }) && cause(error).is_none_or(PgError::is_gone)
}

/// Whether the database would refuse any other write as well, and has written nothing: it is
/// read-only, or its disk is full.
pub(crate) fn is_out_of_service(error: &StoreError) -> bool {
    cause(error).is_some_and(PgError::is_out_of_service)
}

/// Whether the same transaction may succeed if it runs again at once: it could not be serialised,
/// was part of a deadlock, inserted a key that another transaction has just inserted, or ran a
/// statement that was prepared for an older schema.
pub(crate) fn is_conflict(error: &StoreError) -> bool {
    cause(error).is_some_and(PgError::is_conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> StoreError {
        let state = SqlState(code.to_owned());
        PgError::Refused { state, constraint: None }.during("testing")
    }

    #[test]
    fn a_conflict_is_known_by_its_code_and_not_by_words() {
        for (code, conflict) in
            [("40001", true), ("40P01", true), ("23505", true), ("23503", false), ("55P03", false)]
        {
            assert_eq!(is_conflict(&refused(code)), conflict, "{code}");
        }
        assert!(!is_conflict(&StoreError::Unavailable { doing: "testing", source: None }));
    }

    #[test]
    fn a_statement_prepared_for_an_older_schema_may_run_again() {
        let stale = PgError::StalePlan.during("testing");
        assert!(matches!(stale, StoreError::Unavailable { .. }));
        assert!(is_conflict(&stale) && !is_gone(&stale) && !is_out_of_service(&stale));
        for (code, routine, expected) in [
            ("0A000", Some("RevalidateCachedQuery"), true),
            ("0A000", Some("transformLockingClause"), false),
            ("0A000", None, false),
            ("XX000", Some("RevalidateCachedQuery"), false),
        ] {
            assert_eq!(means_stale_plan(code, routine), expected, "{code} {routine:?}");
        }
        assert!(!is_conflict(&refused("0A000")));
    }

    #[test]
    fn what_may_work_later_is_unavailable_and_what_never_will_is_internal() {
        for code in [
            "08000", "08003", "08006", "25006", "25P03", "40001", "40P01", "53000", "53100",
            "53200", "53300", "53400", "55000", "55P03", "57014", "57P01", "57P02", "57P03",
            "57P05", "58000", "58030",
        ] {
            let error = refused(code);
            assert!(matches!(error, StoreError::Unavailable { .. }), "{code}: {error:?}");
        }
        for code in
            ["0A000", "22003", "23505", "23514", "25P02", "42501", "42P01", "XX000", "XX001"]
        {
            let error = refused(code);
            assert!(matches!(error, StoreError::Internal { .. }), "{code}: {error:?}");
        }
    }

    #[test]
    fn a_read_only_or_full_database_would_refuse_any_other_write_as_well() {
        for (code, expected) in [
            ("25006", true),
            ("55000", true),
            ("53100", true),
            ("53300", false),
            ("57P01", false),
            ("40001", false),
            ("22003", false),
        ] {
            let error = refused(code);
            assert_eq!(is_out_of_service(&error), expected, "{code}");
            assert!(!(expected && is_gone(&error)), "it has written nothing: {code}");
        }
    }

    #[test]
    fn only_a_database_out_of_reach_leaves_the_outcome_unknown() {
        for (code, gone) in [
            ("08006", true),
            ("53300", true),
            ("57P01", true),
            ("57014", false),
            ("55P03", false),
            ("40001", false),
            ("22003", false),
        ] {
            assert_eq!(is_gone(&refused(code)), gone, "{code}");
        }
        let overtaken = PgError::Overtaken.during("testing");
        assert!(is_conflict(&overtaken) && !is_gone(&overtaken));
        for gone in [
            PgError::from(sqlx::Error::PoolClosed),
            PgError::Silent,
            PgError::Stopped,
            PgError::OutcomeUnknown(Box::new(PgError::Silent)),
        ] {
            let gone = gone.during("testing");
            assert!(is_gone(&gone) && !is_conflict(&gone), "{gone:?}");
        }
        let bug = PgError::Missing("opt_out").during("testing");
        assert!(!is_gone(&bug) && !is_conflict(&bug));
    }

    #[test]
    fn a_row_that_cannot_be_read_is_named_by_table_column_and_id() {
        let error = PgError::invalid("status").in_row("message", Some(Uuid::from_u128(7)));
        // A row that is read as part of another keeps its own name.
        let error = error.in_row("conversation", None).during("testing");
        let StoreError::Internal { source: Some(source), .. } = error else { panic!("internal") };
        let expected = "cannot read column status of table message, \
                        row 00000000-0000-0000-0000-000000000007: invalid value";
        assert_eq!(source.to_string(), expected);
    }
}
