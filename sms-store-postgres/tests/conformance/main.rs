//! Runs every scenario of the conformance suite on PostgreSQL, each as a test of its own on a
//! database of its own.
//!
//! `cargo test -p sms-store-postgres --test conformance sending::` runs one noun's.

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use libtest_mimic::{Arguments, Trial};
use sms_core::conformance::{self, Runner};
use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::Cluster;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Barrier;

/// Runs futures on a runtime with threads enough for races.
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

fn run(scenario: conformance::Scenario) {
    let (cluster, template) = cluster();
    let runtime = runtime();
    let (store, database) = runtime.block_on(async {
        let database = cluster.create(Some(template)).await;
        let settings = PgSettings { connections: 8 };
        let store = PgStore::connect(&cluster.url(&database), settings).await;
        (store.expect("the server answers"), database)
    });
    let handle = runtime.handle().clone();
    let runner = Arc::new(TokioRunner(handle));
    // On a worker of the runtime, so that races may block it.
    let scenario_store = Arc::new(store.clone());
    std::thread::scope(|scope| {
        let ran = scope.spawn(move || scenario.run(scenario_store, runner)).join();
        ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    runtime.block_on(async {
        store.close().await;
        cluster.drop(&database).await;
    });
}

fn main() -> ExitCode {
    let trial = |scenario: conformance::Scenario| {
        Trial::test(scenario.to_string(), move || {
            run(scenario);
            Ok(())
        })
    };
    let trials = conformance::all().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
