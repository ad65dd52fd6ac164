//! What a server stands on: memory, or PostgreSQL with what its many servers need besides a store.

use std::sync::Arc;

use async_trait::async_trait;
use sms_core::Sms;
use sms_core::clock::{Clock, SystemClock};
use sms_core::ids::ApiKeyId;
use sms_core::service::SmsBuilder;
use sms_core::store::{Store, StoreError};
use sms_store_memory::MemoryStore;
use sms_store_postgres::{
    ConnectFailed, PgClock, PgRateLimit, PgSettings, PgStore, PgWake, RateLot,
};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::settings::Settings;
use crate::rate_limit::{Gcra, Lot, SharedArrivals};

/// A store, and what goes with it.
#[derive(Debug)]
pub struct Backing {
    /// Keeps everything.
    pub store: Arc<dyn Store>,
    /// The machine's clock, or the database's.
    pub clock: Arc<dyn Clock>,
    /// Where requests are counted together with the other servers.
    pub arrivals: Option<Arc<dyn SharedArrivals>>,
    postgres: Option<(Arc<PgClock>, Arc<PgWake>)>,
}

impl Backing {
    /// PostgreSQL where an address is given, brought up to date; else memory.
    pub async fn open(settings: &Settings) -> Result<Self, ConnectFailed> {
        let Some(url) = settings.database() else {
            return Ok(Self {
                store: Arc::new(MemoryStore::new()),
                clock: Arc::new(SystemClock),
                arrivals: None,
                postgres: None,
            });
        };
        let store = PgStore::connect(url, PgSettings::default()).await?;
        store.migrate().await?;
        let clock = Arc::new(PgClock::start(&store).await?);
        let wake = Arc::new(PgWake::new(&store));
        let arrivals = Arc::new(PgRateLimit::new(&store));
        Ok(Self {
            store: Arc::new(store),
            clock: clock.clone(),
            arrivals: Some(arrivals),
            postgres: Some((clock, wake)),
        })
    }

    /// Begins to put a service together over the store. Servers over one database wake each other.
    pub fn builder(&self) -> SmsBuilder {
        let builder = Sms::builder(self.store.clone());
        match &self.postgres {
            Some((_, wake)) => builder.wake_others(wake.clone()),
            None => builder,
        }
    }

    /// Starts the loop that keeps the clock right until `stopping` changes.
    pub fn start(&self, loops: &mut JoinSet<()>, stopping: &Stopping) {
        if let Some((clock, _)) = self.postgres.clone() {
            let mut stopping = stopping.clone();
            loops.spawn(async move {
                tokio::select! {
                    never = clock.run() => match never {},
                    _ = stopping.changed() => {}
                }
            });
        }
    }
}

/// What tasks of the server see of the request to stop: the other end is dropped.
pub type Stopping = watch::Receiver<()>;

#[async_trait]
impl SharedArrivals for PgRateLimit {
    async fn add(&self, key: ApiKeyId, lot: Lot) -> Result<i64, StoreError> {
        let Lot { charge, ahead, most } = lot;
        PgRateLimit::add(self, RateLot { key, charge, ahead, most }).await
    }
}

/// How many requests a key may make.
pub fn rate(settings: &Settings) -> Gcra {
    Gcra::new(settings.rate_per_second.get(), settings.rate_burst.get())
}
