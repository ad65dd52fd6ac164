//! Campaigns as rows.

use sms_core::campaign::counts::Counts;
use sms_core::campaign::{Campaign, Launch, LinkTotals};
use sms_core::ids::{AccountId, CampaignId};
use sms_core::message::Body;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{PgError, PgResult};
use crate::row::{Read, uuid};

/// Selects campaigns as `c`, without the condition. Totals and differences are read in one
/// statement, so that each difference counts once, whether it has been folded or not.
macro_rules! select_campaigns {
    () => {
        "SELECT c.account_id, c.id, c.name, c.body, c.list_id, c.sender, c.append_opt_out,
             c.track_links, c.ignore_quiet_hours, c.created_at, c.updated_at, c.launched_at,
             c.scheduled_at, c.cancelled_at, c.batch_id, c.recipients, c.rejected, c.credits,
             c.scheduled, c.queued, c.sending, c.sent, c.delivered, c.undelivered, c.failed,
             c.cancelled, c.links, c.clicks, c.unique_clicked,
             d.scheduled AS more_scheduled, d.queued AS more_queued,
             d.sending AS more_sending, d.sent AS more_sent, d.delivered AS more_delivered,
             d.undelivered AS more_undelivered, d.failed AS more_failed,
             d.cancelled AS more_cancelled,
             GREATEST(c.last_settled_at, d.settled_at) AS settled_at
         FROM campaign c CROSS JOIN LATERAL (
             SELECT COALESCE(sum(scheduled), 0)::bigint AS scheduled,
                    COALESCE(sum(queued), 0)::bigint AS queued,
                    COALESCE(sum(sending), 0)::bigint AS sending,
                    COALESCE(sum(sent), 0)::bigint AS sent,
                    COALESCE(sum(delivered), 0)::bigint AS delivered,
                    COALESCE(sum(undelivered), 0)::bigint AS undelivered,
                    COALESCE(sum(failed), 0)::bigint AS failed,
                    COALESCE(sum(cancelled), 0)::bigint AS cancelled,
                    max(settled_at) AS settled_at
             FROM campaign_delta
             WHERE account_id = c.account_id AND campaign_id = c.id) d "
    };
}

pub(super) use select_campaigns;

fn count(row: &PgRow, column: &str) -> PgResult<u64> {
    u64::try_from(row.try_get::<i64, _>(column)?).map_err(|_| PgError::invalid(column))
}

pub(super) fn campaign(row: &PgRow) -> PgResult<Campaign> {
    row.in_table("campaign", || {
        let launch = match row.maybe_at("launched_at")? {
            None => None,
            Some(at) => Some(Launch {
                at,
                scheduled_at: row.maybe_at("scheduled_at")?,
                cancelled_at: row.maybe_at("cancelled_at")?,
                batch: row.id("batch_id")?,
                recipients: count(row, "recipients")?,
                rejected: count(row, "rejected")?,
                credits: row.credits("credits")?,
                counts: read_counts(row)?,
                last_settled_at: row.maybe_at("settled_at")?,
            }),
        };
        Ok(Campaign {
            id: row.id("id")?,
            account: row.id("account_id")?,
            name: row.try_get("name")?,
            body: Body::new(row.try_get::<String, _>("body")?),
            list: row.id("list_id")?,
            sender: row.try_get("sender")?,
            append_opt_out: row.try_get("append_opt_out")?,
            track_links: row.try_get("track_links")?,
            ignore_quiet_hours: row.try_get("ignore_quiet_hours")?,
            launch,
            links: LinkTotals {
                links: count(row, "links")?,
                clicks: count(row, "clicks")?,
                unique_clicked: count(row, "unique_clicked")?,
            },
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

fn read_counts(row: &PgRow) -> PgResult<Counts> {
    let mut counts = [0; sms_core::campaign::counts::STATUSES];
    for (status, place) in Counts::STATUSES.iter().zip(&mut counts) {
        let base: i64 = row.try_get(status.as_str())?;
        let more: i64 = row.try_get(format!("more_{status}").as_str())?;
        *place = u64::try_from(base + more).map_err(|_| PgError::invalid(status.as_str()))?;
    }
    Ok(Counts::from_array(counts))
}

pub(super) async fn read(
    connection: &mut PgConnection,
    account: AccountId,
    id: CampaignId,
) -> PgResult<Option<Campaign>> {
    let query = concat!(select_campaigns!(), "WHERE c.account_id = $1 AND c.id = $2");
    let query = sqlx::query(query).bind(uuid(account)).bind(uuid(id));
    query.fetch_optional(connection).await?.as_ref().map(campaign).transpose()
}

/// Locks a campaign, then reads it in a second statement, so that counts that were folded while it
/// waited for the lock count once.
pub(super) async fn lock(
    connection: &mut PgConnection,
    account: AccountId,
    id: CampaignId,
) -> PgResult<Option<Campaign>> {
    let lock = sqlx::query("SELECT 1 FROM campaign WHERE account_id = $1 AND id = $2 FOR UPDATE");
    lock.bind(uuid(account)).bind(uuid(id)).execute(&mut *connection).await?;
    read(connection, account, id).await
}
