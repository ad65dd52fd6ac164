//! Whether this program may serve a database that a newer one has migrated.
//!
//! The schema of a program is the version of its newest migration. Each migration declares the
//! lowest schema whose programs may serve once it has run, and the table `schema_compatibility`
//! tells that to programs that do not have the migration.

use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};

/// Which programs that lack a migration may serve once it has run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Older {
    /// None.
    MayNotServe,
    /// Those whose schema is at least this.
    MayServeFrom(i64),
}

impl Older {
    /// The lowest schema that may serve once this migration has run.
    pub(crate) fn lowest(self, migration: i64) -> i64 {
        match self {
            Self::MayNotServe => migration,
            Self::MayServeFrom(lowest) => lowest,
        }
    }
}

/// A migration that the database has run and this program does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unknown {
    version: i64,
    /// The lowest schema that may serve; `None` if the database does not say.
    lowest: Option<i64>,
}

/// Who migrated a database that this program may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Programs with the same migrations, or with fewer.
    Own,
    /// A program with this schema, which is newer.
    Newer(i64),
}

/// Why this program may not serve.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Misfit {
    /// A newer program migrated the database and excluded this one.
    #[error(
        "a newer version of this program migrated the database to schema {database}; this version \
         has schema {own} and may not serve it any more: run a version with schema {lowest} or \
         later"
    )]
    Outdated {
        /// The newest migration of the database.
        database: i64,
        /// The newest migration of this program.
        own: i64,
        /// The lowest schema that may serve.
        lowest: i64,
    },
    /// The database does not say who may serve it.
    #[error(
        "the database has run migration {0}, which this program does not have: either a newer \
         program migrated it, then run that one, or it was created before the first release and \
         cannot be upgraded, then create a new database"
    )]
    Undeclared(i64),
}

/// Whether a program with this schema may serve.
pub(crate) fn fit(own: i64, unknown: &[Unknown]) -> Result<Fit, Misfit> {
    let mut fit = Fit::Own;
    let mut highest = own;
    for &Unknown { version, lowest } in unknown {
        let lowest = lowest.ok_or(Misfit::Undeclared(version))?;
        highest = highest.max(lowest);
        fit = match fit {
            Fit::Newer(newest) if newest > version => fit,
            _ => Fit::Newer(version),
        };
    }
    match fit {
        Fit::Newer(database) if highest > own => {
            Err(Misfit::Outdated { database, own, lowest: highest })
        }
        fit => Ok(fit),
    }
}

/// The migrations that the database has run and this program does not know.
pub(crate) async fn unknown(
    connection: &mut PgConnection,
    known: &[i64],
) -> PgResult<Vec<Unknown>> {
    let declares = sqlx::query_scalar("SELECT to_regclass('schema_compatibility') IS NOT NULL");
    let statement = if declares.fetch_one(&mut *connection).await? {
        "SELECT m.version, c.lowest
         FROM _sqlx_migrations m LEFT JOIN schema_compatibility c ON c.migration = m.version
         WHERE m.version <> ALL($1) ORDER BY m.version"
    } else {
        "SELECT m.version, NULL::bigint AS lowest
         FROM _sqlx_migrations m WHERE m.version <> ALL($1) ORDER BY m.version"
    };
    let rows = sqlx::query(statement).bind(known).fetch_all(connection).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Unknown { version: row.try_get("version")?, lowest: row.try_get("lowest")? })
    };
    rows.iter().map(read).collect::<Result<_, sqlx::Error>>().map_err(PgError::from)
}

/// Tells other programs who may serve. A migration that has been declared stays as it is.
pub(crate) async fn declare(
    connection: &mut PgConnection,
    migrations: &[i64],
    lowest: &[i64],
) -> PgResult<()> {
    sqlx::query(
        "INSERT INTO schema_compatibility (migration, lowest)
         SELECT * FROM UNNEST($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING",
    )
    .bind(migrations)
    .bind(lowest)
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_serves_a_newer_schema_if_every_migration_it_lacks_says_so() {
        let lacks = |version, lowest| Unknown { version, lowest };
        let outdated = |database, lowest| Err(Misfit::Outdated { database, own: 10, lowest });
        for (unknown, expected) in [
            (vec![], Ok(Fit::Own)),
            (vec![lacks(11, Some(10))], Ok(Fit::Newer(11))),
            (vec![lacks(11, Some(3)), lacks(12, Some(10))], Ok(Fit::Newer(12))),
            // One that was added between those of this program.
            (vec![lacks(9, Some(9)), lacks(12, Some(10))], Ok(Fit::Newer(12))),
            (vec![lacks(11, Some(11))], outdated(11, 11)),
            (vec![lacks(11, Some(11)), lacks(12, Some(10))], outdated(12, 11)),
            (vec![lacks(11, Some(10)), lacks(12, None)], Err(Misfit::Undeclared(12))),
        ] {
            assert_eq!(fit(10, &unknown), expected, "{unknown:?}");
        }
    }
}
