//! Numbers as rows.

use sms_core::number::{Holder, Number};
use sms_core::route::RouteName;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::PgResult;
use crate::row::Read;

/// The columns of a number `n`.
macro_rules! number_columns {
    () => {
        "n.id, n.phone, n.account_id, n.route, n.rental_credits, n.monthly_credits, \
         n.rental_charged_at, n.next_rent_at, n.assigned_at, n.checked_in_at"
    };
}
pub(crate) use number_columns;

pub(crate) fn number(row: &PgRow) -> PgResult<Number> {
    row.in_table("number", || {
        Ok(Number {
            id: row.id("id")?,
            phone: row.number("phone")?,
            holder: row.maybe_id("account_id")?.map_or(Holder::Shared, Holder::Dedicated),
            route: row.try_get::<Option<String>, _>("route")?.map(RouteName::new),
            rental_credits: row.credits("rental_credits")?,
            monthly_credits: row.credits("monthly_credits")?,
            rental_charged_at: row.maybe_at("rental_charged_at")?,
            next_rent_at: row.maybe_at("next_rent_at")?,
            assigned_at: row.at("assigned_at")?,
            checked_in_at: row.maybe_at("checked_in_at")?,
        })
    })
}
