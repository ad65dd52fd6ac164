//! PostgreSQL or SQLite beside the memory store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use sms_core::store::Store;
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::{SqliteSettings, SqliteStore, check_file};
use sms_test_postgres::Cluster;
use tokio::runtime::{Builder, Runtime};

use super::{Other, Settings, Summary, Violation, run_beside};

/// A temporary PostgreSQL server with a database for each run, or a folder with a file for each.
#[derive(Debug)]
pub struct Beside {
    runtime: Runtime,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Postgres { cluster: Cluster, template: String },
    Sqlite { folder: PathBuf },
}

impl Beside {
    /// Starts a PostgreSQL server.
    ///
    /// # Panics
    ///
    /// If PostgreSQL cannot be started.
    pub fn postgres() -> Self {
        let runtime = runtime();
        let cluster = Cluster::start();
        let template = runtime.block_on(async {
            let template = cluster.create(None).await;
            let store = connect(&cluster, &template).await;
            store.migrate().await.expect("the tables can be made");
            store.close().await;
            template
        });
        Self { runtime, place: Place::Postgres { cluster, template } }
    }

    /// Keeps files in a temporary folder.
    pub fn sqlite() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        // Tests of one process run side by side.
        let (process, nth) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("sms-beside-{process}-{nth}"));
        Self { runtime: runtime(), place: Place::Sqlite { folder } }
    }

    /// Runs one simulation on both stores.
    ///
    /// # Errors
    ///
    /// The first violation or difference.
    ///
    /// # Panics
    ///
    /// If the other store cannot be made, or its file breaks a rule in the end.
    pub fn run(&self, settings: &Settings) -> Result<Summary, Box<Violation>> {
        match &self.place {
            Place::Postgres { cluster, template } => {
                let (store, database) = self.runtime.block_on(async {
                    let database = cluster.create(Some(template)).await;
                    (connect(cluster, &database).await, database)
                });
                let result = self.beside(settings, Arc::new(store.clone()), " --postgres");
                self.runtime.block_on(async {
                    store.close().await;
                    cluster.drop(&database).await;
                });
                result
            }
            Place::Sqlite { folder } => {
                let folder = folder.join(settings.seed.to_string());
                let file = folder.join("sms.db");
                let mut of_store = SqliteSettings::default();
                if settings.seed.is_multiple_of(2) {
                    // Every launch in stages, as for long lists, and every import in portions.
                    (of_store.launch_at_once, of_store.import_at_once) = (0, 0);
                }
                let store = SqliteStore::open_with(&file, of_store).expect("a file can be made");
                let summary = self.beside(settings, Arc::new(store), " --sqlite")?;
                let findings = check_file(&file).expect("the file can be read");
                assert_eq!(findings, [], "seed {}", settings.seed);
                std::fs::remove_dir_all(folder).expect("the folder can be removed");
                Ok(summary)
            }
        }
    }

    fn beside(
        &self,
        settings: &Settings,
        store: Arc<dyn Store>,
        option: &'static str,
    ) -> Result<Summary, Box<Violation>> {
        run_beside(settings, Other { store, runtime: self.runtime.handle().clone(), option })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Place::Sqlite { folder } = &self.place {
            // It was never made if nothing ran.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("the machine has threads")
}

async fn connect(cluster: &Cluster, database: &str) -> PgStore {
    let settings = PgSettings { connections: 4 };
    PgStore::connect(&cluster.url(database), settings).await.expect("the database answers")
}
