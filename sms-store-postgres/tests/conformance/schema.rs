//! The schema explains itself, and errors of the database are handled by kind.

use sms_conformance::Rig;
use sms_conformance::rig::{request, taken};
use sms_core::message::MessageStatus;
use sms_core::store::{CommitError, StoreError};
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::Own;
use crate::postgres::Act;

/// The tests by name.
pub(crate) const TESTS: &[(&str, Act)] = &[
    ("schema::every_table_index_and_constraint_says_what_it_is_for", |rig, url| {
        Box::pin(everything_is_commented(rig, url))
    }),
    ("error::a_serialization_failure_or_a_deadlock_is_retried", |rig, url| {
        Box::pin(run_again(rig, url))
    }),
    ("error::any_other_error_is_internal_and_reveals_no_row", |rig, url| {
        Box::pin(internal(rig, url))
    }),
];

async fn run(url: &str, sql: String) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    connection.execute(AssertSqlSafe(sql)).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
}

async fn everything_is_commented(_rig: &Rig, url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let bare: Vec<String> = sqlx::query_scalar(
        "SELECT relname::text FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
           AND relname NOT LIKE '\\_sqlx%' AND obj_description(oid, 'pg_class') IS NULL
         UNION ALL
         SELECT conname::text FROM pg_constraint
         WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f')
           AND obj_description(oid, 'pg_constraint') IS NULL
         ORDER BY 1",
    )
    .fetch_all(&mut connection)
    .await
    .expect("the catalogue is read");
    connection.close().await.expect("the connection ends");
    assert_eq!(bare, Vec::<String>::new(), "say what these are for: COMMENT ON … IS …");
}

/// Makes the first statement that writes to this table fail with this SQLSTATE.
async fn fail_first(url: &str, table: &str, state: &str) {
    // A sequence is not rolled back: only the first statement fails.
    let sql = format!(
        "CREATE SEQUENCE {table}_writes;
             CREATE FUNCTION {table}_fails() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF nextval('{table}_writes') = 1 THEN
                     RAISE EXCEPTION 'a row with +4477%', '00900123' USING ERRCODE = '{state}';
                 END IF;
                 RETURN NULL;
             END $$;
             CREATE TRIGGER fails BEFORE INSERT OR UPDATE OR DELETE ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION {table}_fails();"
    );
    run(url, sql).await;
}

/// Removes the failure. It must have happened, and the command must have been retried.
async fn mend(url: &str, table: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let writes: i64 =
        sqlx::query_scalar(AssertSqlSafe(format!("SELECT last_value FROM {table}_writes")))
            .fetch_one(&mut connection)
            .await
            .expect("the sequence is read");
    connection.close().await.expect("the connection ends");
    assert!(writes >= 2, "{table} was written {writes} times");
    let sql = format!(
        "DROP TRIGGER fails ON {table}; DROP FUNCTION {table}_fails; DROP SEQUENCE {table}_writes"
    );
    run(url, sql).await;
}

async fn run_again(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    // A serialization failure, and a deadlock.
    for state in ["40001", "40P01"] {
        fail_first(url, "account", state).await;
        let text = rig.text(&account, 1).await;
        mend(url, "account").await;

        fail_first(url, "queue", state).await;
        let hand = rig.claim(1).await;
        assert_eq!(hand.ids(), [text.id]);
        mend(url, "queue").await;

        fail_first(url, "message", state).await;
        rig.finish(&hand, &taken()).await;
        mend(url, "message").await;

        fail_first(url, "message", state).await;
        rig.deliver(text.id).await;
        assert_eq!(rig.status(&account, text.id).await, MessageStatus::Delivered);
        mend(url, "message").await;
    }
    assert_eq!(rig.balance(&account).await, 8);
}

async fn internal(rig: &Rig, url: &str) {
    let account = rig.account(10).await;
    fail_first(url, "account", "XX000").await;
    let plan = rig.plan(&account, &request([1]));
    let refused = rig.accept(plan).await.expect_err("the server fails");
    let CommitError::Store(error) = refused else { panic!("{refused:?}") };
    assert!(matches!(error, StoreError::Internal { .. }), "{error:?}");
    let told = format!("{error:?} {error}");
    assert!(told.contains("XX000") && !told.contains("447700900123"), "{told}");
    assert_eq!(rig.balance(&account).await, 10);
}

/// Another version migrated the database: a newer one, or one from before the first release.
pub(crate) async fn a_database_with_unknown_migrations_is_refused_in_plain_words(own: Own) {
    let foreign = "INSERT INTO _sqlx_migrations
                       (version, description, success, checksum, execution_time)
                   VALUES (20261121100000, 'account and credits', true, '\\x00', 0)";
    run(&own.url, foreign.to_owned()).await;
    let refused = own.store.migrate().await.expect_err("the migration is not known").to_string();
    let told = "the database has run migration 20261121100000, which this program does not have";
    assert!(refused.starts_with(told), "{refused}");
    assert!(refused.ends_with("create a new database"), "{refused}");
}

/// The schema of this program.
const NEWEST_HERE: &str = "(SELECT max(version) FROM _sqlx_migrations WHERE description <> 'new')";

/// Pretends that a newer program ran this migration, after which programs from `lowest` on may
/// serve.
async fn migrate_as_newer(own: &Own, version: i64, lowest: &str) {
    let declared = format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({version}, 'new', true, '\\x00', 0);
         INSERT INTO schema_compatibility (migration, lowest) VALUES ({version}, {lowest})"
    );
    run(&own.url, declared).await;
}

pub(crate) async fn an_older_program_serves_a_newer_schema_that_allows_it(own: Own) {
    migrate_as_newer(&own, 20_991_231_000_000, NEWEST_HERE).await;
    for _ in 0..2 {
        own.store.migrate().await.expect("this program may still serve");
    }
    let rig = own.rig(&own.store);
    let account = rig.account(10).await;
    rig.text(&account, 1).await;
}

pub(crate) async fn an_older_program_refuses_a_newer_schema_that_excludes_it(own: Own) {
    migrate_as_newer(&own, 20_991_231_000_000, "20991231000000").await;
    let refused = own.store.migrate().await.expect_err("this program is too old").to_string();
    let told = "a newer version of this program migrated the database to schema 20991231000000";
    assert!(refused.starts_with(told), "{refused}");
    assert!(refused.ends_with("run a version with schema 20991231000000 or later"), "{refused}");
}

pub(crate) async fn every_migration_declares_which_programs_may_serve(own: Own) {
    let mut connection = PgConnection::connect(&own.url).await.expect("the server answers");
    let bare: Vec<i64> = sqlx::query_scalar(
        "SELECT version FROM _sqlx_migrations
         WHERE version NOT IN (SELECT migration FROM schema_compatibility)",
    )
    .fetch_all(&mut connection)
    .await
    .expect("the tables are read");
    connection.close().await.expect("the connection ends");
    assert_eq!(bare, Vec::<i64>::new());
}

/// A wrong address says what to check.
pub(crate) async fn a_database_that_cannot_be_reached_says_what_to_check(own: Own) {
    let (server, _) = own.url.rsplit_once('/').expect("the database is the last part");
    let (before, _) = server.rsplit_once(':').expect("it has a port");
    for (url, told) in [
        (format!("{server}/nosuch"), "has no database \"nosuch\": create it (`createdb nosuch`)"),
        (format!("{before}:1/sms"), ":1 (error communicating with database: Connection refused"),
    ] {
        let connected = PgStore::connect(&url, PgSettings { connections: 1 }).await;
        let why = connected.expect_err("it is refused").to_string();
        assert!(why.contains(told) && why.contains("check"), "{why}");
    }
}
