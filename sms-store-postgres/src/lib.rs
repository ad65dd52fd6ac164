#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! Rules stay in the core. A command opens a transaction, writes what is bulky, locks the rows that
//! its verdict depends on, asks the core to settle, and writes the verdict with a handful of
//! statements, whatever the number of messages. All commands take locks in the same order:
//! campaigns, the segments of an inbound message, queue rows, messages, submitted segments, links
//! by id, numbers, address books by account, accounts by id, conversations, inboxes, endpoints by
//! id, deliveries. Workers skip rows that others have locked.
//!
//! Programs that share a database also share: [`PgClock`] gives all of them its time, [`PgWake`]
//! wakes one when another has found work, and [`PgRateLimit`] counts the requests of all.
//!
//! The files in `migrations/` describe the tables.

#![deny(missing_docs)]

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use cache::Caches;
use group_commit::pooled::{self, Pooled};
use sms_core::store::{Health, StoreError};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::Semaphore;

use crate::error::Context;

mod account;
mod address_book;
mod begin;
mod cache;
mod campaign;
mod change;
mod clock;
mod contact;
mod conversation;
mod credits;
mod delivery;
mod dispatch;
mod error;
mod event;
mod group_commit;
mod inbound;
mod inbound_part;
mod keyword;
mod link;
mod list;
mod message;
mod migrate;
mod new_text;
mod number;
mod opt_out;
mod rate_limit;
mod receipt;
mod row;
mod rows_query;
mod search;
mod sender_name;
mod sending;
mod sent_part;
mod statistics;
mod template;
mod wake;
mod webhook;
mod wire;

pub use clock::PgClock;
pub use error::ConnectFailed;
pub use rate_limit::{PgRateLimit, RateLot};
pub use wake::PgWake;

/// How a store connects.
#[derive(Debug, Clone)]
pub struct PgSettings {
    /// The most connections of the store, but for those that commit sends and launch campaigns,
    /// two each. A program that also wakes others and shares the rate limit with them has three
    /// more: one that listens, two for the rate limit.
    pub connections: u32,
}

impl Default for PgSettings {
    fn default() -> Self {
        Self { connections: 16 }
    }
}

/// Keeps everything in PostgreSQL 15 or later. Clones share the connections.
#[derive(Clone)]
pub struct PgStore {
    pool: PgPool,
    sends: sending::Sends,
    receipts: group_commit::Lane<Pooled<receipt::Receipts>>,
    reports: group_commit::Lane<Pooled<receipt::report::Reports>>,
    attempts: group_commit::Lane<Pooled<webhook::attempt::Attempts>>,
    clicks: group_commit::Lane<Pooled<link::Clicks>>,
    launches: Arc<Semaphore>,
    caches: Arc<Caches>,
}

impl PgStore {
    /// Connects to a `postgres://` address. Call it within a tokio runtime. It does not migrate:
    /// see [`PgStore::migrate`].
    ///
    /// # Errors
    ///
    /// When the address is invalid, or no server answers there.
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
            .acquire_timeout(std::time::Duration::from_secs(5))
            .connect_with(options)
            .await
            .map_err(ConnectFailed::new)?;
        let sends = sending::Sends::start(&pool);
        let receipts = pooled::start(&pool);
        let reports = pooled::start(&pool);
        let attempts = pooled::start(&pool);
        let clicks = pooled::start(&pool);
        let launches = Arc::new(Semaphore::new(campaign::launch::SIDE_BY_SIDE));
        let caches = Arc::new(Caches::new());
        Ok(Self { pool, sends, receipts, reports, attempts, clicks, launches, caches })
    }

    /// Closes all connections once the commands under way have ended. Later commands fail.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Runs the migrations that the database lacks. Several programs may call it at once: one does
    /// the work, the others wait.
    ///
    /// # Errors
    ///
    /// When a migration fails, and is rolled back, or when the database has run migrations that
    /// this program does not have.
    pub async fn migrate(&self) -> Result<(), ConnectFailed> {
        migrate::run(&self.pool).await
    }
}

impl fmt::Debug for PgStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Health for PgStore {
    async fn health_check(&self) -> Result<(), StoreError> {
        let answered = sqlx::query("SELECT 1").execute(&self.pool).await;
        answered.map(|_| ()).context("checking the database")
    }
}
