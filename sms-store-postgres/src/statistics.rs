//! Statistics. Commits insert what they change; a worker adds it to totals. A query reads both in
//! one statement, and so as of one moment.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::statistics::span::Totals;
use sms_core::statistics::store::ReadsStatistics;
use sms_core::statistics::{Count, Counted, Counts, Period, Tally};
use sms_core::store::StoreError;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{PgConnection, PgPool, Postgres, Row};

use crate::PgStore;
use crate::begin::{again_on_conflict, begin};
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, time, uuid};
use crate::rows_query::rows_query;

mod row;

pub(crate) use row::counted;

/// Inserts changes with a separate statement.
pub(crate) async fn count(connection: &mut PgConnection, tally: &Tally) -> PgResult<()> {
    if tally.is_empty() {
        return Ok(());
    }
    let insert = rows_query!(
        "INSERT INTO statistic_change " insert(count in tally.counts()) {
            ..counted!(count),
        }
    );
    insert.execute(connection).await?;
    Ok(())
}

#[async_trait]
impl ReadsStatistics for PgStore {
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError> {
        let doing = "reading statistics";
        // Planned for each call: the best plan depends on the sizes of the tables, which change.
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
}

impl PgStore {
    pub(crate) async fn statistics_fold(&self, limit: usize) -> Result<usize, StoreError> {
        again_on_conflict!(fold(&self.pool, limit))
    }
}

/// The pieces of all periods with their totals, and the periods with the changes that are not in
/// the totals yet.
fn within(account: AccountId, periods: &[Period]) -> Query<'static, Postgres, PgArguments> {
    let each = || periods.iter().zip(0i32..);
    let pieces = || {
        each().flat_map(|(period, place)| {
            period.pieces().into_iter().map(move |piece| (place, piece))
        })
    };
    rows_query!(
        [uuid(account)]
        "SELECT piece.place, total.sent, total.delivered, total.failed, total.received,
                total.credits
         FROM " rows((place, piece) in pieces()) as piece {
            place: integer = place,
            span: text = piece.span.as_str(),
            begins: timestamptz = time(piece.from),
            ends: timestamptz = time(piece.to),
         } "
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
         FROM " rows((period, place) in each()) as period {
            place: integer = place,
            begins: timestamptz = time(period.from),
            ends: timestamptz = time(period.to),
         } "
         JOIN statistic_change c
           ON c.account_id = $1 AND c.at >= period.begins AND c.at < period.ends
         GROUP BY period.place"
    )
}

fn read(row: &PgRow) -> PgResult<Counts> {
    let mut counts = Counts::default();
    for counted in Counted::ALL {
        let amount: Option<i64> = row.try_get(counted.as_str())?;
        counts.add(counted, amount.unwrap_or_default());
    }
    Ok(counts)
}

/// Adds some changes to the totals. Any number of programs may do so concurrently: each takes other
/// rows, and all lock totals in the same order.
async fn fold(pool: &PgPool, limit: usize) -> Result<usize, StoreError> {
    let doing = "folding statistics";
    let mut tx = begin(pool).await.context(doing)?;
    // By its place in the table, so that a change needs no id.
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
    let upsert = rows_query!(
        "INSERT INTO statistic AS s " insert((account, (span, at, counts)) in each()) {
            account_id: uuid = account,
            span: text = span.as_str(),
            at: timestamptz = time(at),
            sent: bigint = counts.of(Counted::Sent),
            delivered: bigint = counts.of(Counted::Delivered),
            failed: bigint = counts.of(Counted::Failed),
            received: bigint = counts.of(Counted::Received),
            credits: bigint = counts.of(Counted::Credits),
        } "
        ON CONFLICT (account_id, span, at) DO UPDATE
        SET sent = s.sent + excluded.sent, delivered = s.delivered + excluded.delivered,
            failed = s.failed + excluded.failed, received = s.received + excluded.received,
            credits = s.credits + excluded.credits"
    );
    upsert.execute(connection).await?;
    Ok(())
}
