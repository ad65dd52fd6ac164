//! Copies that are refused, and copies whose differences are found.

use std::sync::Arc;

use async_trait::async_trait;
use sms_conformance::rig::request;
use sms_conformance::{Rig, ThreadRunner};
use sms_copy::{CopyFailed, Journal, Place, Portable, Portion, Row, Side, Table, Value};
use sms_core::store::{Reads, StoreError};
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::rig::{Own, connect, copied, open};

/// A file with an account that has sent messages.
async fn filled(own: &Own, name: &str) -> SqliteStore {
    let store = SqliteStore::open(own.file(name)).expect("the file opens");
    let rig = Rig::new(Arc::new(store), Arc::new(ThreadRunner));
    let account = rig.account(1_000).await;
    rig.send(&account, &request(1..=20)).await;
    drop(rig);
    open(own.file(name))
}

async fn run(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    connection.execute(AssertSqlSafe(sql)).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
}

/// Fails as soon as a store has a table or a column that is neither copied nor listed as following
/// from what is: see `copy/tables.rs` in the store's crate.
pub(crate) async fn no_table_or_column_is_forgotten(own: Arc<Own>) {
    let file = open(own.file("a.db"));
    let url = own.database().await;
    let database = connect(&url).await;
    assert_eq!(file.unknown().await.expect("the schema is read"), Vec::<String>::new());
    assert_eq!(database.unknown().await.expect("the schema is read"), Vec::<String>::new());

    let more = "CREATE TABLE forgotten (id bigint); ALTER TABLE contact ADD COLUMN colour text";
    run(&url, more).await;
    assert_eq!(
        database.unknown().await.expect("the schema is read"),
        ["contact.colour", "forgotten.id"]
    );
    let refused = copied(&file, &database).await.expect_err("it is refused");
    assert!(matches!(refused, CopyFailed::Unknown { side: Side::Target, .. }), "{refused}");
    let refused = copied(&database, &file).await.expect_err("it is refused");
    assert!(matches!(refused, CopyFailed::Unknown { side: Side::Source, .. }), "{refused}");
    database.close().await;
}

pub(crate) async fn a_target_that_holds_data_is_refused(own: Arc<Own>) {
    let (file, other) = (filled(&own, "a.db").await, filled(&own, "b.db").await);
    let url = own.database().await;
    let database = connect(&url).await;
    copied(&file, &database).await.expect("the database is empty");
    for (from, to) in [(&file as &dyn Portable, &database as &dyn Portable), (&database, &other)] {
        let refused = copied(from, to).await.expect_err("it is refused").to_string();
        assert!(refused.contains("already holds data (account has 1 rows)"), "{refused}");
    }
    database.close().await;
}

pub(crate) async fn a_store_in_use_is_refused(own: Arc<Own>) {
    let file = filled(&own, "a.db").await;
    let again = SqliteStore::open(own.file("a.db")).expect_err("it is refused").to_string();
    assert!(again.contains("is in use by another program"), "{again}");
    let url = own.database().await;
    let server = PgStore::connect(&url, PgSettings { connections: 1 }).await.expect("it answers");
    let database = connect(&url).await;
    let refused = copied(&file, &database).await.expect_err("it is refused").to_string();
    assert!(refused.contains("use the target: stop all servers"), "{refused}");
    server.close().await;
    drop(server);
    copied(&file, &database).await.expect("the server has stopped");
    database.close().await;
}

pub(crate) async fn a_source_that_has_changed_is_refused(own: Arc<Own>) {
    let file = filled(&own, "a.db").await;
    let database = connect(&own.database().await).await;
    let stopped = Altered { store: &database, change: Change::StopAfterAccounts };
    copied(&file, &stopped).await.expect_err("the copy is interrupted");
    drop(file);

    // Somebody starts a server on the source, and a message is sent.
    let store = SqliteStore::open(own.file("a.db")).expect("the file opens");
    let rig = Rig::new(Arc::new(store), Arc::new(ThreadRunner));
    rig.advance(std::time::Duration::from_mins(1));
    let account = rig.account(10).await;
    rig.send(&account, &request([1])).await;
    drop(rig);
    let refused =
        copied(&open(own.file("a.db")), &database).await.expect_err("it is refused").to_string();
    assert!(refused.contains("the source has changed since"), "{refused}");
    database.close().await;
}

pub(crate) async fn a_row_that_differs_is_found(own: Arc<Own>) {
    let file = filled(&own, "a.db").await;
    for (change, wrong) in [(Change::LoseRow, "ledger_entry"), (Change::OtherBody, "message")] {
        let database = connect(&own.database().await).await;
        let altered = Altered { store: &database, change };
        let found = copied(&file, &altered).await.expect_err("it is refused");
        let CopyFailed::RowsDiffer { table, .. } = found else { panic!("{found}") };
        assert_eq!(table, wrong);
        assert!(database.migrate().await.is_err(), "no server opens it");
        database.close().await;
    }
    let database = connect(&own.database().await).await;
    copied(&file, &database).await.expect("everything is copied");
    for (change, wrong) in [(Change::LoseRow, "ledger_entry"), (Change::OtherBody, "message")] {
        let back = open(own.file(wrong));
        let altered = Altered { store: &back, change };
        let found = copied(&database, &altered).await.expect_err("it is refused");
        let CopyFailed::RowsDiffer { table, .. } = found else { panic!("{found}") };
        assert_eq!(table, wrong);
        drop(back);
        assert!(SqliteStore::open(own.file(wrong)).is_err(), "no server opens it");
    }
    database.close().await;
}

pub(crate) async fn a_list_that_reads_differently_is_found(own: Arc<Own>) {
    let store = SqliteStore::open(own.file("a.db")).expect("the file opens");
    let rig = Rig::new(Arc::new(store), Arc::new(ThreadRunner));
    let account = rig.account(10).await;
    let number = rig.dedicated_number(sms_conformance::rig::our_number(), &account).await;
    rig.inbound_routed(1, number.phone, "hello").await;
    drop(rig);
    let file = open(own.file("a.db"));
    let database = connect(&own.database().await).await;
    let altered = Altered { store: &database, change: Change::DeriveNothing };
    let found = copied(&file, &altered).await.expect_err("it is refused");
    let CopyFailed::ListsDiffer { list, .. } = found else { panic!("{found}") };
    assert_eq!(list, "unread messages");
    database.close().await;

    let database = connect(&own.database().await).await;
    copied(&file, &database).await.expect("everything is copied");
    let back = open(own.file("b.db"));
    let altered = Altered { store: &back, change: Change::DeriveNothing };
    let found = copied(&database, &altered).await.expect_err("it is refused");
    let CopyFailed::ListsDiffer { list, .. } = found else { panic!("{found}") };
    assert_eq!(list, "unread messages");
    database.close().await;
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    StopAfterAccounts,
    LoseRow,
    OtherBody,
    DeriveNothing,
}

/// A target that something goes wrong with.
struct Altered<'a> {
    store: &'a dyn Portable,
    change: Change,
}

#[async_trait]
impl Portable for Altered<'_> {
    fn lists(&self) -> &dyn Reads {
        self.store.lists()
    }

    async fn other_programs(&self) -> Result<u64, StoreError> {
        self.store.other_programs().await
    }

    async fn unknown(&self) -> Result<Vec<String>, StoreError> {
        self.store.unknown().await
    }

    async fn settle(&self) -> Result<(), StoreError> {
        self.store.settle().await
    }

    async fn count(&self, table: &'static Table) -> Result<u64, StoreError> {
        self.store.count(table).await
    }

    async fn read(
        &self,
        table: &'static Table,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Portion, StoreError> {
        self.store.read(table, after, limit).await
    }

    async fn journal(&self) -> Result<Option<Journal>, StoreError> {
        self.store.journal().await
    }

    async fn write(
        &self,
        table: &'static Table,
        mut rows: Vec<Row>,
        journal: Journal,
    ) -> Result<(), StoreError> {
        match (self.change, table.name) {
            (Change::LoseRow, "ledger_entry") => drop(rows.pop()),
            (Change::OtherBody, "message") => {
                let body = table.place("body").expect("messages have bodies");
                rows[7][body] = Value::Text("another".to_owned());
            }
            _ => {}
        }
        if self.change == Change::StopAfterAccounts && table.name != "account" {
            return Err(StoreError::Unavailable { doing: "being interrupted", source: None });
        }
        self.store.write(table, rows, journal).await
    }

    async fn derive(&self) -> Result<(), StoreError> {
        if self.change == Change::DeriveNothing { Ok(()) } else { self.store.derive().await }
    }

    async fn finish(&self) -> Result<(), StoreError> {
        self.store.finish().await
    }
}
