//! Campaigns.

use async_trait::async_trait;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::store::{CampaignStore, ReadsCampaigns};
use sms_core::campaign::{Campaign, CampaignChange, EditRefused, editable};
use sms_core::commit::Changes;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, CampaignId, CampaignKind};
use sms_core::message::MessageStatus;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::IfVersion;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin, give_up};
use crate::campaign_counts;
use crate::change;
use crate::error::{Context, PgResult};
use crate::message_columns;
use crate::row::{Read, message, time, uuid};

pub(crate) mod launch;
mod row;

use row::{campaign, lock, read, select_campaigns};

#[async_trait]
impl ReadsCampaigns for PgStore {
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

    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError> {
        let doing = "finding cancelled campaigns";
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
}

#[async_trait]
impl CampaignStore for PgStore {
    async fn campaign_create(
        &self,
        draft: Campaign,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, StoreError> {
        let doing = "creating a campaign";
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
        } = draft.clone();
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
        let mut tx = begin(&self.pool).await.context(doing)?;
        insert.execute(&mut *tx).await.context(doing)?;
        self.conclude(tx, claim, draft).await.context(doing)
    }

    async fn campaign_update(
        &self,
        account: AccountId,
        id: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>> {
        let doing = "updating a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        let after = match change.settle(found, at) {
            Ok(after) => after,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
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
        if_version: IfVersion,
    ) -> Result<(), CommitError<EditRefused>> {
        let doing = "deleting a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        if let Err(refused) = editable(found, &if_version) {
            return Err(give_up(tx, CommitError::Refused(refused)).await);
        }
        let delete = sqlx::query("DELETE FROM campaign WHERE account_id = $1 AND id = $2");
        let delete = delete.bind(uuid(account)).bind(uuid(id));
        delete.execute(&mut *tx).await.context(doing)?;
        Ok(tx.commit().await.context(doing)?)
    }

    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>> {
        launch::launch(self, plan, claim).await
    }

    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        let doing = "cancelling a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, plan.account, plan.campaign).await.context(doing)?;
        let campaign = match plan.settle(found) {
            Ok(campaign) => campaign,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
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
}

impl PgStore {
    pub(crate) async fn campaign_counts_tidy(&self, limit: usize) -> Result<usize, StoreError> {
        again_on_conflict!(campaign_counts::fold(&self.pool, limit))
    }

    async fn sweep_once(&self, mut plan: SweepPlan) -> Result<Swept, StoreError> {
        let doing = "cancelling the messages of a campaign";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let rows = sqlx::query(concat!(
            "SELECT ",
            message_columns!(),
            // Compared like this, so that it is not the index on all ids that is walked. Ordered by
            // both columns: then the planner knows that what it joins is in order already, and
            // stops after so many rows instead of sorting, and locking, all that wait.
            " FROM (SELECT account_id, id FROM message
                   WHERE account_id = ANY(ARRAY[$1]) AND campaign_id = $2
                       AND (campaign_id, id) > ($2, $3) AND status = ANY($4)
                   ORDER BY account_id, id OFFSET 0) AS waiting
             -- Wait for messages that a worker claims: then they are being sent, or can be
             -- cancelled.
             CROSS JOIN LATERAL (
                 SELECT message_id FROM queue WHERE message_id = waiting.id FOR UPDATE) AS q
             CROSS JOIN LATERAL (
                 SELECT * FROM message
                 WHERE account_id = $1 AND id = q.message_id AND status = ANY($4)
                 FOR UPDATE) AS m
             ORDER BY waiting.account_id, waiting.id LIMIT $5"
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
            let message = message(row).context(doing)?;
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
