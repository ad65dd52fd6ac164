//! Connecting to a database, migrating it, and checking that it answers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::store::{Health, StoreError};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::Semaphore;

use crate::cache::Caches;
use crate::campaign::launch::SIDE_BY_SIDE;
use crate::error::{ConnectFailed, Context};
use crate::group_commit::pooled;
use crate::migrate;
use crate::sending::Sends;
use crate::store::PgStore;

/// How a store connects.
#[derive(Debug, Clone)]
pub struct PgSettings {
    /// The most connections in the store's pool. Outside the pool, up to three more commit sends
    /// and up to two launch campaigns. A program that also exchanges wake-ups and shares the rate
    /// limit has three more: one that listens, and two for the rate limit.
    pub connections: u32,
}

impl Default for PgSettings {
    fn default() -> Self {
        Self { connections: 16 }
    }
}

impl PgStore {
    /// Connects to a `postgres://` address. Call it within a tokio runtime. It does not migrate:
    /// see [`PgStore::migrate`].
    ///
    /// # Errors
    ///
    /// If the address is invalid or no server answers there.
    pub async fn connect(url: &str, settings: PgSettings) -> Result<Self, ConnectFailed> {
        let options: PgConnectOptions = url.parse().map_err(ConnectFailed::new)?;
        // No program may keep a transaction or a lock for long: a stuck one would stop the others.
        let options = options.application_name("sms-store-postgres").options([
            ("idle_in_transaction_session_timeout", "10s"),
            ("statement_timeout", "10s"),
            ("lock_timeout", "5s"),
            ("tcp_keepalives_idle", "30"),
            ("tcp_keepalives_interval", "10"),
            ("tcp_keepalives_count", "3"),
            // Every query is a look-up, or reads the beginning of an index range in order. A bitmap
            // scan reads the whole range first, which is wrong where ranges are long.
            ("enable_bitmapscan", "off"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(settings.connections)
            .acquire_timeout(Duration::from_secs(5))
            .connect_with(options)
            .await
            .map_err(ConnectFailed::new)?;
        let sends = Sends::start(&pool);
        let receipts = pooled::start(&pool);
        let reports = pooled::start(&pool);
        let attempts = pooled::start(&pool);
        let clicks = pooled::start(&pool);
        let launches = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let caches = Arc::new(Caches::new());
        Ok(Self { pool, sends, receipts, reports, attempts, clicks, launches, caches })
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
    /// warning.
    pub async fn migrate(&self) -> Result<(), ConnectFailed> {
        migrate::run(&self.pool).await
    }
}

#[async_trait]
impl Health for PgStore {
    async fn health_check(&self) -> Result<(), StoreError> {
        let answered = sqlx::query("SELECT 1").execute(&self.pool).await;
        answered.map(|_| ()).context("checking the database")
    }
}
