//! Campaigns.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::counts::Counts;
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::store::CampaignStore;
use sms_core::campaign::{Campaign, CampaignChange, EditRefused, Launch, LinkTotals, editable};
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, CampaignId, CampaignKind};
use sms_core::link::CampaignClicks;
use sms_core::message::{Body, MessageStatus};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin};
use crate::change;
use crate::error::{Context, PgError, PgResult};
use crate::message_columns;
use crate::row::{self, Read, bigint, time, uuid};
use crate::rows_query::rows_query;

pub(crate) mod counts;
pub(crate) mod launch;

/// What reads campaigns, up to the condition: `c` is the campaign. One statement sees one state, so
/// that a count is counted once, whether it waits to be folded or not.
macro_rules! select_campaigns {
    () => {
        "SELECT c.*, d.scheduled AS more_scheduled, d.queued AS more_queued,
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

fn count(row: &PgRow, column: &str) -> PgResult<u64> {
    u64::try_from(row.try_get::<i64, _>(column)?).map_err(|_| PgError::invalid(column))
}

fn campaign(row: &PgRow) -> PgResult<Campaign> {
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

async fn read(
    connection: &mut PgConnection,
    account: AccountId,
    id: CampaignId,
) -> PgResult<Option<Campaign>> {
    let query = concat!(select_campaigns!(), "WHERE c.account_id = $1 AND c.id = $2");
    let query = sqlx::query(query).bind(uuid(account)).bind(uuid(id));
    query.fetch_optional(connection).await?.as_ref().map(campaign).transpose()
}

/// Locks a campaign, then reads it: counts that were folded while this waited are counted once.
async fn lock(
    connection: &mut PgConnection,
    account: AccountId,
    id: CampaignId,
) -> PgResult<Option<Campaign>> {
    let lock = sqlx::query("SELECT 1 FROM campaign WHERE account_id = $1 AND id = $2 FOR UPDATE");
    lock.bind(uuid(account)).bind(uuid(id)).execute(&mut *connection).await?;
    read(connection, account, id).await
}

#[async_trait]
impl CampaignStore for PgStore {
    async fn campaign_create(&self, draft: Campaign) -> Result<(), StoreError> {
        let Campaign {
            id,
            account,
            name,
            body,
            list,
            sender,
            append_opt_out,
            track_links,
            ignore_quiet_hours,
            launch: _,
            links: _,
            created_at,
            updated_at,
        } = draft;
        let insert = sqlx::query(
            "INSERT INTO campaign (account_id, id, name, body, list_id, sender, append_opt_out,
                 track_links, ignore_quiet_hours, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(name)
        .bind(body.as_str())
        .bind(uuid(list))
        .bind(sender)
        .bind(append_opt_out)
        .bind(track_links)
        .bind(ignore_quiet_hours)
        .bind(time(created_at))
        .bind(time(updated_at));
        let inserted = insert.execute(&self.pool).await;
        inserted.map(|_| ()).context("making a campaign")
    }

    async fn campaign_get(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<Option<Campaign>, StoreError> {
        let doing = "reading a campaign";
        let mut connection = self.pool.acquire().await.context(doing)?;
        read(&mut connection, account, id).await.context(doing)
    }

    async fn campaign_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Campaign>, StoreError> {
        let doing = "listing campaigns";
        let query = concat!(
            select_campaigns!(),
            "WHERE c.account_id = $1 AND c.id < $2 ORDER BY c.id DESC LIMIT $3"
        );
        let rows = sqlx::query(query)
            .bind(uuid(account))
            .bind(page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<CampaignKind>())))
            .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
            .fetch_all(&self.pool)
            .await
            .context(doing)?;
        let rows = rows.iter().map(campaign).collect::<PgResult<_>>().context(doing)?;
        Ok(Page::of(rows, page.limit, |campaign: &Campaign| campaign.id))
    }

    async fn campaign_update(
        &self,
        account: AccountId,
        id: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>> {
        let doing = "changing a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        let after = change.settle(found, at).map_err(CommitError::Refused)?;
        let update = sqlx::query(
            "UPDATE campaign
             SET name = $3, body = $4, list_id = $5, sender = $6, append_opt_out = $7,
                 track_links = $8, ignore_quiet_hours = $9, updated_at = $10
             WHERE account_id = $1 AND id = $2",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(&after.name)
        .bind(after.body.as_str())
        .bind(uuid(after.list))
        .bind(&after.sender)
        .bind(after.append_opt_out)
        .bind(after.track_links)
        .bind(after.ignore_quiet_hours)
        .bind(time(after.updated_at));
        update.execute(&mut *tx).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(after)
    }

    async fn campaign_delete(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<(), CommitError<EditRefused>> {
        let doing = "removing a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        editable(found).map_err(CommitError::Refused)?;
        let delete = sqlx::query("DELETE FROM campaign WHERE account_id = $1 AND id = $2");
        let delete = delete.bind(uuid(account)).bind(uuid(id));
        delete.execute(&mut *tx).await.context(doing)?;
        Ok(tx.commit().await.context(doing)?)
    }

    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
    ) -> Result<Campaign, CommitError<LaunchRefused>> {
        launch::launch(self, plan).await
    }

    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        let doing = "cancelling a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, plan.account, plan.campaign).await.context(doing)?;
        let campaign = plan.settle(found).map_err(CommitError::Refused)?;
        let cancelled_at = campaign.launch.as_ref().and_then(|launch| launch.cancelled_at);
        let update = sqlx::query(
            "UPDATE campaign SET cancelled_at = $3, updated_at = $4
             WHERE account_id = $1 AND id = $2",
        )
        .bind(uuid(plan.account))
        .bind(uuid(plan.campaign))
        .bind(cancelled_at.map(time))
        .bind(time(campaign.updated_at));
        update.execute(&mut *tx).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(campaign)
    }

    async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError> {
        again_on_conflict!(self.sweep_once(plan.clone()))
    }

    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError> {
        let doing = "looking for cancelled campaigns";
        let rows = sqlx::query(
            "SELECT account_id, id FROM campaign
             WHERE cancelled_at IS NOT NULL AND NOT swept AND cancelled_at < $1
             ORDER BY cancelled_at LIMIT $2",
        )
        .bind(time(before))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let read = |row: &PgRow| Ok((row.id("account_id")?, row.id("id")?));
        rows.iter().map(read).collect::<PgResult<_>>().context(doing)
    }

    async fn campaign_counts_tidy(&self, limit: usize) -> Result<usize, StoreError> {
        again_on_conflict!(counts::fold(&self.pool, limit))
    }
}

impl PgStore {
    async fn sweep_once(&self, mut plan: SweepPlan) -> Result<Swept, StoreError> {
        let doing = "cancelling the texts of a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let rows = sqlx::query(concat!(
            "SELECT ",
            message_columns!(),
            " FROM queue q JOIN message m ON m.account_id = q.account_id AND m.id = q.message_id
             WHERE m.account_id = $1 AND m.campaign_id = $2 AND m.id > $3 AND m.status = ANY($4)
             ORDER BY m.id LIMIT $5
             -- What a worker is taking is waited for: it is on its way then, or left over.
             FOR UPDATE OF q, m"
        ))
        .bind(uuid(plan.account))
        .bind(uuid(plan.campaign))
        .bind(plan.after.map_or(Uuid::nil(), uuid))
        .bind(MessageStatus::CANCELLABLE.map(MessageStatus::as_str).to_vec())
        .bind(i64::try_from(plan.limit).unwrap_or(i64::MAX))
        .fetch_all(&mut *tx)
        .await
        .context(doing)?;
        let mut changes = Changes::default();
        let mut last = None;
        for row in &rows {
            let message = row::message(row).context(doing)?;
            last = Some(message.id);
            changes.add(plan.settle(&message), &plan.ids);
        }
        if last.is_none() {
            let swept =
                sqlx::query("UPDATE campaign SET swept = true WHERE account_id = $1 AND id = $2");
            let swept = swept.bind(uuid(plan.account)).bind(uuid(plan.campaign));
            swept.execute(&mut *tx).await.context(doing)?;
        }
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(Swept { last })
    }
}

/// Adds what hits on their links count for campaigns: one statement for any number of them.
pub(crate) async fn add_clicks(
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
