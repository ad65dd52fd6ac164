//! Where a server keeps its data: in memory, or in PostgreSQL, which several servers can share.

use std::sync::Arc;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::clock::{Clock, SteadyClock};
use sms_core::ids::ApiKeyId;
use sms_core::service::SmsBuilder;
use sms_core::store::{Store, StoreError};
use sms_store_memory::MemoryStore;
use sms_store_postgres::{
    ConnectFailed, PgClock, PgRateLimit, PgSettings, PgStore, PgWake, RateLot,
};
use sms_workers::Threads;
use tokio::sync::watch;

use super::settings::Settings;
use crate::rate_limit::{Gcra, Lot, SharedArrivals};

/// A store, with the clock and the shared rate limit that belong to it.
#[derive(Debug)]
pub struct Backing {
    /// The store.
    pub store: Arc<dyn Store>,
    /// A clock that nobody sets: this machine's at the start, or the database's.
    pub clock: Arc<dyn Clock>,
    /// Where requests are counted together with other servers; `None` in memory.
    pub arrivals: Option<Arc<dyn SharedArrivals>>,
    wake: Option<Arc<PgWake>>,
}

impl Backing {
    /// Opens the database of the settings and migrates it, or a store in memory if they name none.
    pub async fn open(settings: &Settings) -> Result<Self, ConnectFailed> {
        let Some(url) = settings.database() else {
            return Ok(Self {
                store: Arc::new(MemoryStore::new()),
                clock: Arc::new(SteadyClock::start()),
                arrivals: None,
                wake: None,
            });
        };
        let store = PgStore::connect(url, PgSettings::default()).await?;
        store.migrate().await?;
        let clock = Arc::new(PgClock::start(&store).await?);
        let wake = Arc::new(PgWake::new(&store));
        let arrivals = Arc::new(PgRateLimit::new(&store));
        Ok(Self { store: Arc::new(store), clock, arrivals: Some(arrivals), wake: Some(wake) })
    }

    /// Starts building a service on the store. Servers on one database wake each other's workers.
    pub fn builder(&self) -> SmsBuilder {
        let builder = Sms::builder(self.store.clone()).compute(Arc::new(Threads::default()));
        match &self.wake {
            Some(wake) => builder.wake_others(wake.clone()),
            None => builder,
        }
    }
}

/// How tasks of the server learn that they must stop: the sender is dropped.
pub type Stopping = watch::Receiver<()>;

#[async_trait]
impl SharedArrivals for PgRateLimit {
    async fn add(&self, key: ApiKeyId, lot: Lot) -> Result<i64, StoreError> {
        let Lot { charge, ahead, most } = lot;
        PgRateLimit::add(self, RateLot { key, charge, ahead, most }).await
    }
}

/// The rate limit of a key.
pub fn rate(settings: &Settings) -> Gcra {
    Gcra::new(settings.rate_per_second.get(), settings.rate_burst.get())
}
