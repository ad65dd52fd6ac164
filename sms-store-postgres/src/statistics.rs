//! Statistics. Commits insert what they change; a worker adds it to totals. A reading takes both,
//! in one statement, and so as of one moment.

use std::collections::BTreeMap;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sms_core::ids::AccountId;
use sms_core::statistics::store::StatisticsStore;
use sms_core::statistics::{Count, Counted, Counts, Period, Tally, Totals};
use sms_core::store::StoreError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, PgPool, Postgres, Row};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin};
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, time, uuid};

/// The columns of changes, to be bound by [`Changes::bind`] as the parameters that
/// [`insert_changes`] names.
pub(crate) struct Changes {
    accounts: Vec<Uuid>,
    times: Vec<DateTime<Utc>>,
    counted: Vec<&'static str>,
    amounts: Vec<i64>,
}

impl From<&Tally> for Changes {
    fn from(tally: &Tally) -> Self {
        Self {
            accounts: tally.counts().map(|count| uuid(count.account)).collect(),
            times: tally.counts().map(|count| time(count.at)).collect(),
            counted: tally.counts().map(|count| count.counted.as_str()).collect(),
            amounts: tally.counts().map(|count| count.amount).collect(),
        }
    }
}

impl Changes {
    /// Binds the four columns.
    pub(crate) fn bind(
        self,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Query<'_, Postgres, PgArguments> {
        let Self { accounts, times, counted, amounts } = self;
        query.bind(accounts).bind(times).bind(counted).bind(amounts)
    }
}

/// Writes the changes that are bound as these four parameters: to stand in the statement of the
/// commit that makes them, as one more round to the database would cost more than they do.
macro_rules! insert_changes {
    ($accounts:literal, $times:literal, $counted:literal, $amounts:literal) => {
        concat!(
            "INSERT INTO statistic_change (account_id, at, counted, amount) SELECT * FROM UNNEST(",
            $accounts,
            "::uuid[], ",
            $times,
            "::timestamptz[], ",
            $counted,
            "::text[], ",
            $amounts,
            "::bigint[])"
        )
    };
}
pub(crate) use insert_changes;

/// Writes changes by themselves.
pub(crate) async fn count(connection: &mut PgConnection, tally: &Tally) -> PgResult<()> {
    if tally.is_empty() {
        return Ok(());
    }
    let insert = sqlx::query(insert_changes!("$1", "$2", "$3", "$4"));
    Changes::from(tally).bind(insert).execute(connection).await?;
    Ok(())
}

#[async_trait]
impl StatisticsStore for PgStore {
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError> {
        let doing = "reading statistics";
        // Planned anew each time: how large the tables are changes, and with it which way is best.
        let query = within(account, periods).persistent(false);
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        let mut all = vec![Counts::default(); periods.len()];
        for row in &rows {
            let place: i32 = row.try_get("place").context(doing)?;
            let counts = usize::try_from(place).ok().and_then(|place| all.get_mut(place));
            let counts = counts.ok_or_else(|| PgError::invalid("place").during(doing))?;
            *counts += read(row).context(doing)?;
        }
        Ok(all)
    }

    async fn statistics_fold(&self, limit: usize) -> Result<usize, StoreError> {
        again_on_conflict!(fold(&self.pool, limit))
    }
}

/// The pieces of all periods, each with what it has in the totals, and the periods with what is not
/// in them yet.
fn within(account: AccountId, periods: &[Period]) -> Query<'static, Postgres, PgArguments> {
    let (mut places, mut spans, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (period, place) in periods.iter().zip(0i32..) {
        for piece in period.pieces() {
            places.push(place);
            spans.push(piece.span.as_str());
            ends.push((time(piece.from), time(piece.to)));
        }
    }
    let (from, to): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    sqlx::query(
        "SELECT piece.place, total.*
         FROM UNNEST($2::integer[], $3::text[], $4::timestamptz[], $5::timestamptz[])
              AS piece (place, span, begins, ends)
         CROSS JOIN LATERAL (
             SELECT sum(s.sent)::bigint AS sent, sum(s.delivered)::bigint AS delivered,
                    sum(s.failed)::bigint AS failed, sum(s.received)::bigint AS received,
                    sum(s.credits)::bigint AS credits
             FROM statistic s
             WHERE s.account_id = $1 AND s.span = piece.span
               AND s.at >= piece.begins AND s.at < piece.ends) AS total
         UNION ALL
         SELECT period.place,
                sum(c.amount) FILTER (WHERE c.counted = 'sent')::bigint,
                sum(c.amount) FILTER (WHERE c.counted = 'delivered')::bigint,
                sum(c.amount) FILTER (WHERE c.counted = 'failed')::bigint,
                sum(c.amount) FILTER (WHERE c.counted = 'received')::bigint,
                sum(c.amount) FILTER (WHERE c.counted = 'credits')::bigint
         FROM UNNEST($6::integer[], $7::timestamptz[], $8::timestamptz[])
              AS period (place, begins, ends)
         JOIN statistic_change c
           ON c.account_id = $1 AND c.at >= period.begins AND c.at < period.ends
         GROUP BY period.place",
    )
    .bind(uuid(account))
    .bind(places)
    .bind(spans)
    .bind(from)
    .bind(to)
    .bind((0i32..).take(periods.len()).collect::<Vec<_>>())
    .bind(periods.iter().map(|period| time(period.from)).collect::<Vec<_>>())
    .bind(periods.iter().map(|period| time(period.to)).collect::<Vec<_>>())
}

fn read(row: &PgRow) -> PgResult<Counts> {
    let mut counts = Counts::default();
    for counted in Counted::ALL {
        let amount: Option<i64> = row.try_get(counted.as_str())?;
        counts.add(counted, amount.unwrap_or_default());
    }
    Ok(counts)
}

/// Adds some of what commits left to the totals. Any number of programs may do so at once: each
/// takes rows of its own, and totals are locked in one order.
async fn fold(pool: &PgPool, limit: usize) -> Result<usize, StoreError> {
    let doing = "adding up statistics";
    let mut tx = begin(pool).await.context(doing)?;
    // By its place in the table, so that a change needs no name of its own.
    let rows = sqlx::query(
        "DELETE FROM statistic_change WHERE ctid = ANY(ARRAY(
             SELECT ctid FROM statistic_change LIMIT $1 FOR UPDATE SKIP LOCKED))
         RETURNING account_id, at, counted, amount",
    )
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(&mut *tx)
    .await
    .context(doing)?;
    if rows.is_empty() {
        return Ok(0);
    }
    let mut totals: BTreeMap<AccountId, Totals> = BTreeMap::new();
    for row in &rows {
        let count = change(row).context(doing)?;
        totals.entry(count.account).or_default().add(count);
    }
    add(&mut tx, &totals).await.context(doing)?;
    tx.commit().await.context(doing)?;
    Ok(rows.len())
}

fn change(row: &PgRow) -> PgResult<Count> {
    row.in_table("statistic_change", || {
        Ok(Count {
            account: row.id("account_id")?,
            at: row.at("at")?,
            counted: row.name("counted")?,
            amount: row.try_get("amount")?,
        })
    })
}

async fn add(connection: &mut PgConnection, totals: &BTreeMap<AccountId, Totals>) -> PgResult<()> {
    let each = || {
        let of = |(account, totals): (&AccountId, &'_ Totals)| {
            let account = uuid(*account);
            totals.iter().map(move |total| (account, total)).collect::<Vec<_>>()
        };
        totals.iter().flat_map(of)
    };
    let amounts = |counted| each().map(|(_, (.., counts))| counts.of(counted)).collect::<Vec<_>>();
    let upsert = sqlx::query(
        "INSERT INTO statistic AS s
             (account_id, span, at, sent, delivered, failed, received, credits)
         SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::timestamptz[], $4::bigint[],
             $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
         ON CONFLICT (account_id, span, at) DO UPDATE
         SET sent = s.sent + excluded.sent, delivered = s.delivered + excluded.delivered,
             failed = s.failed + excluded.failed, received = s.received + excluded.received,
             credits = s.credits + excluded.credits",
    )
    .bind(each().map(|(account, _)| account).collect::<Vec<_>>())
    .bind(each().map(|(_, (span, ..))| span.as_str()).collect::<Vec<_>>())
    .bind(each().map(|(_, (_, at, _))| time(at)).collect::<Vec<_>>())
    .bind(amounts(Counted::Sent))
    .bind(amounts(Counted::Delivered))
    .bind(amounts(Counted::Failed))
    .bind(amounts(Counted::Received))
    .bind(amounts(Counted::Credits));
    upsert.execute(connection).await?;
    Ok(())
}
