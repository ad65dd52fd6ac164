//! Links as rows.

use std::collections::BTreeSet;

use sms_core::ids::LinkId;
use sms_core::link::{Link, LinkCode};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, digits, uuid};
use crate::rows_query::rows_query;

/// The columns of a link.
macro_rules! link_columns {
    () => {
        "id, account_id, code, url, message_id, campaign_id, contact_number, clicks, \
         first_clicked_at, last_clicked_at"
    };
}
pub(super) use link_columns;

pub(super) fn link(row: &PgRow) -> PgResult<Link> {
    row.in_table("link", || {
        let clicks = u64::try_from(row.try_get::<i64, _>("clicks")?);
        Ok(Link {
            id: row.id("id")?,
            account: row.id("account_id")?,
            code: row.name("code")?,
            url: row.try_get("url")?,
            message: row.id("message_id")?,
            campaign: row.maybe_id("campaign_id")?,
            contact_number: row.number("contact_number")?,
            clicks: clicks.map_err(|_| PgError::invalid("clicks"))?,
            first_clicked_at: row.maybe_at("first_clicked_at")?,
            last_clicked_at: row.maybe_at("last_clicked_at")?,
        })
    })
}

/// Inserts links, with one statement for any number of them. Skips links whose code is taken.
/// Returns the ids of the inserted links.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    links: &[&Link],
) -> PgResult<BTreeSet<LinkId>> {
    if links.is_empty() {
        return Ok(BTreeSet::new());
    }
    let insert = rows_query!(
        "INSERT INTO link " insert(link in links) {
            account_id: uuid = uuid(link.account),
            id: uuid = uuid(link.id),
            code: text = link.code.as_str(),
            url: text = link.url.as_str(),
            message_id: uuid = uuid(link.message),
            campaign_id: uuid = link.campaign.map(uuid),
            contact_number: bigint = digits(link.contact_number),
        } "
        ON CONFLICT (code) DO NOTHING RETURNING id"
    );
    let rows = insert.fetch_all(connection).await?;
    rows.iter().map(|row| row.id("id")).collect()
}

/// Those of the codes that links have.
pub(crate) async fn taken(
    connection: &mut PgConnection,
    codes: Vec<&str>,
) -> PgResult<BTreeSet<LinkCode>> {
    // LATERAL with a limit: each code is looked up in the index, whatever the planner expects.
    let rows = sqlx::query(
        "SELECT l.code FROM UNNEST($1::text[]) AS want (code)
         CROSS JOIN LATERAL (SELECT code FROM link WHERE code = want.code LIMIT 1) l",
    );
    let rows = rows.bind(codes).fetch_all(connection).await?;
    rows.iter().map(|row| row.name("code")).collect()
}
