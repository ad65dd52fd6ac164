//! The operator's numbers.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::LedgerWrites;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::release::{AddPlan, Release};
use sms_core::number::rent::{RentPlan, RentScope, RentVerdict, RentsCharged};
use sms_core::number::store::{CheckedIn, NumberCreated, NumberStore, NumbersWanted, ReadsNumbers};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, amount, digits, id, maybe_time, size, time};

/// The columns that [`number`] reads.
macro_rules! select_numbers {
    () => {
        "SELECT id, phone, account, route, rental_credits, monthly_credits, rental_charged_at, \
         next_rent_at, assigned_at, checked_in_at FROM number "
    };
}

#[async_trait]
impl ReadsNumbers for SqliteStore {
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
        let phones = phones.to_vec();
        self.look("finding numbers", move |db| {
            let mut ours = BTreeSet::new();
            for phone in phones {
                if db.number_of(phone)?.is_some() {
                    ours.insert(phone);
                }
            }
            Ok(ours)
        })
        .await
    }
}

#[async_trait]
impl NumberStore for SqliteStore {
    async fn number_create(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<NumberCreated>, StoreError> {
        let claim = claim.cloned();
        self.write("adding a number", move |db| {
            if let Some(earlier) = db.earlier(claim.as_ref())? {
                return Ok(Once::Earlier(earlier));
            }
            let created = create(db, &plan)?;
            if created == NumberCreated::Created {
                db.remember(claim.as_ref(), &plan.number)?;
            }
            Ok(Once::Done(created))
        })
        .await
    }

    async fn number_delete(&self, of: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        self.write("removing a number", move |db| {
            let Some(number) = get(db, of)? else { return Ok(false) };
            db.run("DELETE FROM number WHERE id = ?1", [id(of)])?;
            let Release { phone, holder, at } = Release::of(&number, at);
            db.run(
                "INSERT OR REPLACE INTO number_release (phone, account, at) VALUES (?1, ?2, ?3)",
                params![digits(phone), holder_no(db, holder)?, time(at)],
            )?;
            Ok(true)
        })
        .await
    }

    async fn number_check_in(&self, who: CheckedIn, at: Timestamp) -> Result<usize, StoreError> {
        match who {
            CheckedIn::Number(id) => Ok(usize::from(self.one_checks_in(id, at).await?)),
            CheckedIn::Routes(routes) => self.routes_check_in(routes, at).await,
        }
    }

    async fn rents_charge(&self, plan: RentPlan) -> Result<RentsCharged, StoreError> {
        self.write("charging rent", move |db| {
            let mut plan = plan.clone();
            let mut charged = RentsCharged::default();
            for number in numbers_to_charge(db, &plan)? {
                let Some(account) = number.holder.account() else { continue };
                let Some(balance) = db.balance(account)? else { continue };
                if let Some(verdict) = plan.settle(&number, balance) {
                    charged.add(&verdict, plan.at);
                    write_rent(db, account, verdict)?;
                }
            }
            Ok(charged)
        })
        .await
    }
}

impl SqliteStore {
    async fn one_checks_in(&self, of: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        self.write("recording a check-in", move |db| {
            let update = "UPDATE number SET checked_in_at = ?2 WHERE id = ?1";
            Ok(db.run(update, params![id(of), time(at)])? == 1)
        })
        .await
    }

    async fn routes_check_in(
        &self,
        routes: Vec<Option<RouteName>>,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        self.write("recording check-ins", move |db| {
            let distinct: std::collections::BTreeSet<_> = routes.iter().collect();
            let mut count = 0;
            for route in distinct {
                count += db.run(
                    "UPDATE number SET checked_in_at = ?2 WHERE route IS ?1",
                    params![route.as_ref().map(RouteName::as_str), time(at)],
                )?;
            }
            Ok(count)
        })
        .await
    }

    async fn all_numbers(&self) -> Result<Vec<Number>, StoreError> {
        self.read("listing numbers", |db| {
            db.all(concat!(select_numbers!(), "ORDER BY id DESC"), [], |c| number(db, c))
        })
        .await
    }

    async fn number_by_phone(&self, phone: E164) -> Result<Option<Number>, StoreError> {
        self.look("finding a number", move |db| db.number_of(phone)).await
    }

    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError> {
        let numbers = &self.caches().numbers;
        let found = self.look_cached(numbers, account, "reading an account's numbers", move |db| {
            db.numbers_for(account).map(Some)
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn numbers_held(&self, account: AccountId) -> Result<Vec<Number>, StoreError> {
        self.look("reading an account's numbers", move |db| held(db, account)).await
    }

    pub(crate) async fn rents_next(&self) -> Result<Option<Timestamp>, StoreError> {
        self.look("looking for the next rent", |db| {
            db.one(
                "SELECT next_rent_at FROM number INDEXED BY number_by_rent
                 WHERE next_rent_at IS NOT NULL ORDER BY next_rent_at LIMIT 1",
                [],
                |c| c.at(),
            )
        })
        .await
    }
}

fn create(db: &Db, plan: &AddPlan) -> SqlResult<NumberCreated> {
    let verdict = plan.settle(db.release_of(plan.number.phone)?.as_ref());
    let AddPlan { number, quarantine: _ } = plan;
    if db.number_of(number.phone)?.is_some() {
        return Ok(NumberCreated::NumberExists);
    }
    if let Some(account) = number.holder.account()
        && db.account_no(account)?.is_none()
    {
        return Ok(NumberCreated::NoSuchAccount);
    }
    if let Err(until) = verdict {
        return Ok(NumberCreated::Quarantined(until));
    }
    put(db, number)?;
    Ok(NumberCreated::Created)
}

fn get(db: &Db, of: NumberId) -> SqlResult<Option<Number>> {
    db.one(concat!(select_numbers!(), "WHERE id = ?1"), [id(of)], |c| number(db, c))
}

/// The dedicated numbers of an account, newest first.
fn held(db: &Db, account: AccountId) -> SqlResult<Vec<Number>> {
    let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
    let query = concat!(select_numbers!(), "WHERE account = ?1 ORDER BY id DESC");
    db.all(query, [no], |c| number(db, c))
}

fn numbers_to_charge(db: &Db, plan: &RentPlan) -> SqlResult<Vec<Number>> {
    match plan.scope {
        RentScope::Due(limit) => db.all(
            concat!(
                select_numbers!(),
                "INDEXED BY number_by_rent WHERE next_rent_at <= ?1
                 ORDER BY next_rent_at, id LIMIT ?2"
            ),
            [time(plan.at), size(limit)],
            |c| number(db, c),
        ),
        RentScope::Account(account) => {
            let mut held = held(db, account)?;
            held.reverse();
            Ok(held)
        }
    }
}

fn write_rent(db: &Db, account: AccountId, verdict: RentVerdict) -> SqlResult<()> {
    let RentVerdict { number, entries, balance } = verdict;
    db.book(LedgerWrites::of(account, entries, balance))?;
    put(db, &number)
}

fn holder_no(db: &Db, holder: Holder) -> SqlResult<Option<i64>> {
    holder.account().map(|account| db.known_account(account)).transpose()
}

fn put(db: &Db, number: &Number) -> SqlResult<()> {
    let Number {
        id: of,
        phone,
        holder,
        route,
        rental_credits,
        monthly_credits,
        rental_charged_at,
        next_rent_at,
        assigned_at,
        checked_in_at,
    } = number;
    db.run(
        "INSERT INTO number (id, phone, account, route, rental_credits, monthly_credits,
             rental_charged_at, next_rent_at, assigned_at, checked_in_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET phone = ?2, account = ?3, route = ?4, rental_credits = ?5,
             monthly_credits = ?6, rental_charged_at = ?7, next_rent_at = ?8, assigned_at = ?9,
             checked_in_at = ?10",
        params![
            id(*of),
            digits(*phone),
            holder_no(db, *holder)?,
            route.as_ref().map(RouteName::as_str),
            amount(*rental_credits),
            amount(*monthly_credits),
            maybe_time(*rental_charged_at),
            maybe_time(*next_rent_at),
            time(*assigned_at),
            maybe_time(*checked_in_at)
        ],
    )?;
    Ok(())
}

fn holder(db: &Db, c: &mut Cols<'_>) -> SqlResult<Holder> {
    let account: Option<i64> = c.get()?;
    Ok(match account {
        Some(no) => Holder::Dedicated(db.account_id(no)?),
        None => Holder::Shared,
    })
}

fn number(db: &Db, c: &mut Cols<'_>) -> SqlResult<Number> {
    Ok(Number {
        id: c.id()?,
        phone: c.number()?,
        holder: holder(db, c)?,
        route: c.maybe(|name: String| Some(RouteName::new(name)))?,
        rental_credits: c.credits()?,
        monthly_credits: c.credits()?,
        rental_charged_at: c.maybe_at()?,
        next_rent_at: c.maybe_at()?,
        assigned_at: c.at()?,
        checked_in_at: c.maybe_at()?,
    })
}

impl Db {
    /// The numbers of an account, and the shared ones.
    pub(crate) fn numbers_for(&self, account: AccountId) -> SqlResult<Vec<Number>> {
        let no = self.account_no(account)?;
        let query = concat!(
            select_numbers!(),
            "WHERE account = ?1 UNION ALL ",
            select_numbers!(),
            "WHERE account IS NULL"
        );
        let mut numbers = self.all(query, [no], |c| number(self, c))?;
        numbers.sort_unstable_by_key(|number| number.id);
        Ok(numbers)
    }

    /// The operator's number with this phone number.
    pub(crate) fn number_of(&self, phone: E164) -> SqlResult<Option<Number>> {
        let known = self.known.as_ref().and_then(|known| known.number(phone));
        if known.is_some() {
            return Ok(known);
        }
        let query = concat!(select_numbers!(), "WHERE phone = ?1");
        let found = self.one(query, [digits(phone)], |c| number(self, c))?;
        if let (Some(known), Some(number)) = (&self.known, &found) {
            known.learn_number(number.clone());
        }
        Ok(found)
    }

    /// The last release of a number.
    pub(crate) fn release_of(&self, phone: E164) -> SqlResult<Option<Release>> {
        let query = "SELECT account, at FROM number_release WHERE phone = ?1";
        self.one(query, [digits(phone)], |c| {
            Ok(Release { phone, holder: holder(self, c)?, at: c.at()? })
        })
    }
}
