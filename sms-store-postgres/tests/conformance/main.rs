//! Runs every scenario of the conformance suite on PostgreSQL, and the tests of this store alone.
//! Each is a separate test on a separate database.
//!
//! `cargo test -p sms-store-postgres --test conformance sending::` runs those of one noun.

mod address_book;
mod campaign;
mod dropped;
mod event;
mod in_place;
mod number;
mod plans;
mod postgres;
mod schema;
mod search;
mod sent_segment;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};
use plans::{accepted, every, older, reports, rule};
use sms_conformance::{Rig, Runner};
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_log::{Heard, watch_for};
use sms_test_postgres::Cluster;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Barrier;

/// Runs futures on a runtime with enough threads for races.
#[derive(Debug)]
struct TokioRunner(Handle);

impl Runner for TokioRunner {
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        self.0.block_on(future);
    }

    fn race(&self, futures: Vec<BoxFuture<'static, ()>>) {
        let start = Arc::new(Barrier::new(futures.len()));
        let tasks: Vec<_> = futures
            .into_iter()
            .map(|future| {
                let start = Arc::clone(&start);
                self.0.spawn(async move {
                    start.wait().await;
                    future.await;
                })
            })
            .collect();
        let join = async {
            for task in tasks {
                task.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
            }
        };
        tokio::task::block_in_place(|| self.0.block_on(join));
    }
}

/// The cluster, with a migrated database to copy.
fn cluster() -> &'static (Cluster, String) {
    static CLUSTER: OnceLock<(Cluster, String)> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let cluster = Cluster::start();
        let template = runtime().block_on(async {
            let template = cluster.create(None).await;
            let settings = PgSettings { connections: 1 };
            let store = PgStore::connect(&cluster.url(&template), settings).await;
            let store = store.expect("the server answers");
            store.migrate().await.expect("the migrations run");
            store.close().await;
            template
        });
        (cluster, template)
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime starts")
}

/// Runs `act` with a store on a new database, and the URL of that database.
fn with_store(act: impl FnOnce(Arc<PgStore>, Arc<TokioRunner>, &str) + Send) {
    let (cluster, template) = cluster();
    let runtime = runtime();
    let (store, database) = runtime.block_on(async {
        let database = cluster.create(Some(template)).await;
        let settings = PgSettings { connections: 8 };
        let store = PgStore::connect(&cluster.url(&database), settings).await;
        (store.expect("the server answers"), database)
    });
    let runner = Arc::new(TokioRunner(runtime.handle().clone()));
    // On a worker thread of the runtime, because races may block it.
    let (own, url) = (Arc::new(store.clone()), cluster.url(&database));
    std::thread::scope(|scope| {
        let ran = scope.spawn(move || act(own, runner, &url)).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    runtime.block_on(async {
        store.close().await;
        cluster.drop(&database).await;
    });
}

/// What a test of this store alone works on: a new database.
struct Own {
    store: PgStore,
    runner: Arc<TokioRunner>,
    url: String,
}

impl Own {
    /// A rig on a store.
    fn rig(&self, store: &PgStore) -> Rig {
        Rig::new(Arc::new(store.clone()), self.runner.clone())
    }
}

/// Runs a test of this store alone.
fn run_own<F: Future<Output = ()>>(connections: u32, test: impl FnOnce(Own) -> F) {
    let (cluster, template) = cluster();
    let runtime = runtime();
    let runner = Arc::new(TokioRunner(runtime.handle().clone()));
    runtime.block_on(async {
        let database = cluster.create(Some(template)).await;
        let url = cluster.url(&database);
        let store = PgStore::connect(&url, PgSettings { connections }).await;
        let store = store.expect("the server answers");
        let own = Own { store: store.clone(), runner, url };
        test(own).await;
        store.close().await;
        cluster.drop(&database).await;
    });
}

/// A trial of this store alone, named after its function.
macro_rules! own {
    ($connections:literal, $module:ident :: $test:ident) => {
        Trial::test(concat!("own::", stringify!($module), "::", stringify!($test)), || {
            run_own($connections, $module::$test);
            Ok(())
        })
    };
}

fn main() -> ExitCode {
    let everywhere = sms_conformance::all().map(|scenario| {
        Trial::test(scenario.to_string(), move || {
            with_store(|store, runner, _| scenario.run(store, runner));
            Ok(())
        })
    });
    let own = [
        accepted::TESTS,
        address_book::TESTS,
        campaign::TESTS,
        event::TESTS,
        in_place::TESTS,
        number::TESTS,
        postgres::TESTS,
        schema::TESTS,
        sent_segment::TESTS,
    ];
    let own = own.into_iter().flatten();
    let here = own.map(|(name, act)| {
        Trial::test(format!("postgres::{name}"), move || {
            with_store(|store, runner, url| {
                let rig = Rig::new(store, runner.clone());
                runner.block_on(Box::pin(act(&rig, url)));
            });
            Ok(())
        })
    });
    // The test of query plans makes PostgreSQL report statements with their parameters.
    watch_for(Heard::PassedOn, || Box::new(plans::Notices));
    let own = [
        own!(2, dropped::a_dropped_command_leaves_no_transaction_open),
        own!(2, event::a_database_on_another_server_goes_on_above_all_its_positions),
        own!(2, event::the_horizon_never_goes_back),
        own!(2, event::positions_rise_up_to_the_largest_number),
        own!(2, in_place::every_change_in_a_message_s_life_is_made_in_place),
        own!(1, schema::a_database_that_cannot_be_reached_says_what_to_check),
        own!(1, schema::a_database_with_unknown_migrations_is_refused_in_plain_words),
        own!(1, schema::an_older_program_refuses_a_newer_schema_that_excludes_it),
        own!(1, schema::an_older_program_serves_a_newer_schema_that_allows_it),
        own!(1, schema::every_migration_declares_which_programs_may_serve),
        own!(8, search::searches_among_many_messages_find_every_match),
        own!(1, plans::hot_queries_use_the_indexes_meant_for_them),
        own!(1, accepted::a_plain_send_takes_one_statement),
        own!(1, accepted::a_send_with_a_key_takes_one_statement),
        own!(1, accepted::a_send_in_a_conversation_takes_one_statement),
        own!(1, accepted::an_expired_key_sends_no_other_send_to_the_locked_path),
        own!(1, older::commands_go_on_when_a_migration_adds_columns),
        own!(1, older::a_command_whose_statement_a_migration_changed_runs_again),
        own!(1, reports::what_a_worker_knows_is_recorded_without_reading),
        own!(1, rule::only_the_primary_key_serves_look_ups_by_account_and_key),
        own!(1, every::generic_plans_made_when_empty_read_no_more_in_a_large_account),
        own!(1, every::custom_plans_made_when_empty_read_no_more_in_a_large_account),
        own!(1, every::generic_plans_made_when_small_read_no_more_in_a_large_account),
        own!(1, every::custom_plans_made_when_small_read_no_more_in_a_large_account),
    ];
    let trials = everywhere.chain(here).chain(own).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
