//! PostgreSQL beside the memory store.

use std::sync::Arc;

use sms_store_postgres::{PgSettings, PgStore};
use sms_test_postgres::Cluster;
use tokio::runtime::{Builder, Runtime};

use super::{Other, Settings, Summary, Violation, run_beside};

/// A temporary PostgreSQL server, with a database for each run.
#[derive(Debug)]
pub struct Beside {
    cluster: Cluster,
    runtime: Runtime,
    template: String,
}

impl Beside {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If PostgreSQL cannot be started.
    pub fn start() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("the machine has threads");
        let cluster = Cluster::start();
        let template = runtime.block_on(async {
            let template = cluster.create(None).await;
            let store = connect(&cluster, &template).await;
            store.migrate().await.expect("the tables can be made");
            store.close().await;
            template
        });
        Self { cluster, runtime, template }
    }

    /// Runs one simulation on both stores.
    ///
    /// # Errors
    ///
    /// The first violation or difference.
    ///
    /// # Panics
    ///
    /// If the database cannot be created or reached.
    pub fn run(&self, settings: &Settings) -> Result<Summary, Box<Violation>> {
        let (store, database) = self.runtime.block_on(async {
            let database = self.cluster.create(Some(&self.template)).await;
            (connect(&self.cluster, &database).await, database)
        });
        let other =
            Other { store: Arc::new(store.clone()), runtime: self.runtime.handle().clone() };
        let result = run_beside(settings, other);
        self.runtime.block_on(async {
            store.close().await;
            self.cluster.drop(&database).await;
        });
        result
    }
}

async fn connect(cluster: &Cluster, database: &str) -> PgStore {
    let settings = PgSettings { connections: 4 };
    PgStore::connect(&cluster.url(database), settings).await.expect("the database answers")
}
