//! The operator's numbers.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::Number;
use sms_core::number::release::{AddPlan, Release};
use sms_core::number::rent::{RentPlan, RentsCharged};
use sms_core::number::store::{CheckedIn, NumberCreated, NumberStore, NumbersWanted, ReadsNumbers};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::PgConnection;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin, give_up};
use crate::error::{Context, PgResult};
use crate::row::{Read, amount, digits, time, uuid};

mod release;
mod rent;
mod row;
mod to_send;

pub(crate) use release::released;
pub(crate) use row::{number, number_columns};
pub(crate) use to_send::{NumbersToSend, numbers_by_phone};

#[async_trait]
impl ReadsNumbers for PgStore {
    async fn number_list(&self, wanted: NumbersWanted) -> Result<Vec<Number>, StoreError> {
        match wanted {
            NumbersWanted::All => self.all_numbers().await,
            NumbersWanted::HeldBy(account) => self.numbers_held(account).await,
            NumbersWanted::Phone(phone) => {
                Ok(self.number_by_phone(phone).await?.into_iter().collect())
            }
            NumbersWanted::UsableBy(account) => self.numbers_for(account).await,
        }
    }

    async fn numbers_among(&self, phones: &[E164]) -> Result<BTreeSet<E164>, StoreError> {
        let doing = "finding numbers";
        let mut connection = self.pool.acquire().await.context(doing)?;
        let phones = phones.iter().copied().collect();
        let found = numbers_by_phone(&mut connection, &phones).await.context(doing)?;
        Ok(found.into_keys().collect())
    }
}

#[async_trait]
impl NumberStore for PgStore {
    async fn number_create(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<NumberCreated>, StoreError> {
        let created = self.create_number(plan, claim).await;
        self.caches.numbers.forget_where(|_| true);
        created.map_err(|error| error.during("adding a number"))
    }

    async fn number_delete(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        let deleted = self.delete_number(id, at).await;
        self.caches.numbers.forget_where(|_| true);
        deleted.context("deleting a number")
    }

    async fn number_check_in(&self, who: CheckedIn, at: Timestamp) -> Result<usize, StoreError> {
        match who {
            CheckedIn::Number(id) => Ok(usize::from(self.one_checks_in(id, at).await?)),
            CheckedIn::Routes(routes) => self.routes_check_in(routes, at).await,
        }
    }

    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError> {
        let charged = again_on_conflict!(rent::charge(&self.pool, plan.clone()));
        if !matches!(charged, Ok(RentsCharged { taken: 0, unpaid: 0 })) {
            let is_rented = |number: &Number| number.next_rent_at.is_some();
            self.caches.numbers.forget_where(|numbers| numbers.iter().any(is_rented));
        }
        charged
    }
}

impl PgStore {
    async fn one_checks_in(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        let updated = sqlx::query("UPDATE number SET checked_in_at = $2 WHERE id = $1")
            .bind(uuid(id))
            .bind(time(at))
            .execute(&self.pool)
            .await
            .context("checking in a number");
        self.caches.numbers.forget_where(|numbers| numbers.iter().any(|number| number.id == id));
        Ok(updated?.rows_affected() == 1)
    }

    async fn routes_check_in(
        &self,
        routes: Vec<Option<RouteName>>,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        let names: Vec<&str> = routes.iter().flatten().map(RouteName::as_str).collect();
        // Locked in order, because two programs may check in the same numbers at once.
        let updated = sqlx::query(
            "UPDATE number SET checked_in_at = $3
             WHERE id IN (SELECT id FROM number
                          WHERE route = ANY($1) OR ($2 AND route IS NULL)
                          ORDER BY id FOR NO KEY UPDATE)",
        )
        .bind(names)
        .bind(routes.contains(&None))
        .bind(time(at))
        .execute(&self.pool)
        .await;
        let is_behind = |number: &Number| routes.contains(&number.route);
        self.caches.numbers.forget_where(|numbers| numbers.iter().any(is_behind));
        let updated = updated.context("checking in numbers")?;
        Ok(usize::try_from(updated.rows_affected()).unwrap_or(usize::MAX))
    }

    async fn all_numbers(&self) -> Result<Vec<Number>, StoreError> {
        let doing = "listing numbers";
        let rows =
            sqlx::query(concat!("SELECT ", number_columns!(), " FROM number n ORDER BY n.id DESC"))
                .fetch_all(&self.pool)
                .await
                .context(doing)?;
        rows.iter().map(number).collect::<PgResult<_>>().context(doing)
    }

    async fn number_by_phone(&self, phone: E164) -> Result<Option<Number>, StoreError> {
        let doing = "finding a number";
        let row =
            sqlx::query(concat!("SELECT ", number_columns!(), " FROM number n WHERE n.phone = $1"))
                .bind(digits(phone))
                .fetch_optional(&self.pool)
                .await
                .context(doing)?;
        row.as_ref().map(number).transpose().context(doing)
    }

    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError> {
        let ticket = match self.caches.numbers.get(&account) {
            Ok(numbers) => return Ok(numbers),
            Err(ticket) => ticket,
        };
        let doing = "finding an account's numbers";
        let rows = sqlx::query(concat!(
            "SELECT ",
            number_columns!(),
            " FROM number n WHERE n.account_id = $1 UNION ALL SELECT ",
            number_columns!(),
            " FROM number n WHERE n.account_id IS NULL ORDER BY id",
        ))
        .bind(uuid(account))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let numbers: Vec<Number> =
            rows.iter().map(number).collect::<PgResult<_>>().context(doing)?;
        self.caches.numbers.put(ticket, account, numbers.clone());
        Ok(numbers)
    }

    async fn numbers_held(&self, account: AccountId) -> Result<Vec<Number>, StoreError> {
        let doing = "listing an account's numbers";
        let rows = sqlx::query(concat!(
            "SELECT ",
            number_columns!(),
            " FROM number n WHERE n.account_id = $1 ORDER BY n.id DESC"
        ))
        .bind(uuid(account))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        rows.iter().map(number).collect::<PgResult<_>>().context(doing)
    }

    pub(crate) async fn rents_next(&self) -> Result<Option<Timestamp>, StoreError> {
        let doing = "finding when the next rent is due";
        let row = sqlx::query("SELECT min(next_rent_at) AS next FROM number")
            .fetch_one(&self.pool)
            .await
            .context(doing)?;
        row.maybe_at("next").context(doing)
    }

    async fn create_number(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> PgResult<Once<NumberCreated>> {
        let mut tx = begin(&self.pool).await?;
        let refused = match insert(&mut tx, &plan.number).await {
            Ok(()) => {
                // The insert has waited for a release that ran at the same time.
                let released = released(&mut tx, plan.number.phone).await?;
                match plan.settle(released.as_ref()) {
                    Ok(()) => {
                        let once = self.conclude(tx, claim, plan.number).await?;
                        return Ok(once.map(|_| NumberCreated::Created));
                    }
                    Err(until) => NumberCreated::Quarantined(until),
                }
            }
            Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {
                NumberCreated::NumberExists
            }
            Err(sqlx::Error::Database(error)) if error.is_foreign_key_violation() => {
                NumberCreated::NoSuchAccount
            }
            Err(error) => return Err(error.into()),
        };
        tx.rollback().await?;
        let earlier = self.earlier(claim).await?;
        Ok(earlier.map_or(Once::Done(refused), Once::Earlier))
    }

    async fn delete_number(&self, id: NumberId, at: Timestamp) -> PgResult<bool> {
        let mut tx = begin(&self.pool).await?;
        let deleted = sqlx::query(concat!(
            "DELETE FROM number n WHERE n.id = $1 RETURNING ",
            number_columns!()
        ))
        .bind(uuid(id))
        .fetch_optional(&mut *tx)
        .await?;
        let Some(deleted) = deleted.as_ref().map(number).transpose()? else {
            return Ok(give_up(tx, false).await);
        };
        let Release { phone, holder, at } = Release::of(&deleted, at);
        let keep = sqlx::query(
            "INSERT INTO released_number (phone, account_id, released_at) VALUES ($1, $2, $3)
             ON CONFLICT (phone) DO UPDATE
             SET account_id = excluded.account_id, released_at = excluded.released_at",
        )
        .bind(digits(phone))
        .bind(holder.account().map(uuid))
        .bind(time(at));
        keep.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(true)
    }
}

async fn insert(connection: &mut PgConnection, number: &Number) -> Result<(), sqlx::Error> {
    let insert = sqlx::query(
        "INSERT INTO number (id, phone, account_id, route, rental_credits, monthly_credits,
             rental_charged_at, next_rent_at, assigned_at, checked_in_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(uuid(number.id))
    .bind(digits(number.phone))
    .bind(number.holder.account().map(uuid))
    .bind(number.route.as_ref().map(RouteName::as_str))
    .bind(amount(number.rental_credits))
    .bind(amount(number.monthly_credits))
    .bind(number.rental_charged_at.map(time))
    .bind(number.next_rent_at.map(time))
    .bind(time(number.assigned_at))
    .bind(number.checked_in_at.map(time));
    insert.execute(connection).await?;
    Ok(())
}
