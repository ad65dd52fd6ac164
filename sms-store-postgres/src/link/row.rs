//! Links as rows.

use std::collections::BTreeSet;

use sms_core::ids::LinkId;
use sms_core::link::Link;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, digits, uuid};
use crate::rows_query::rows_query;

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

/// Deletes links that were staged for messages that were then refused.
pub(crate) async fn delete(connection: &mut PgConnection, links: &[&Link]) -> PgResult<()> {
    if links.is_empty() {
        return Ok(());
    }
    let delete = rows_query!(
        "DELETE FROM link l USING " rows(link in links) as old {
            account_id: uuid = uuid(link.account),
            id: uuid = uuid(link.id),
         } "
         WHERE l.account_id = old.account_id AND l.id = old.id"
    );
    delete.execute(connection).await?;
    Ok(())
}
