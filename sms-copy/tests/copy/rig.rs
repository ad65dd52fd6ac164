//! Files and databases for copies, and runtimes to copy on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sms_conformance::{Runner, Scenario, ThreadRunner};
use sms_copy::{Copied, CopyFailed, Portable, Progress, Watch, copy};
use sms_store_postgres::{PgSettings, PgStore};
use sms_store_sqlite::SqliteStore;
use sms_test_postgres::Cluster;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Barrier;

/// Runs futures of scenarios on a runtime.
#[derive(Debug)]
struct TokioRunner(Handle);

type Boxed<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

impl Runner for TokioRunner {
    fn block_on(&self, future: Boxed<'_, ()>) {
        self.0.block_on(future);
    }

    fn race(&self, futures: Vec<Boxed<'static, ()>>) {
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

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime starts")
}

/// The cluster, with a migrated database to copy.
struct Databases {
    cluster: Cluster,
    template: String,
}

fn databases() -> &'static Databases {
    static DATABASES: OnceLock<Databases> = OnceLock::new();
    DATABASES.get_or_init(|| {
        let cluster = Cluster::start();
        let template = runtime().block_on(async {
            let template = cluster.create(None).await;
            let url = cluster.url(&template);
            let store = PgStore::connect(&url, PgSettings { connections: 1 }).await;
            let store = store.expect("the server answers");
            store.migrate().await.expect("the migrations run");
            store.close().await;
            template
        });
        Databases { cluster, template }
    })
}

fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("sms-copy-{}", std::process::id()))
}

/// What a test works with. Its files and databases are removed with it.
pub(crate) struct Own {
    folder: PathBuf,
    databases: Mutex<Vec<String>>,
    runtime: Handle,
}

impl Own {
    fn new(runtime: &Runtime) -> Self {
        static OWNS: AtomicU32 = AtomicU32::new(0);
        let number = OWNS.fetch_add(1, Ordering::Relaxed);
        let folder = folder().join(number.to_string());
        Self { folder, databases: Mutex::default(), runtime: runtime.handle().clone() }
    }

    /// Removes what failed tests left.
    pub(crate) fn clean() {
        let _ = std::fs::remove_dir_all(folder());
    }

    /// The path of a file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The address of a new, migrated database.
    pub(crate) async fn database(&self) -> String {
        let Databases { cluster, template } = databases();
        let database = cluster.create(Some(template)).await;
        let url = cluster.url(&database);
        self.databases.lock().unwrap_or_else(PoisonError::into_inner).push(database);
        url
    }

    /// The runner of scenarios on PostgreSQL.
    pub(crate) fn runner(&self) -> Arc<dyn Runner> {
        Arc::new(TokioRunner(self.runtime.clone()))
    }

    async fn end(self) {
        let names = self.databases.into_inner().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            databases().cluster.drop(&name).await;
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs a test, in a future that need not be sent.
pub(crate) fn run<F: Future<Output = ()>>(test: impl FnOnce(Arc<Own>) -> F) {
    // Before any file is open: a process that starts holds the locks of files for a moment.
    databases();
    let runtime = runtime();
    let own = Arc::new(Own::new(&runtime));
    runtime.block_on(test(Arc::clone(&own)));
    if let Ok(own) = Arc::try_unwrap(own) {
        runtime.block_on(own.end());
    }
}

/// Watches nothing.
pub(crate) struct Silent;

impl Watch for Silent {
    fn moved(&mut self, progress: Progress) {
        assert!(progress.done <= progress.total, "{progress:?}");
    }
}

pub(crate) async fn copied(from: &dyn Portable, to: &dyn Portable) -> Result<Copied, CopyFailed> {
    copy(from, to, &mut Silent).await
}

pub(crate) fn open(path: PathBuf) -> SqliteStore {
    SqliteStore::open_to_copy(path).expect("the file opens")
}

pub(crate) async fn connect(url: &str) -> PgStore {
    PgStore::connect_to_copy(url).await.expect("the server answers")
}

/// Where a scenario runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Born {
    InFile,
    InDatabase,
}

/// Runs a scenario, and copies what it wrote to the other store and back.
pub(crate) fn there_and_back(scenario: Scenario, born: Born) {
    databases();
    let runtime = runtime();
    let own = Own::new(&runtime);
    match born {
        Born::InFile => {
            let store = SqliteStore::open(own.file("first.db")).expect("the file opens");
            scenario.run(Arc::new(store), Arc::new(ThreadRunner));
            runtime.block_on(from_file(&own));
        }
        Born::InDatabase => {
            let (store, url) = runtime.block_on(async {
                let url = own.database().await;
                let store = PgStore::connect(&url, PgSettings { connections: 8 }).await;
                (store.expect("the server answers"), url)
            });
            let (theirs, runner) = (Arc::new(store.clone()), own.runner());
            std::thread::scope(|scope| {
                let ran = scope.spawn(move || scenario.run(theirs, runner)).join();
                ran.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            });
            runtime.block_on(async {
                store.close().await;
                drop(store);
                from_database(&own, &url).await;
            });
        }
    }
    runtime.block_on(own.end());
}

async fn from_file(own: &Own) {
    let (first, last) = (open(own.file("first.db")), open(own.file("last.db")));
    let between = connect(&own.database().await).await;
    let there = copied(&first, &between).await.expect("everything is copied there");
    let back = copied(&between, &last).await.expect("everything is copied back");
    assert_eq!(there.tables, back.tables);
    let before = first.check().await.expect("the first file is read");
    let after = last.check().await.expect("the last file is read");
    assert_eq!(format!("{before:?}"), format!("{after:?}"), "the copy is as much in order");
    between.close().await;
}

async fn from_database(own: &Own, url: &str) {
    let (first, between) = (connect(url).await, open(own.file("between.db")));
    let last = connect(&own.database().await).await;
    let there = copied(&first, &between).await.expect("everything is copied there");
    let back = copied(&between, &last).await.expect("everything is copied back");
    assert_eq!(there.tables, back.tables);
    first.close().await;
    last.close().await;
}
