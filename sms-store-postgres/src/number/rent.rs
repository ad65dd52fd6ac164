//! Charges rent. Numbers are locked before accounts, here and everywhere.

use sms_core::commit::LedgerWrites;
use sms_core::number::Number;
use sms_core::number::rent::{RentPlan, RentScope, RentVerdict, RentsCharged};
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool};

use super::row::{number, number_columns};
use crate::begin::begin;
use crate::credits::{book, lock_balances};
use crate::error::{Context, PgResult};
use crate::row::{time, uuid};
use crate::rows_query::rows_query;

pub(super) async fn charge(pool: &PgPool, mut plan: RentPlan) -> Result<RentsCharged, StoreError> {
    let doing = "charging rent";
    let mut tx = begin(pool).await.context(doing)?;
    match charge_in(&mut tx, &mut plan).await {
        Ok(charged) => tx.commit().await.map(|()| charged).context(doing),
        Err(error) => {
            // Roll back now: a retry would skip the rows that are still locked.
            let _ = tx.rollback().await;
            Err(error.during(doing))
        }
    }
}

async fn charge_in(connection: &mut PgConnection, plan: &mut RentPlan) -> PgResult<RentsCharged> {
    let numbers = locked(connection, plan).await?;
    let mut charged = RentsCharged::default();
    if numbers.is_empty() {
        return Ok(charged);
    }
    let accounts = numbers.iter().filter_map(|number| number.holder.account());
    let balances = lock_balances(connection, accounts).await?;
    let mut ledger = LedgerWrites::default();
    let mut changed = Vec::new();
    for number in numbers {
        let account = number.holder.account();
        let found = account.and_then(|id| Some((id, balances.get(&id)?.0)));
        let Some((account, found)) = found else { continue };
        let balance = ledger.accounts.get(&account).map_or(found, |booked| booked.balance);
        let Some(verdict) = plan.settle(&number, balance) else { continue };
        charged.add(&verdict, plan.at);
        let RentVerdict { number, entries, balance } = verdict;
        ledger.add(account, entries, balance);
        changed.push(number);
    }
    book(connection, ledger, |account| balances.get(account).map(|(_, seq)| *seq)).await?;
    update(connection, changed).await?;
    Ok(charged)
}

async fn locked(connection: &mut PgConnection, plan: &RentPlan) -> PgResult<Vec<Number>> {
    let query = match plan.scope {
        RentScope::Due(limit) => sqlx::query(concat!(
            "SELECT ",
            number_columns!(),
            " FROM number n WHERE n.next_rent_at <= $1 ORDER BY n.next_rent_at, n.id
             LIMIT $2 FOR UPDATE SKIP LOCKED",
        ))
        .bind(time(plan.at))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX)),
        RentScope::Account(account) => sqlx::query(concat!(
            "SELECT ",
            number_columns!(),
            " FROM number n WHERE n.account_id = $1 AND n.next_rent_at IS NOT NULL
             ORDER BY n.id FOR UPDATE",
        ))
        .bind(uuid(account)),
    };
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(number).collect()
}

async fn update(connection: &mut PgConnection, numbers: Vec<Number>) -> PgResult<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE number n
         SET rental_charged_at = new.rental_charged_at, next_rent_at = new.next_rent_at
         FROM " rows(number in &numbers) as new {
            id: uuid = uuid(number.id),
            rental_charged_at: timestamptz = number.rental_charged_at.map(time),
            next_rent_at: timestamptz = number.next_rent_at.map(time),
         } "
         WHERE n.id = new.id"
    );
    update.execute(connection).await?;
    Ok(())
}
