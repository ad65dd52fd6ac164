//! A server goes on while a newer one migrates the database: its connections keep statements that
//! were prepared before.

use std::sync::Arc;

use sms_conformance::rig::{request, request_with_key};
use sms_core::for_stores::Health;
use sms_core::idempotency::Replay;
use sms_store_postgres::{PgSettings, PgStore};
use sqlx::{Connection, Executor};

use super::ALONE;
use super::commands::Commands;
use super::hot::connect;
use crate::Own;

/// The items of a command.
const FEW: u64 = 10;

/// Adds a column to every table, as migrations do one by one.
const ADD_COLUMNS: &str = "DO $$ DECLARE one text; BEGIN
     FOR one IN SELECT oid::regclass::text FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
             AND relname NOT LIKE '\\_sqlx%'
     LOOP EXECUTE format('ALTER TABLE %s ADD COLUMN added_later integer', one); END LOOP;
 END $$";

async fn run(url: &str, sql: &'static str) {
    let mut connection = connect(url).await;
    connection.execute(sql).await.expect("the statement runs");
    connection.close().await.expect("the connection ends");
}

/// The one connection of the store's pool.
async fn pooled(store: &PgStore, url: &str) -> i32 {
    store.health_check().await.expect("the server answers");
    let mut connection = connect(url).await;
    let last = "SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                    AND query LIKE 'SELECT NOT pg_is_in_recovery%'";
    let pid = sqlx::query_scalar(last).fetch_one(&mut connection).await.expect("it is open");
    connection.close().await.expect("the connection ends");
    pid
}

/// No statement fails when a table gets another column, so that no connection is replaced.
pub(crate) async fn commands_go_on_when_a_migration_adds_columns(own: Own) {
    let _alone = ALONE.lock().await;
    own.store.close().await;
    let store = PgStore::connect(&own.url, PgSettings { connections: 1 }).await;
    let store = store.expect("it answers");
    let mut commands = Commands::start(Arc::new(store.clone()), own.rig(&store)).await;
    commands.run(FEW).await;
    let before = pooled(&store, &own.url).await;
    run(&own.url, ADD_COLUMNS).await;
    commands.run(FEW).await;
    assert_eq!(pooled(&store, &own.url).await, before, "a statement failed");
    store.close().await;
}

/// A migration may change what a statement answers even if its columns are named. Then the command
/// runs again on a new connection.
pub(crate) async fn a_command_whose_statement_a_migration_changed_runs_again(own: Own) {
    let _alone = ALONE.lock().await;
    own.store.close().await;
    let store = PgStore::connect(&own.url, PgSettings { connections: 1 }).await;
    let store = store.expect("it answers");
    let rig = own.rig(&store);
    let account = rig.account(100).await;
    let keyed = || rig.plan(&account, &request_with_key(1, "dinner"));
    rig.send(&account, &request([2, 3])).await;
    assert_eq!(rig.claim(1).await.ids().len(), 1);
    rig.accept(keyed()).await.expect("accepted");
    assert_eq!(rig.accept(keyed()).await.expect("repeated").replay, Replay::Repeated);

    run(&own.url, "ALTER TABLE message ALTER COLUMN sender TYPE varchar").await;
    assert_eq!(rig.claim(1).await.ids().len(), 1, "of the pool");

    rig.accept(keyed()).await.expect("repeated");
    run(&own.url, "ALTER TABLE message ALTER COLUMN client_ref TYPE varchar").await;
    let again = rig.accept(keyed()).await.expect("repeated");
    assert_eq!(again.replay, Replay::Repeated, "of the connection that commits sends");
    assert_eq!(rig.balance(&account).await, 97);
    store.close().await;
}
