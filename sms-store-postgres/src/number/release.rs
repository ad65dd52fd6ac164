//! The last release of a number.

use sms_core::number::Holder;
use sms_core::number::release::Release;
use sms_core::phone::E164;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{Read, digits};

pub(crate) async fn released(
    connection: &mut PgConnection,
    phone: E164,
) -> PgResult<Option<Release>> {
    let row =
        sqlx::query("SELECT phone, account_id, released_at FROM released_number WHERE phone = $1")
            .bind(digits(phone))
            .fetch_optional(connection)
            .await?;
    row.map(|row| {
        row.in_table("released_number", || {
            Ok(Release {
                phone: row.number("phone")?,
                holder: row.maybe_id("account_id")?.map_or(Holder::Shared, Holder::Dedicated),
                at: row.at("released_at")?,
            })
        })
    })
    .transpose()
}
