//! Statistics: totals that every commit adds to at once.

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::statistics::span::Piece;
use sms_core::statistics::store::ReadsStatistics;
use sms_core::statistics::{Counted, Counts, Period};
use sms_core::store::StoreError;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::row::time;

#[async_trait]
impl ReadsStatistics for SqliteStore {
    async fn statistics_within(
        &self,
        account: AccountId,
        periods: &[Period],
    ) -> Result<Vec<Counts>, StoreError> {
        let periods = periods.to_vec();
        self.read("reading statistics", move |db| {
            let Some(no) = db.account_no(account)? else {
                return Ok(vec![Counts::default(); periods.len()]);
            };
            periods.iter().map(|period| within(db, no, *period)).collect()
        })
        .await
    }
}

fn within(db: &Db, account: i64, period: Period) -> SqlResult<Counts> {
    let mut sum = Counts::default();
    for Piece { span, from, to } in period.pieces() {
        let found = db.one(
            "SELECT coalesce(sum(sent), 0), coalesce(sum(delivered), 0),
                 coalesce(sum(failed), 0), coalesce(sum(received), 0), coalesce(sum(credits), 0)
             FROM statistic WHERE account = ?1 AND span = ?2 AND at >= ?3 AND at < ?4",
            [account, span as i64, time(from), time(to)],
            |c| {
                let mut counts = Counts::default();
                for counted in Counted::ALL {
                    counts.add(counted, c.get()?);
                }
                Ok(counts)
            },
        )?;
        sum += found.unwrap_or_default();
    }
    Ok(sum)
}
