//! The arrival times of the rate limit, which the servers over one database share. `sms-http` says
//! what an arrival time is and how servers use it.

use std::time::Duration;

use sms_core::ids::ApiKeyId;
use sms_core::store::StoreError;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use crate::PgStore;
use crate::error::Context;
use crate::pool::pool;
use crate::row::uuid;

/// Enough for thousands of keys at their full rate: four statements a second each.
const CONNECTIONS: u32 = 2;
/// The longest that a statement waits for one of them. Servers give up before that.
const PATIENCE: Duration = Duration::from_secs(1);

/// The shared arrival times, on connections that nothing else uses: a request that is not admitted
/// yet does not wait behind requests that are.
#[derive(Debug, Clone)]
pub struct PgRateLimit {
    pool: PgPool,
}

/// What to add to a key's arrival time. Nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct RateLot {
    /// The key.
    pub key: ApiKeyId,
    /// How much later the arrival time becomes, if it has not passed.
    pub charge: i64,
    /// How far ahead of now it becomes at least; negative for a moment in the past.
    pub ahead: i64,
    /// How far ahead of now it becomes at most.
    pub most: i64,
}

fn adapt(host: PgConnectOptions) -> PgConnectOptions {
    let host = host.application_name("sms_rate_limit");
    host.options([("lock_timeout", "1s"), ("statement_timeout", "1s")])
}

impl PgRateLimit {
    /// The arrival times in a store's database. Connects when it is first used.
    pub fn new(store: &PgStore) -> Self {
        let options = adapt((*store.pool.connect_options()).clone());
        let pool = pool(CONNECTIONS, PATIENCE).connect_lazy_with(options);
        store.primary.follow(&pool, adapt);
        Self { pool }
    }

    /// Makes the key's arrival time `max(arrival + charge, now + ahead)`, but at most `now + most`.
    /// Returns how far it is then ahead of the database's time, read after the row was locked.
    ///
    /// # Errors
    ///
    /// When the database fails or does not answer.
    pub async fn add(&self, lot: RateLot) -> Result<i64, StoreError> {
        let RateLot { key, charge, ahead, most } = lot;
        sqlx::query_scalar(
            "INSERT INTO rate_limit AS shared (api_key, arrival)
             SELECT $1, (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint + $3
             ON CONFLICT (api_key) DO UPDATE SET arrival = least(
                 greatest(shared.arrival + $2, excluded.arrival), excluded.arrival - $3 + $4)
             RETURNING arrival - (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint",
        )
        .bind(uuid(key))
        .bind(charge)
        .bind(ahead)
        .bind(most)
        .fetch_one(&self.pool)
        .await
        .context("adding to the rate limit")
    }
}
