//! The store as the source or the target of a copy.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::types::{Value as Stored, ValueRef};
use rusqlite::{Row as StoredRow, params_from_iter};
use sms_copy::{Column, Journal, Kind, Place, Portable, Portion, Row, Table, Value};
use sms_core::ids::AccountId;
use sms_core::store::{Reads, StoreError};

use crate::chores::{self, Moment};
use crate::command::Size;
use crate::db::Db;
use crate::error::{Invalid, Missing, OpenError, SqlResult};
use crate::message_row::{STRETCH_SHIFT, stored, timeline};
use crate::open::Purpose;
use crate::row::size;
use crate::{SqliteSettings, SqliteStore};

mod tables;

use tables::{Form, Kept, NOT_COPIED, TABLES};

impl SqliteStore {
    /// Opens the file, or makes it, to copy from it or to it. In contrast to
    /// [`open`](SqliteStore::open) it may hold an unfinished copy.
    ///
    /// # Errors
    ///
    /// As [`open`](SqliteStore::open).
    pub fn open_to_copy(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_for(path.as_ref(), SqliteSettings::default(), Purpose::Copy)
    }
}

/// A column of the catalogue with the form in which it is kept; `None` if it is kept as it is.
#[derive(Clone)]
struct Shape {
    column: Column,
    form: Shaped,
}

#[derive(Clone)]
enum Shaped {
    Plain,
    Account,
    OfList,
    Zero,
    Place(Vec<&'static str>),
}

/// A table with the shapes of its columns.
struct Shapes {
    kept: &'static Kept,
    columns: Vec<Shape>,
}

impl Shapes {
    fn of(table: &Table) -> SqlResult<Self> {
        let kept = TABLES.iter().find(|kept| kept.table == table.name);
        let kept = kept.ok_or_else(|| Missing::error("a table of the catalogue"))?;
        let shape = |column: &Column| {
            let form = kept.forms.iter().find(|(name, _)| *name == column.name);
            let form = match form {
                Some((_, Form::Place(names))) => Shaped::Place(names()),
                Some((_, Form::Zero)) => Shaped::Zero,
                Some((_, Form::OfList)) => Shaped::OfList,
                None if column.name == "account" => Shaped::Account,
                None => Shaped::Plain,
            };
            Shape { column: *column, form }
        };
        Ok(Self { kept, columns: table.columns.iter().map(shape).collect() })
    }

    /// The columns that are kept here.
    fn here(&self) -> impl Iterator<Item = &Shape> {
        self.columns.iter().filter(|shape| !matches!(shape.form, Shaped::OfList))
    }

    fn names(&self) -> Vec<&'static str> {
        self.here().map(|shape| shape.column.name).collect()
    }

    fn select(&self, from: From) -> String {
        let (table, key) = (self.kept.table, self.kept.key.join(", "));
        let after = match from {
            From::Start => String::new(),
            From::After => {
                let marks: Vec<String> =
                    (0..self.kept.key.len()).map(|place| format!("?{}", place + 2)).collect();
                format!("WHERE ({key}) > ({})", marks.join(", "))
            }
        };
        let columns = self.names().join(", ");
        format!("SELECT {columns}, {key} FROM {table} {after} ORDER BY {key} LIMIT ?1")
    }

    fn insert(&self) -> String {
        let names = self.names();
        let mut columns = names.join(", ");
        let mut values: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        if self.kept.table == "queue" {
            columns.push_str(", turn, was_held");
            values.push("(SELECT a.id FROM account a WHERE a.no = ?2)".to_owned());
            values.push("coalesce((SELECT status = 2 FROM message WHERE id = ?1), 1)".to_owned());
        }
        format!("INSERT INTO {} ({columns}) VALUES ({})", self.kept.table, values.join(", "))
    }
}

#[derive(Clone, Copy)]
enum From {
    Start,
    After,
}

fn read(db: &Db, table: &Table, after: Option<&Place>, limit: usize) -> SqlResult<Portion> {
    let shapes = Shapes::of(table)?;
    let from = if after.is_some() { From::After } else { From::Start };
    let mut given = vec![Stored::Integer(size(limit))];
    for part in after.into_iter().flatten() {
        given.push(part_of_key(part).ok_or_else(|| invalid("the place of the copy"))?);
    }
    let mut statement = db.sql.prepare_cached(&shapes.select(from))?;
    let mut found = statement.query(params_from_iter(given))?;
    let mut portion = Portion::default();
    let lists = ListsSeen::default();
    while let Some(row) = found.next()? {
        portion.rows.push(row_of(db, &shapes, &lists, row)?);
        let width = shapes.here().count();
        let key = (width..width + shapes.kept.key.len()).map(|place| Ok(text(row.get_ref(place)?)));
        portion.last = key.collect::<SqlResult<_>>()?;
    }
    Ok(portion)
}

fn row_of(db: &Db, shapes: &Shapes, lists: &ListsSeen, row: &StoredRow<'_>) -> SqlResult<Row> {
    let mut place = 0;
    let mut values = Vec::with_capacity(shapes.columns.len());
    for shape in &shapes.columns {
        if let Shaped::OfList = shape.form {
            // `list_id` comes first among the columns that are kept.
            values.push(Value::Id(lists.account_of(db, row.get(0)?)?.as_u128()));
            continue;
        }
        let value = value_of(db, shape, row.get_ref(place)?)?;
        values.push(value.ok_or_else(|| invalid(shape.column.name))?);
        place += 1;
    }
    Ok(values)
}

/// The account of the list that was asked for last: members come list by list.
#[derive(Default)]
struct ListsSeen(Cell<Option<([u8; 16], AccountId)>>);

impl ListsSeen {
    fn account_of(&self, db: &Db, list: [u8; 16]) -> SqlResult<AccountId> {
        if let Some((_, account)) = self.0.get().filter(|(seen, _)| *seen == list) {
            return Ok(account);
        }
        let query = "SELECT account FROM contact_list WHERE id = ?1";
        let found = db.one(query, [list], |c| c.get::<i64>())?;
        let account = db.account_id(found.ok_or_else(|| Missing::error("contact list"))?)?;
        self.0.set(Some((list, account)));
        Ok(account)
    }
}

/// A stored value in the form of the catalogue; `None` if it cannot be read.
fn value_of(db: &Db, shape: &Shape, stored: ValueRef<'_>) -> SqlResult<Option<Value>> {
    Ok(match (&shape.form, shape.column.kind, stored) {
        (_, _, ValueRef::Null) | (Shaped::Zero, _, ValueRef::Integer(0)) => Some(Value::Null),
        // The operator's idempotency keys.
        (Shaped::Account, _, ValueRef::Integer(0)) => Some(Value::Id(0)),
        (Shaped::Account, _, ValueRef::Integer(no)) => {
            Some(Value::Id(db.account_id(no)?.as_u128()))
        }
        (Shaped::Place(names), _, ValueRef::Integer(place)) => {
            let name = usize::try_from(place).ok().and_then(|place| names.get(place));
            name.map(|name| Value::Text((*name).to_owned()))
        }
        (_, Kind::Whole | Kind::Time, ValueRef::Integer(number)) => Some(Value::Whole(number)),
        (_, Kind::Flag, ValueRef::Integer(flag)) => Some(Value::Flag(flag != 0)),
        (_, Kind::Text | Kind::Json, ValueRef::Text(bytes)) => {
            String::from_utf8(bytes.to_vec()).ok().map(Value::Text)
        }
        (_, Kind::Timeline, ValueRef::Text(bytes)) => {
            std::str::from_utf8(bytes).ok().and_then(timeline).map(Value::Timeline)
        }
        (_, Kind::Id, ValueRef::Blob(bytes)) => {
            bytes.try_into().ok().map(|bytes| Value::Id(u128::from_be_bytes(bytes)))
        }
        (_, Kind::Bytes, ValueRef::Blob(bytes)) => Some(Value::Bytes(bytes.to_vec())),
        _ => None,
    })
}

/// A value of the catalogue in the form that is stored; `None` if there is none.
fn stored_of(db: &Db, shape: &Shape, value: &Value) -> SqlResult<Option<Stored>> {
    Ok(Some(match (&shape.form, value) {
        (Shaped::Zero, Value::Null) | (Shaped::Account, Value::Id(0)) => Stored::Integer(0),
        (_, Value::Null) => Stored::Null,
        (Shaped::Account, Value::Id(id)) => {
            Stored::Integer(db.known_account(AccountId::from_u128(*id))?)
        }
        (Shaped::Place(names), Value::Text(name)) => {
            let place = names.iter().position(|one| one == name);
            return Ok(place.map(|place| Stored::Integer(size(place))));
        }
        (_, Value::Id(id)) => Stored::Blob(id.to_be_bytes().to_vec()),
        (_, Value::Whole(number)) => Stored::Integer(*number),
        (_, Value::Flag(flag)) => Stored::Integer(i64::from(*flag)),
        (_, Value::Text(text)) => Stored::Text(text.clone()),
        (_, Value::Bytes(bytes)) => Stored::Blob(bytes.clone()),
        (_, Value::Timeline(lines)) => Stored::Text(stored(lines)),
    }))
}

/// A part of a key as text, with its type.
fn text(part: ValueRef<'_>) -> String {
    match part {
        ValueRef::Integer(number) => format!("i{number}"),
        ValueRef::Text(text) => format!("t{}", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => {
            bytes.iter().fold("b".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        // No key has such a column.
        ValueRef::Null | ValueRef::Real(_) => String::new(),
    }
}

fn part_of_key(text: &str) -> Option<Stored> {
    let (kind, rest) = text.split_at_checked(1)?;
    match kind {
        "i" => rest.parse().ok().map(Stored::Integer),
        "t" => Some(Stored::Text(rest.to_owned())),
        "b" => {
            let byte = |place| u8::from_str_radix(rest.get(place..place + 2)?, 16).ok();
            (0..rest.len()).step_by(2).map(byte).collect::<Option<_>>().map(Stored::Blob)
        }
        _ => None,
    }
}

fn invalid(what: &str) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(Invalid(what.to_owned())))
}

fn write(db: &Db, table: &Table, rows: &[Row], journal: &Journal) -> SqlResult<()> {
    db.sql.execute_batch(
        "CREATE TABLE IF NOT EXISTS copy_journal (
             is_only INTEGER PRIMARY KEY CHECK (is_only = 1), journal TEXT NOT NULL) STRICT",
    )?;
    let put = "INSERT OR REPLACE INTO copy_journal (is_only, journal) VALUES (1, ?1)";
    db.run(put, [journal.to_text()])?;
    let shapes = Shapes::of(table)?;
    let message = (table.name == "message").then(|| table.place("id")).flatten();
    let mut insert = db.sql.prepare_cached(&shapes.insert())?;
    for row in rows {
        let mut values = Vec::with_capacity(row.len());
        for (shape, value) in shapes.columns.iter().zip(row) {
            if let Shaped::OfList = shape.form {
                continue;
            }
            let stored = stored_of(db, shape, value)?;
            values.push(stored.ok_or_else(|| invalid(shape.column.name))?);
        }
        insert.execute(params_from_iter(values))?;
        if let Some(Value::Id(id)) = message.and_then(|place| row.get(place)) {
            db.note_stretch(db.sql.last_insert_rowid() >> STRETCH_SHIFT, *id);
        }
    }
    Ok(())
}

/// Tables and columns that are neither copied nor known to follow from what is.
fn unknown(db: &Db) -> SqlResult<Vec<String>> {
    let tables = db.all(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'
             ESCAPE '\\' ORDER BY name",
        [],
        |c| c.get::<String>(),
    )?;
    let mut unknown = Vec::new();
    for name in tables {
        if NOT_COPIED.iter().any(|(table, _)| *table == name) {
            continue;
        }
        let Some(table) = sms_copy::TABLES.iter().find(|table| table.name == name) else {
            unknown.push(name);
            continue;
        };
        let shapes = Shapes::of(table)?;
        let known = shapes.names();
        let columns =
            db.all("SELECT name FROM pragma_table_xinfo(?1)", [&name], |c| c.get::<String>())?;
        let is_known = |column: &String| {
            known.iter().chain(shapes.kept.own).any(|one| *one == column.as_str())
        };
        let others = columns.into_iter().filter(|column| !is_known(column));
        unknown.extend(others.map(|column| format!("{name}.{column}")));
    }
    Ok(unknown)
}

#[async_trait]
impl Portable for SqliteStore {
    fn lists(&self) -> &dyn Reads {
        self
    }

    async fn other_programs(&self) -> Result<u64, StoreError> {
        // The lock of the file keeps them out.
        Ok(0)
    }

    async fn unknown(&self) -> Result<Vec<String>, StoreError> {
        self.read("reading the schema", unknown).await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        let doing = "doing what was left for later";
        while self.write_sized(doing, Size::Portion, |db| chores::portion(db, Moment::Idle)).await?
        {
        }
        Ok(())
    }

    async fn count(&self, table: &'static Table) -> Result<u64, StoreError> {
        let query = format!("SELECT count(*) FROM {}", table.name);
        let count = self.read("counting rows", move |db| db.one(&query, [], |c| c.whole()));
        Ok(count.await?.unwrap_or_default())
    }

    async fn read(
        &self,
        table: &'static Table,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Portion, StoreError> {
        let after = after.cloned();
        let doing = "reading rows to copy";
        self.read(doing, move |db| read(db, table, after.as_ref(), limit)).await
    }

    async fn journal(&self) -> Result<Option<Journal>, StoreError> {
        let kept = self.read("reading how far the copy has come", |db| {
            if !has_journal(db)? {
                return Ok(None);
            }
            let kept = db.one("SELECT journal FROM copy_journal", [], |c| c.get::<String>())?;
            kept.map(|text| Journal::from_text(&text).ok_or_else(|| invalid("journal"))).transpose()
        });
        kept.await
    }

    async fn write(
        &self,
        table: &'static Table,
        rows: Vec<Row>,
        journal: Journal,
    ) -> Result<(), StoreError> {
        let doing = "writing copied rows";
        let rows = Arc::new(rows);
        self.write_sized(doing, Size::Portion, move |db| write(db, table, &rows, &journal)).await
    }

    async fn derive(&self) -> Result<(), StoreError> {
        self.write("adding up unread messages", |db| {
            db.run(
                "UPDATE account SET unread = (SELECT coalesce(sum(c.unread), 0)
                     FROM conversation c WHERE c.account = account.no)",
                [],
            )?;
            let last = "UPDATE event_count SET seq = (SELECT coalesce(max(seq), 0) FROM event)";
            db.run(last, []).map(drop)
        })
        .await
    }

    async fn finish(&self) -> Result<(), StoreError> {
        let drop = |db: &Db| db.sql.execute_batch("DROP TABLE copy_journal");
        self.write("ending the copy", drop).await
    }
}

fn has_journal(db: &Db) -> SqlResult<bool> {
    db.has("SELECT 1 FROM sqlite_schema WHERE name = 'copy_journal'", [])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_key_is_read_as_it_was_written() {
        for part in [
            Stored::Integer(-5),
            Stored::Text("é t".to_owned()),
            Stored::Text(String::new()),
            Stored::Blob(vec![0, 255]),
        ] {
            assert_eq!(part_of_key(&text(ValueRef::from(&part))), Some(part));
        }
        for text in ["", "x", "b1", "bzz", "i", "ib"] {
            assert_eq!(part_of_key(text), None, "{text}");
        }
    }
}
