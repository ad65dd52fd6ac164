//! Where a server keeps its data: in memory, in a file, or in PostgreSQL, which several servers can
//! share.

use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::clock::{Clock, SteadyClock};
use sms_core::ids::ApiKeyId;
use sms_core::service::SmsBuilder;
use sms_core::store::{Store, StoreError};
use sms_http::rate_limit::{Gcra, Lot, SharedArrivals};
use sms_store_memory::MemoryStore;
use sms_store_postgres::{
    ConnectFailed, PgClock, PgRateLimit, PgSettings, PgStore, PgWake, RateLot,
};
use sms_store_sqlite::SqliteStore;
use sms_workers::Threads;
use tokio::sync::watch;

use crate::settings::{Keeping, Settings};

/// A store, with the clock and the shared rate limit that belong to it.
#[derive(Debug)]
pub struct Backing {
    /// The store.
    pub store: Arc<dyn Store>,
    /// A clock that nobody sets: this machine's at the start, or the database's.
    pub clock: Arc<dyn Clock>,
    /// Where requests are counted together with other servers; `None` if there can be no other.
    pub arrivals: Option<Arc<dyn SharedArrivals>>,
    /// The file store, if the data is in one.
    pub file: Option<SqliteStore>,
    wake: Option<Arc<PgWake>>,
}

/// Why the data could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenFailed {
    /// The database could not be reached or prepared.
    #[error("the database of DATABASE_URL cannot be used: {0}")]
    Database(#[from] ConnectFailed),
    /// The file could not be opened.
    #[error("the data in SMS_DATA_DIR cannot be used: {0}")]
    File(#[from] sms_store_sqlite::OpenError),
}

impl Backing {
    /// Opens the data that the settings name, and migrates it.
    pub async fn open(settings: &Settings) -> Result<Self, OpenFailed> {
        match settings.keeping() {
            Keeping::Memory => Ok(Self::alone(Arc::new(MemoryStore::new()))),
            Keeping::File(data) => {
                let file = SqliteStore::open(data.database())?;
                Ok(Self { file: Some(file.clone()), ..Self::alone(Arc::new(file)) })
            }
            Keeping::Postgres(url) => Ok(Self::shared(url).await?),
        }
    }

    /// A store that no other server uses.
    fn alone(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Arc::new(SteadyClock::start()),
            arrivals: None,
            file: None,
            wake: None,
        }
    }

    async fn shared(url: &str) -> Result<Self, ConnectFailed> {
        let store = PgStore::connect(url, PgSettings::default()).await?;
        store.migrate().await?;
        let clock = Arc::new(PgClock::start(&store).await?);
        let wake = Arc::new(PgWake::new(&store));
        let arrivals: Arc<dyn SharedArrivals> = Arc::new(InDatabase(PgRateLimit::new(&store)));
        let (arrivals, wake) = (Some(arrivals), Some(wake));
        Ok(Self { store: Arc::new(store), clock, arrivals, file: None, wake })
    }

    /// Starts building a service on the store. Servers on one database wake each other's workers.
    pub fn builder(&self) -> SmsBuilder {
        let builder = Sms::builder(self.store.clone()).compute(Arc::new(Threads::default()));
        match &self.wake {
            Some(wake) => builder.wake_others(wake.clone()).reads_at_once(READS_ON_POSTGRES),
            None => builder,
        }
    }
}

/// How many reads of accounts share the connections of the pool: half of them. Commits and workers
/// have the others.
const READS_ON_POSTGRES: NonZeroUsize = NonZeroUsize::new(8).unwrap();

/// How tasks of the server learn that they must stop: the sender is dropped.
pub type Stopping = watch::Receiver<()>;

/// The arrival times of the rate limit that the servers over one database share.
#[derive(Debug)]
pub struct InDatabase(pub PgRateLimit);

#[async_trait]
impl SharedArrivals for InDatabase {
    async fn add(&self, key: ApiKeyId, lot: Lot) -> Result<i64, StoreError> {
        let Lot { charge, ahead, most } = lot;
        self.0.add(RateLot { key, charge, ahead, most }).await
    }
}

/// The rate limit of a key.
pub fn rate(settings: &Settings) -> Gcra {
    Gcra::new(settings.rate_per_second.get(), settings.rate_burst.get())
}
