//! Connecting to a database, migrating it, and checking that it answers.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::store::{Health, StoreError};
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::Semaphore;

use crate::address::hosts;
use crate::cache::Caches;
use crate::campaign::launch::SIDE_BY_SIDE;
use crate::copy_journal;
use crate::error::{ConnectFailed, Context, PgError};
use crate::event;
use crate::group_commit::pooled;
use crate::migrate;
use crate::pool::pool;
use crate::primary::{self, Primary, check_writable};
use crate::sending::Sends;
use crate::store::PgStore;
use crate::wire::within;

/// How a store connects.
#[derive(Debug, Clone)]
pub struct PgSettings {
    /// The most connections in the store's pool. Outside the pool, up to three more commit sends
    /// and up to two launch campaigns. A program that also exchanges wake-ups and shares the rate
    /// limit has three more: one that listens, and two for the rate limit. One
    /// more asks whether the host still answers and takes writes.
    pub connections: u32,
}

impl Default for PgSettings {
    fn default() -> Self {
        Self { connections: 16 }
    }
}

/// How long a command waits for a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the last try to connect may take, which finds out why all others failed.
const LAST_TRY: Duration = Duration::from_secs(2);

impl PgStore {
    /// Connects to a `postgres://` address. Call it within a tokio runtime. It does not migrate:
    /// see [`PgStore::migrate`].
    ///
    /// The address may name several hosts, a primary and its standbys:
    /// `postgres://user@one:5432,two:5433/sms?target_session_attrs=read-write`. The store uses the
    /// one that takes writes, and follows when another does.
    ///
    /// # Errors
    ///
    /// If the address is invalid, if no server answers there, or if none of several takes writes.
    pub async fn connect(url: &str, settings: PgSettings) -> Result<Self, ConnectFailed> {
        Self::connect_for(url, settings, Purpose::Serve).await
    }

    pub(crate) async fn connect_for(
        url: &str,
        settings: PgSettings,
        purpose: Purpose,
    ) -> Result<Self, ConnectFailed> {
        let hosts = hosts(url).map_err(ConnectFailed::because)?;
        let hosts: Vec<_> = hosts.into_iter().map(|host| purpose.adapt(bounded(host))).collect();
        let found = primary::first(&hosts).await?;
        let host = found.options(&hosts);
        let pool = match pool(settings.connections, PATIENCE).connect_with(host.clone()).await {
            Ok(pool) => pool,
            Err(sqlx::Error::PoolTimedOut) => {
                // The pool tried again and again, and does not say why that failed.
                let why = within(LAST_TRY, host.connect()).await;
                let why = why.err().unwrap_or(PgError::Silent);
                return Err(ConnectFailed::at(&host, &why));
            }
            Err(error) => return Err(ConnectFailed::at(&host, &error.into())),
        };
        let primary = Arc::new(Primary::watch(hosts, found, &pool));
        let sends = Sends::start(&pool);
        let receipts = pooled::start(&pool);
        let reports = pooled::start(&pool);
        let attempts = pooled::start(&pool);
        let clicks = pooled::start(&pool);
        let launches = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let caches = Arc::new(Caches::default());
        Ok(Self { pool, primary, sends, receipts, reports, attempts, clicks, launches, caches })
    }

    /// Closes all connections once the commands under way have ended. Later commands fail.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs the migrations that the database lacks. Several programs may call it concurrently: one
    /// does the work, the others wait.
    ///
    /// # Errors
    ///
    /// When a migration fails, and is rolled back, or when a newer program has migrated the
    /// database and this one may not serve it any more. If this one may still serve, it logs a
    /// warning. Also when the database holds an unfinished copy.
    pub async fn migrate(&self) -> Result<(), ConnectFailed> {
        migrate::run(&self.pool).await?;
        event::base::adopt(&self.pool).await.map_err(ConnectFailed::new)?;
        copy_journal::refuse(&self.pool).await
    }
}

/// What a database is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To serve from it.
    Serve,
    /// To copy from it or to it.
    Copy,
}

impl Purpose {
    fn adapt(self, host: PgConnectOptions) -> PgConnectOptions {
        match self {
            Self::Serve => host,
            // Each copy has a name of its own, by which it knows its connections from others.
            Self::Copy => host
                .application_name(&format!("sms-copy-{:016x}", RandomState::new().hash_one(0)))
                .options([("statement_timeout", "0")]),
        }
    }
}

/// No program may keep a transaction or a lock for long: a stuck one would stop the others.
fn bounded(host: PgConnectOptions) -> PgConnectOptions {
    host.application_name("sms-store-postgres").options([
        ("idle_in_transaction_session_timeout", "10s"),
        ("statement_timeout", "10s"),
        ("lock_timeout", "5s"),
        ("tcp_keepalives_idle", "30"),
        ("tcp_keepalives_interval", "10"),
        ("tcp_keepalives_count", "3"),
        // Every query is a look-up by an index, or reads the beginning of an index range in order.
        // A bitmap scan reads the whole range first, a sequential scan the whole table, and a hash
        // or a merge join one of its sides. They are right only while tables are small, and a
        // connection keeps its plans while tables grow.
        ("enable_bitmapscan", "off"),
        ("enable_seqscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        // Where nothing else is possible, what is switched off looks so costly that it would be
        // compiled.
        ("jit", "off"),
    ])
}

#[async_trait]
impl Health for PgStore {
    async fn health_check(&self) -> Result<(), StoreError> {
        let doing = "checking that the database takes writes";
        let mut connection = self.pool.acquire().await.context(doing)?;
        check_writable(&mut connection).await.context(doing)
    }
}
