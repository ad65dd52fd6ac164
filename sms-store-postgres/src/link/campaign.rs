//! Clicks on the links of campaigns.

use std::collections::BTreeMap;

use sms_core::ids::{AccountId, CampaignId};
use sms_core::link::click::CampaignClicks;
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::row::{bigint, uuid};
use crate::rows_query::rows_query;

/// Adds clicks to campaigns, with one statement for any number of them.
pub(super) async fn add_clicks(
    connection: &mut PgConnection,
    more: &BTreeMap<(AccountId, CampaignId), CampaignClicks>,
) -> PgResult<()> {
    if more.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "WITH more AS (
             SELECT c.account_id, c.id, new.clicks, new.unique_clicked
             FROM " rows(((account, campaign), more) in more) as new {
                account_id: uuid = uuid(*account),
                id: uuid = uuid(*campaign),
                clicks: bigint = bigint(more.clicks),
                unique_clicked: bigint = bigint(more.unique),
             } "
             JOIN campaign c ON c.account_id = new.account_id AND c.id = new.id
             ORDER BY c.id FOR NO KEY UPDATE OF c)
         UPDATE campaign c
         SET clicks = c.clicks + more.clicks,
             unique_clicked = c.unique_clicked + more.unique_clicked
         FROM more WHERE c.account_id = more.account_id AND c.id = more.id"
    );
    update.execute(connection).await?;
    Ok(())
}
