//! Reads and writes rows of the copy's catalogue.

use chrono::{DateTime, Utc};
use sms_copy::{Column, Kind, Place, Portion, Row, Table, Value};
use sms_core::time::Timestamp;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Row as _};
use uuid::Uuid;

use super::hooks;
use super::tables::{Kept, Made, TABLES};
use crate::error::{PgError, PgResult};
use crate::row::Read as _;

pub(super) fn kept(table: &Table) -> PgResult<&'static Kept> {
    let found = TABLES.iter().find(|kept| kept.name == table.name);
    found.ok_or(PgError::Missing("the tables that are copied"))
}

impl Kept {
    fn made(&self, column: &str) -> Option<&Made> {
        self.made.iter().find(|made| made.column == column)
    }

    /// What a column of the catalogue is called here.
    pub(super) fn name_of(&self, column: &'static str) -> &'static str {
        match self.renamed.iter().find(|(name, _)| *name == column) {
            Some((_, name)) => name,
            None if column == "account" => "account_id",
            None => column,
        }
    }

    fn out(&self, column: Column) -> String {
        let name = column.name;
        let from = self.made(name).map(|made| made.out.to_owned());
        let from = from.unwrap_or_else(|| format!("t.{}", self.name_of(name)));
        match column.kind {
            Kind::Timeline => format!("({from})::text AS {name}, t.sending_at"),
            kind => format!("({from})::{} AS \"{name}\"", type_of(kind)),
        }
    }

    /// The columns that a column of the catalogue is written to, with what is written.
    fn written_to(&self, column: Column) -> Vec<(&'static str, String)> {
        match self.made(column.name) {
            Some(made) => {
                made.into.iter().map(|(into, made)| (*into, (*made).to_owned())).collect()
            }
            None => vec![(self.name_of(column.name), format!("r.\"{}\"", column.name))],
        }
    }

    /// All columns that are copied or known to follow from others.
    pub(super) fn columns(&self, table: &Table) -> Vec<&'static str> {
        let into = table.columns.iter().flat_map(|column| self.written_to(*column));
        let added = self.added.iter().map(|(column, _)| *column);
        into.map(|(into, _)| into).chain(added).chain(self.own.iter().copied()).collect()
    }

    fn select(&self, table: &Table, after: Option<&Place>) -> String {
        let columns: Vec<String> = table.columns.iter().map(|column| self.out(*column)).collect();
        let keys: Vec<String> = self.key.iter().map(|(key, _)| format!("t.{key}")).collect();
        let texts: Vec<String> = (self.key.iter().enumerate())
            .map(|(place, (key, _))| format!("t.{key}::text AS key_{place}"))
            .collect();
        let given: Vec<String> = (self.key.iter().enumerate())
            .map(|(place, (_, kind))| format!("${}::text::{kind}", place + 2))
            .collect();
        let after = match after {
            None => String::new(),
            Some(_) => format!("AND ({}) > ({})", keys.join(", "), given.join(", ")),
        };
        format!(
            "SELECT {}, {} FROM {} t WHERE {} {after} ORDER BY {} LIMIT $1",
            columns.join(", "),
            texts.join(", "),
            self.table,
            self.only,
            keys.join(", ")
        )
    }

    fn insert(&self, table: &Table) -> String {
        let mut given = Vec::new();
        let mut names = Vec::new();
        let mut columns = Vec::new();
        let mut values = Vec::new();
        let mut take = |name: &str, kind: &str| {
            given.push(format!("${}::{kind}[]", given.len() + 1));
            names.push(format!("\"{name}\""));
        };
        for column in table.columns {
            take(column.name, type_of(column.kind));
            if let Some((name, kind)) = hooks::extra(table, *column) {
                take(name, kind);
            }
            for (into, value) in self.written_to(*column) {
                columns.push(into);
                values.push(value);
            }
        }
        for (into, value) in self.added {
            columns.push(into);
            values.push((*value).to_owned());
        }
        format!(
            "INSERT INTO {} ({}) SELECT {} FROM UNNEST({}) AS r({})",
            self.table,
            columns.join(", "),
            values.join(", "),
            given.join(", "),
            names.join(", ")
        )
    }
}

fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Id => "uuid",
        Kind::Whole => "bigint",
        Kind::Time => "timestamptz",
        Kind::Flag => "boolean",
        Kind::Text | Kind::Json | Kind::Timeline => "text",
        Kind::Bytes => "bytea",
    }
}

pub(super) async fn read(
    connection: &mut PgConnection,
    table: &'static Table,
    after: Option<&Place>,
    limit: usize,
) -> PgResult<Portion> {
    let kept = kept(table)?;
    let mut query = sqlx::query(AssertSqlSafe(kept.select(table, after)))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    for part in after.into_iter().flatten() {
        query = query.bind(part.clone());
    }
    let found = query.fetch_all(connection).await?;
    let mut rows = Vec::with_capacity(found.len());
    for row in &found {
        rows.push(row.in_table(kept.table, || row_of(table, row))?);
    }
    let last = match found.last() {
        None => Place::new(),
        Some(row) => {
            let part = |place| row.try_get::<String, _>(format!("key_{place}").as_str());
            (0..kept.key.len()).map(part).collect::<Result<_, _>>()?
        }
    };
    Ok(Portion { rows, last })
}

fn row_of(table: &Table, row: &PgRow) -> PgResult<Row> {
    let mut values = Vec::with_capacity(table.columns.len());
    for column in table.columns {
        values.push(match column.kind {
            // It needs the other columns.
            Kind::Timeline => Value::Null,
            _ => value_of(*column, row)?,
        });
    }
    if let Some(place) = table.place("timeline") {
        let timeline = hooks::timeline(table, &values, row)?;
        values[place] = Value::Timeline(timeline);
    }
    Ok(values)
}

fn value_of(column: Column, row: &PgRow) -> PgResult<Value> {
    let name = column.name;
    let value = match column.kind {
        Kind::Id => row.try_get::<Option<Uuid>, _>(name)?.map(|id| Value::Id(id.as_u128())),
        Kind::Whole => row.try_get::<Option<i64>, _>(name)?.map(Value::Whole),
        Kind::Time => row.maybe_at(name)?.map(|at| Value::Whole(at.as_millis())),
        Kind::Flag => row.try_get::<Option<bool>, _>(name)?.map(Value::Flag),
        Kind::Text | Kind::Json | Kind::Timeline => {
            row.try_get::<Option<String>, _>(name)?.map(Value::Text)
        }
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(name)?.map(Value::Bytes),
    };
    Ok(value.unwrap_or(Value::Null))
}

/// Writes rows with one statement.
pub(super) async fn write(
    connection: &mut PgConnection,
    table: &'static Table,
    rows: &[Row],
) -> PgResult<()> {
    let kept = kept(table)?;
    let mut query = sqlx::query(AssertSqlSafe(kept.insert(table)));
    for (place, column) in table.columns.iter().enumerate() {
        query = match (table.name, column.name) {
            ("message", "timeline") => {
                let lines = rows.iter().map(|row| hooks::lines(table, row));
                let lines: Vec<_> = lines.collect::<PgResult<_>>()?;
                let (stored, sending_at): (Vec<String>, Vec<Option<DateTime<Utc>>>) =
                    lines.into_iter().unzip();
                query.bind(stored).bind(sending_at)
            }
            ("contact", "custom") => {
                let searched = rows.iter().map(|row| hooks::searched(table, row));
                let searched: Vec<String> = searched.collect::<PgResult<_>>()?;
                bind(query, *column, place, rows)?.bind(searched)
            }
            _ => bind(query, *column, place, rows)?,
        };
    }
    query.execute(connection).await?;
    Ok(())
}

type Insert = Query<'static, Postgres, PgArguments>;

/// Binds the values of a column.
fn bind(query: Insert, column: Column, place: usize, rows: &[Row]) -> PgResult<Insert> {
    Ok(match column.kind {
        Kind::Id => query.bind(all(column, place, rows, |value| match value {
            Value::Id(id) => Some(Uuid::from_u128(*id)),
            _ => None,
        })?),
        Kind::Whole => query.bind(all(column, place, rows, |value| match value {
            Value::Whole(number) => Some(*number),
            _ => None,
        })?),
        Kind::Time => query.bind(all(column, place, rows, |value| match value {
            Value::Whole(millis) => Some(Timestamp::from_millis(*millis).to_chrono()),
            _ => None,
        })?),
        Kind::Flag => query.bind(all(column, place, rows, |value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        })?),
        Kind::Text | Kind::Json | Kind::Timeline => {
            query.bind(all(column, place, rows, |value| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })?)
        }
        Kind::Bytes => query.bind(all(column, place, rows, |value| match value {
            Value::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        })?),
    })
}

/// The values of a column, if each is null or of its kind.
fn all<T>(
    column: Column,
    place: usize,
    rows: &[Row],
    read: impl Fn(&Value) -> Option<T>,
) -> PgResult<Vec<Option<T>>> {
    let value = |row: &Row| match row.get(place) {
        Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| PgError::invalid(column.name)),
        None => Err(PgError::invalid(column.name)),
    };
    rows.iter().map(value).collect()
}
