//! What a server stands on: memory, or PostgreSQL with what its many servers need besides a store.

use std::sync::Arc;
use std::time::Duration;

use sms_core::Sms;
use sms_core::clock::{Clock, SystemClock};
use sms_core::service::SmsBuilder;
use sms_core::store::Store;
use sms_store_memory::MemoryStore;
use sms_store_postgres::{ConnectFailed, PgClock, PgLimits, PgSettings, PgStore, PgWake};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::settings::Settings;
use crate::rate_limit::{Gcra, SharedLimiter};

/// The longest that the database may take to note that a server has left.
const TIME_TO_LEAVE: Duration = Duration::from_millis(500);

/// A store, and what goes with it.
#[derive(Debug)]
pub struct Backing {
    /// Keeps everything.
    pub store: Arc<dyn Store>,
    /// The machine's clock, or the database's.
    pub clock: Arc<dyn Clock>,
    /// Counts requests together with the others.
    pub limiter: Option<SharedLimiter>,
    postgres: Option<(Arc<PgClock>, Arc<PgWake>)>,
}

impl Backing {
    /// PostgreSQL where an address is given, brought up to date; else memory.
    pub async fn open(settings: &Settings) -> Result<Self, ConnectFailed> {
        let Some(url) = settings.database() else {
            return Ok(Self {
                store: Arc::new(MemoryStore::new()),
                clock: Arc::new(SystemClock),
                limiter: None,
                postgres: None,
            });
        };
        let store = PgStore::connect(url, PgSettings::default()).await?;
        store.migrate().await?;
        let clock = Arc::new(PgClock::start(&store).await?);
        let wake = Arc::new(PgWake::new(&store));
        let limiter = SharedLimiter::new(Arc::new(PgLimits::new(&store)), rate(settings));
        limiter.join().await;
        Ok(Self {
            store: Arc::new(store),
            clock: clock.clone(),
            limiter: Some(limiter),
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

    /// Starts what has to go on by itself: until `stopping` changes, but for the rate limit, which
    /// is kept until the last request has been `served`.
    pub fn start(&self, loops: &mut JoinSet<()>, stopping: &Stopping, served: &Served) {
        if let Some((clock, _)) = self.postgres.clone() {
            let mut stopping = stopping.clone();
            loops.spawn(async move {
                tokio::select! {
                    never = clock.run() => match never {},
                    _ = stopping.changed() => {}
                }
            });
        }
        if let Some(limiter) = self.limiter.clone() {
            let mut served = served.clone();
            loops.spawn(async move {
                tokio::select! {
                    () = limiter.run() => {}
                    _ = served.changed() => {}
                }
                // Its lease runs out by itself should the database not answer.
                let _ = timeout(TIME_TO_LEAVE, limiter.leave()).await;
            });
        }
    }
}

/// What tasks of the server see of the request to stop: the other end is dropped.
pub type Stopping = watch::Receiver<()>;

/// Told when no request is under way any more, by the other end being dropped.
pub type Served = watch::Receiver<()>;

/// How many requests a key may make.
pub fn rate(settings: &Settings) -> Gcra {
    Gcra::new(settings.rate_per_second.get(), settings.rate_burst.get())
}
