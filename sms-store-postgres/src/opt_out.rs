//! Opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::message::filter::Search;
use sms_core::opt_out::store::{OptOutStore, ReadsOptOuts};
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, QueryBuilder, Row};

use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::credits::lock_balances;
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, digits, time, uuid};
use crate::rows_query::rows_query;

fn opt_out(row: &PgRow) -> PgResult<OptOut> {
    row.in_table("opt_out", || {
        Ok(OptOut {
            phone: row.number("phone")?,
            source: row.name("source")?,
            note: row.try_get("note")?,
            created_at: row.at("created_at")?,
        })
    })
}

#[async_trait]
impl ReadsOptOuts for PgStore {
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError> {
        let doing = "reading opt-outs";
        let mut connection = self.pool.acquire().await.context(doing)?;
        among(&mut connection, account, numbers).await.context(doing)
    }

    async fn opt_out_list(
        &self,
        account: AccountId,
        search: Option<&Search>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, StoreError> {
        let doing = "listing opt-outs";
        // One statement sees one state, so that the page and the total fit together.
        let mut query = QueryBuilder::new(
            "SELECT page.phone, page.source, page.note, page.created_at, (SELECT count(*)",
        );
        push_found(&mut query, account, search);
        query.push(") AS total FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT o.*");
        push_found(&mut query, account, search);
        query.push(" ORDER BY o.created_at DESC, o.phone DESC LIMIT ");
        query.push_bind(i64::try_from(wanted.limit.get()).unwrap_or(i64::MAX)).push(" OFFSET ");
        query.push_bind(i64::try_from(wanted.offset).unwrap_or(i64::MAX)).push(") page ON true");
        let query = query.push(" ORDER BY page.created_at DESC, page.phone DESC");
        let rows = query.build().fetch_all(&self.pool).await.context(doing)?;
        offset_page(&rows).context(doing)
    }
}

#[async_trait]
impl OptOutStore for PgStore {
    async fn opt_out_create(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError> {
        let doing = "opting a number out";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // The lock keeps an opt-out from coming between a send's facts and its commit, and from
        // racing with a STOP.
        let locked = lock_balances(&mut tx, [account]).await.context(doing)?;
        if locked.is_empty() {
            return Err(give_up(tx, PgError::Missing("account").during(doing)).await);
        }
        let existing = read(&mut tx, account, opt_out.phone).await.context(doing)?;
        let added = opt_out.settle(existing);
        if let Added::New(opt_out) = &added {
            insert(&mut tx, account, opt_out).await.context(doing)?;
        }
        self.conclude(tx, claim, added).await.context(doing)
    }

    async fn opt_outs_add(
        &self,
        account: AccountId,
        opt_outs: Vec<OptOut>,
    ) -> Result<BTreeSet<E164>, StoreError> {
        let doing = "opting numbers out";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // For the same reasons as one opt-out.
        let locked = lock_balances(&mut tx, [account]).await.context(doing)?;
        if locked.is_empty() {
            return Err(give_up(tx, PgError::Missing("account").during(doing)).await);
        }
        let new = insert_all(&mut tx, account, &opt_outs).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(new)
    }

    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError> {
        let deleted = sqlx::query("DELETE FROM opt_out WHERE account_id = $1 AND phone = $2")
            .bind(uuid(account))
            .bind(digits(phone))
            .execute(&self.pool)
            .await
            .context("deleting an opt-out")?;
        Ok(deleted.rows_affected() == 1)
    }
}

/// Those of the numbers that are opted out, each looked up by itself.
pub(crate) async fn among(
    connection: &mut PgConnection,
    account: AccountId,
    numbers: &[E164],
) -> PgResult<BTreeSet<E164>> {
    let query = rows_query!(
        [uuid(account)]
        "SELECT found.phone FROM " rows(number in numbers) as wanted {
            phone: bigint = digits(*number),
         } "
         CROSS JOIN LATERAL (
             SELECT phone FROM opt_out
             WHERE account_id = $1 AND phone = wanted.phone LIMIT 1) AS found"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| row.number("phone")).collect()
}

async fn read(
    connection: &mut PgConnection,
    account: AccountId,
    phone: E164,
) -> PgResult<Option<OptOut>> {
    let row = sqlx::query(
        "SELECT phone, source, note, created_at FROM opt_out WHERE account_id = $1 AND phone = $2",
    )
    .bind(uuid(account))
    .bind(digits(phone))
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(opt_out).transpose()
}

/// Writes an opt-out, unless the number has opted out.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    account: AccountId,
    opt_out: &OptOut,
) -> PgResult<()> {
    insert_all(connection, account, std::slice::from_ref(opt_out)).await.map(drop)
}

/// Writes opt-outs of numbers that have none, and returns these numbers.
async fn insert_all(
    connection: &mut PgConnection,
    account: AccountId,
    opt_outs: &[OptOut],
) -> PgResult<BTreeSet<E164>> {
    let query = rows_query!(
        [uuid(account)]
        "INSERT INTO opt_out (account_id, phone, source, note, created_at)
         SELECT $1, phone, source, note, created_at
         FROM " rows(opt_out in opt_outs) as new {
            phone: bigint = digits(opt_out.phone),
            source: text = opt_out.source.as_str(),
            note: text = opt_out.note.as_deref(),
            created_at: timestamptz = time(opt_out.created_at),
         } "
         ON CONFLICT (account_id, phone) DO NOTHING RETURNING phone"
    );
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(|row| row.number("phone")).collect()
}

/// Adds the conditions of a list.
fn push_found(query: &mut QueryBuilder<Postgres>, account: AccountId, search: Option<&Search>) {
    query.push(" FROM opt_out o WHERE o.account_id = ").push_bind(uuid(account));
    // The predicate of the index by age.
    query.push(" AND o.created_at > '-infinity'");
    match search {
        Some(Search::Number(number)) => {
            query.push(" AND o.phone = ").push_bind(digits(*number));
        }
        Some(Search::Words(words)) => {
            // The ICU collation lowers all of Unicode, whatever the database's collation does.
            query.push(" AND position(").push_bind(words);
            query.push(" IN lower(o.note COLLATE \"und-x-icu\")) > 0");
        }
        None => {}
    }
}

/// The page of rows that all carry the total; a page without opt-outs is one row without them.
fn offset_page(rows: &[PgRow]) -> PgResult<OffsetPage<OptOut>> {
    let total = match rows.first() {
        Some(row) => u64::try_from(row.try_get::<i64, _>("total")?),
        None => Ok(0),
    };
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        if row.try_get::<Option<i64>, _>("phone")?.is_some() {
            items.push(opt_out(row)?);
        }
    }
    Ok(OffsetPage { items, total: total.map_err(|_| PgError::invalid("total"))? })
}
