//! Campaigns.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::store::{CampaignStore, ReadsCampaigns};
use sms_core::campaign::{Campaign, CampaignChange, EditRefused, editable};
use sms_core::commit::Changes;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, CampaignId, MessageId};
use sms_core::message::MessageStatus;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::IfVersion;

use crate::SqliteStore;
use crate::campaign_row::{campaign, campaign_columns};
use crate::command::Size;
use crate::db::Db;
use crate::error::SqlResult;
use crate::launch;
use crate::message_row::{message, message_columns};
use crate::page::{before, limit_of};
use crate::row::{id, size, status, time};

#[async_trait]
impl ReadsCampaigns for SqliteStore {
    async fn campaign_get(
        &self,
        account: AccountId,
        of: CampaignId,
    ) -> Result<Option<Campaign>, StoreError> {
        self.look("reading a campaign", move |db| db.campaign(account, of)).await
    }

    async fn campaign_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Campaign>, StoreError> {
        let rows = self.read("listing campaigns", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            db.all(
                concat!(
                    "SELECT ",
                    campaign_columns!(),
                    " FROM campaign WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
                ),
                params![no, before(page), limit_of(page)],
                |c| campaign(db, c),
            )
        });
        Ok(Page::of(rows.await?, page.limit, |campaign: &Campaign| campaign.id))
    }

    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError> {
        self.read("looking for cancelled campaigns", move |db| {
            db.all(
                "SELECT account, id FROM campaign INDEXED BY campaign_unswept
                 WHERE is_unswept AND cancelled_at < ?1 ORDER BY cancelled_at LIMIT ?2",
                [time(before), size(limit)],
                |c| Ok((db.account_id(c.get()?)?, c.id()?)),
            )
        })
        .await
    }
}

#[async_trait]
impl CampaignStore for SqliteStore {
    async fn campaign_create(
        &self,
        draft: Campaign,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, StoreError> {
        self.once("creating a campaign", claim, move |db| {
            db.put_campaign(&draft)?;
            Ok(Ok(draft.clone()))
        })
        .await
    }

    async fn campaign_update(
        &self,
        account: AccountId,
        of: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>> {
        self.decide("changing a campaign", move |db| {
            match change.clone().settle(db.campaign(account, of)?, at) {
                Ok(campaign) => {
                    db.put_campaign(&campaign)?;
                    Ok(Ok(campaign))
                }
                Err(refused) => Ok(Err(CommitError::Refused(refused))),
            }
        })
        .await
    }

    async fn campaign_delete(
        &self,
        account: AccountId,
        of: CampaignId,
        if_version: IfVersion,
    ) -> Result<(), CommitError<EditRefused>> {
        self.decide("deleting a campaign", move |db| {
            if let Err(refused) = editable(db.campaign(account, of)?, &if_version) {
                return Ok(Err(CommitError::Refused(refused)));
            }
            let no = db.known_account(account)?;
            db.run("DELETE FROM campaign WHERE account = ?1 AND id = ?2", params![no, id(of)])?;
            Ok(Ok(()))
        })
        .await
    }

    async fn campaign_launch(
        &self,
        plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>> {
        launch::launch(self, plan, claim.cloned()).await
    }

    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        self.decide("cancelling a campaign", move |db| {
            let campaign = match plan.settle(db.campaign(plan.account, plan.campaign)?) {
                Ok(campaign) => campaign,
                Err(refused) => return Ok(Err(CommitError::Refused(refused))),
            };
            db.put_campaign(&campaign)?;
            mark_unswept(db, plan.account, plan.campaign, true)?;
            Ok(Ok(campaign))
        })
        .await
    }

    async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError> {
        let size = Size::Small(plan.limit.min(500));
        self.write_sized("sweeping a campaign", size, move |db| sweep(db, plan.clone())).await
    }
}

fn mark_unswept(db: &Db, account: AccountId, of: CampaignId, is_unswept: bool) -> SqlResult<()> {
    db.run(
        "UPDATE campaign SET is_unswept = ?3 WHERE account = ?1 AND id = ?2",
        params![db.known_account(account)?, id(of), is_unswept],
    )?;
    Ok(())
}

fn sweep(db: &Db, mut plan: SweepPlan) -> SqlResult<Swept> {
    let after = plan.after.map_or(0, MessageId::as_u128);
    let [one, other] = MessageStatus::CANCELLABLE.map(status);
    let portion = db.all(
        concat!(
            "SELECT ",
            message_columns!(),
            " FROM message m INDEXED BY message_by_campaign
             WHERE m.campaign_id = ?1 AND m.id > ?2 AND m.status IN (?3, ?4)
                 AND m.batch_id NOT IN (SELECT batch_id FROM launching WHERE state <> 1)
             ORDER BY m.id LIMIT ?5"
        ),
        params![id(plan.campaign), after.to_be_bytes(), one, other, size(plan.limit)],
        |c| message(db, c),
    )?;
    if portion.is_empty() {
        mark_unswept(db, plan.account, plan.campaign, false)?;
    }
    let mut changes = Changes::default();
    let account = plan.account;
    for message in portion.iter().filter(|message| message.account == account) {
        changes.add(plan.settle(message), &plan.ids);
    }
    db.write_changes(changes.finish())?;
    Ok(Swept { last: portion.last().map(|message| message.id) })
}
