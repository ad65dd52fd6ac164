//! Where the servers that share a database count requests together.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use sms_core::rate_limit::SECOND;
use sms_core::rate_limit::membership::{
    CheckIn, CheckInFacts, CheckedIn, Ends, Footing, Lease, ReplicaId, Standing,
};
use sms_core::rate_limit::reservation::{Granted, Reservation, ReservationFacts};
use sms_core::rate_limit::store::SharedLimits;
use sms_core::store::StoreError;
use sqlx::postgres::{PgPoolOptions, PgRow};
use sqlx::{PgPool, Postgres, Row, Transaction};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin};
use crate::error::{Context, PgError, PgResult};
use crate::row::uuid;

/// One connection for check-ins, which must not be late, one for reservations, and one for tidying
/// or for a check-in that is made again while the first still waits for the disk.
const CONNECTIONS: u32 = 3;
/// The longest to wait for one of them; a replica has its own answer by then.
const PATIENCE: Duration = Duration::from_secs(1);
/// A key that has been idle for so long counts as one that was never there.
const IDLE: u64 = 3_600 * SECOND;

/// The counters of the rate limit in PostgreSQL, on connections of their own: a request that asks
/// whether it may come in does not wait behind those that have.
#[derive(Clone)]
pub struct PgLimits {
    pool: PgPool,
}

impl PgLimits {
    /// The counters beside a store's tables. Connects when it is first used.
    pub fn new(store: &PgStore) -> Self {
        let options = (*store.pool.connect_options()).clone().application_name("sms_rate_limit");
        // A lock that is waited for longer helps nobody any more.
        let options = options.options([("lock_timeout", "1s"), ("statement_timeout", "1s")]);
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(PATIENCE)
            .connect_lazy_with(options);
        Self { pool }
    }

    async fn settle_check_in(&self, check_in: CheckIn) -> Result<Standing, StoreError> {
        let doing = "checking in";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // Locks other check-ins out; what they wrote is seen by the next statement.
        let ends = sqlx::query("SELECT alone, shared FROM rate_limit_end FOR UPDATE")
            .fetch_one(&mut *tx)
            .await
            .context(doing)?;
        let alone = maybe_nanos(&ends, "alone").context(doing)?;
        let ends = Ends { alone, shared: maybe_nanos(&ends, "shared").context(doing)? };
        let facts = read(&mut tx, ends).await.context(doing)?;
        let settled = check_in.settle(facts);
        let standing = settled.standing;
        if standing != Standing::Overtaken {
            write(&mut tx, check_in.replica, settled, ends).await.context(doing)?;
        }
        tx.commit().await.context(doing)?;
        Ok(standing)
    }

    async fn settle_reservations(
        &self,
        reservations: &[Reservation],
    ) -> Result<Vec<Granted>, StoreError> {
        let doing = "reserving requests";
        let keys: Vec<Uuid> = reservations.iter().map(|asked| uuid(asked.key)).collect();
        let mut tx = begin(&self.pool).await.context(doing)?;
        // Locks the keys in their order, those that are new as well; the time of each is read after
        // its lock was had.
        let rows = sqlx::query(
            "INSERT INTO rate_limit AS counted (api_key, arrival)
             SELECT asked, 0 FROM unnest($1::uuid[]) AS asked ORDER BY asked
             ON CONFLICT (api_key) DO UPDATE SET arrival = counted.arrival
             RETURNING api_key, arrival,
                 (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint AS now,
                 (SELECT at FROM rate_limit_start) AS start,
                 (SELECT alone FROM rate_limit_end) AS alone",
        )
        .bind(&keys)
        .fetch_all(&mut *tx)
        .await
        .context(doing)?;
        let facts = rows.iter().map(|row| Ok((row.try_get::<Uuid, _>("api_key")?, facts(row)?)));
        let facts: HashMap<Uuid, ReservationFacts> =
            facts.collect::<PgResult<_>>().context(doing)?;
        let settled = reservations.iter().zip(&keys).map(|(asked, key)| {
            let facts = facts.get(key).copied().ok_or(PgError::Missing("rate_limit"))?;
            Ok(asked.settle(facts))
        });
        let granted: Vec<Granted> = settled.collect::<PgResult<_>>().context(doing)?;
        let arrivals: Vec<i64> = granted.iter().map(|granted| stored(granted.arrival)).collect();
        sqlx::query(
            "UPDATE rate_limit SET arrival = granted.arrival
             FROM unnest($1::uuid[], $2::bigint[]) AS granted (api_key, arrival)
             WHERE rate_limit.api_key = granted.api_key",
        )
        .bind(&keys)
        .bind(&arrivals)
        .execute(&mut *tx)
        .await
        .context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(granted)
    }
}

#[async_trait]
impl SharedLimits for PgLimits {
    async fn check_in(&self, check_in: CheckIn) -> Result<Standing, StoreError> {
        again_on_conflict!(self.settle_check_in(check_in))
    }

    async fn reserve(&self, reservations: Vec<Reservation>) -> Result<Vec<Granted>, StoreError> {
        again_on_conflict!(self.settle_reservations(&reservations))
    }

    async fn tidy(&self, limit: usize) -> Result<usize, StoreError> {
        let tidied = sqlx::query(
            "DELETE FROM rate_limit WHERE api_key IN (
                 SELECT api_key FROM rate_limit
                 WHERE arrival < (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint - $1
                 LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(stored(IDLE))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .execute(&self.pool)
        .await
        .context("tidying the rate limit")?;
        Ok(usize::try_from(tidied.rows_affected()).unwrap_or(usize::MAX))
    }
}

impl fmt::Debug for PgLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgLimits").finish_non_exhaustive()
    }
}

/// The leases and the time; and the start of the counters, where a crash has emptied them.
async fn read(tx: &mut Transaction<'static, Postgres>, ends: Ends) -> PgResult<CheckInFacts> {
    let now: i64 = sqlx::query_scalar(
        "WITH begun AS (
             INSERT INTO rate_limit_start (at)
             SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint
             WHERE NOT EXISTS (SELECT FROM rate_limit_start)
             ON CONFLICT DO NOTHING)
         SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint",
    )
    .fetch_one(&mut **tx)
    .await?;
    let rows = sqlx::query("SELECT id, footing, until, spent, turn FROM replica");
    let rows = rows.fetch_all(&mut **tx).await?;
    let leases = rows.iter().map(lease).collect::<PgResult<_>>()?;
    Ok(CheckInFacts { leases, ends, now: u64::try_from(now).unwrap_or(0) })
}

async fn write(
    tx: &mut Transaction<'static, Postgres>,
    replica: ReplicaId,
    settled: CheckedIn,
    before: Ends,
) -> PgResult<()> {
    let CheckedIn { standing: _, lease, gone, ends } = settled;
    let gone = gone.into_iter().chain(lease.is_none().then_some(replica));
    let gone: Vec<Uuid> = gone.map(|replica| Uuid::from_u128(replica.0)).collect();
    if !gone.is_empty() {
        let delete = sqlx::query("DELETE FROM replica WHERE id = ANY($1)").bind(&gone);
        delete.execute(&mut **tx).await?;
    }
    if let Some(Lease { replica, footing, until, spent, turn }) = lease {
        sqlx::query(
            "INSERT INTO replica (id, footing, until, spent, turn) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (id) DO UPDATE SET footing = excluded.footing, until = excluded.until,
                 spent = excluded.spent, turn = excluded.turn",
        )
        .bind(Uuid::from_u128(replica.0))
        .bind(name(footing))
        .bind(stored(until))
        .bind(spent.map(stored))
        .bind(stored(turn))
        .execute(&mut **tx)
        .await?;
    }
    if ends != before {
        let update = sqlx::query("UPDATE rate_limit_end SET alone = $1, shared = $2");
        let update = update.bind(ends.alone.map(stored)).bind(ends.shared.map(stored));
        update.execute(&mut **tx).await?;
    }
    Ok(())
}

fn lease(row: &PgRow) -> PgResult<Lease> {
    let footing = match row.try_get::<&str, _>("footing")? {
        "alone" => Footing::Alone,
        "shared" => Footing::Shared,
        // The table has a check on it.
        _ => Footing::Waiting,
    };
    Ok(Lease {
        replica: ReplicaId(row.try_get::<Uuid, _>("id")?.as_u128()),
        footing,
        until: nanos(row, "until")?,
        spent: maybe_nanos(row, "spent")?,
        turn: nanos(row, "turn")?,
    })
}

fn facts(row: &PgRow) -> PgResult<ReservationFacts> {
    let arrival = Some(nanos(row, "arrival")?).filter(|arrival| *arrival > 0);
    // What was counted by one that was alone is over as well when counting here begins.
    let start = maybe_nanos(row, "start")?.max(maybe_nanos(row, "alone")?);
    let is_known = row.try_get::<Option<i64>, _>("start")?.is_some();
    Ok(ReservationFacts { arrival, start: start.filter(|_| is_known), now: nanos(row, "now")? })
}

fn name(footing: Footing) -> &'static str {
    match footing {
        Footing::Waiting => "waiting",
        Footing::Alone => "alone",
        Footing::Shared => "shared",
    }
}

fn nanos(row: &PgRow, column: &str) -> PgResult<u64> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

fn maybe_nanos(row: &PgRow, column: &str) -> PgResult<Option<u64>> {
    let found = row.try_get::<Option<i64>, _>(column)?;
    Ok(found.map(|nanos| u64::try_from(nanos).unwrap_or(0)))
}

fn stored(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
