//! Campaigns.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchFacts, LaunchPlan, LaunchRefused};
use sms_core::campaign::store::CampaignStore;
use sms_core::campaign::{Campaign, CampaignChange, EditRefused, editable};
use sms_core::commit::{Changes, LaunchWrites, LedgerWrites};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, BatchId, CampaignId, MessageId};
use sms_core::message::MessageStatus;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::campaign_row::{campaign, campaign_columns};
use crate::db::Db;
use crate::error::SqlResult;
use crate::message_row::{message, message_columns};
use crate::page::{before, limit_of};
use crate::row::{id, size, status, time};
use crate::writer::Size;

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
    ) -> Result<(), CommitError<EditRefused>> {
        self.decide("deleting a campaign", move |db| {
            if let Err(refused) = editable(db.campaign(account, of)?) {
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
        let claim = claim.cloned();
        let launched = self.write_sized("launching a campaign", Size::Portion, move |db| {
            if let Some(earlier) = db.earlier(claim.as_ref())? {
                return Ok(Ok(Once::Earlier(earlier)));
            }
            match launch(db, plan.clone())? {
                Ok(campaign) => {
                    db.remember(claim.as_ref(), &campaign)?;
                    Ok(Ok(Once::Done(campaign)))
                }
                Err(refused) => Ok(Err(refused)),
            }
        });
        launched.await?
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

    async fn campaign_counts_tidy(&self, _limit: usize) -> Result<usize, StoreError> {
        // Commits add to the counts at once.
        Ok(0)
    }
}

fn mark_unswept(db: &Db, account: AccountId, of: CampaignId, is_unswept: bool) -> SqlResult<()> {
    db.run(
        "UPDATE campaign SET is_unswept = ?3 WHERE account = ?1 AND id = ?2",
        params![db.known_account(account)?, id(of), is_unswept],
    )?;
    Ok(())
}

type Launched = Result<Campaign, CommitError<LaunchRefused>>;

/// Plans and writes page by page. A refusal that only the last page brings undoes the pages.
fn launch(db: &Db, mut plan: LaunchPlan) -> SqlResult<Launched> {
    let Some(facts) = launch_facts(db, &plan)? else {
        return Ok(Err(CommitError::Refused(LaunchRefused::NoSuchCampaign)));
    };
    if let Some(campaign) = plan.launched_before(&facts) {
        return Ok(Ok(campaign));
    }
    if let Err(refused) = plan.begin(&facts) {
        return Ok(Err(refused));
    }
    db.run("SAVEPOINT launch", [])?;
    let settled = launch_pages(db, &mut plan, &facts)?;
    if settled.is_err() {
        db.run("ROLLBACK TO launch", [])?;
    }
    db.run("RELEASE launch", [])?;
    match settled {
        Ok(writes) => Ok(Ok(write_launch(db, plan.account(), writes)?)),
        Err(refused) => Ok(Err(refused)),
    }
}

fn launch_pages(
    db: &Db,
    plan: &mut LaunchPlan,
    facts: &LaunchFacts,
) -> SqlResult<Result<LaunchWrites, CommitError<LaunchRefused>>> {
    let (list, page_size) = (plan.draft.list, plan.page_size.max(1));
    let account = db.known_account(plan.account())?;
    let mut after = None;
    loop {
        let contacts = db.on_list_after(account, list, after, page_size, &plan.fields)?;
        let Some(last) = contacts.last() else { break };
        after = Some(last.id);
        let written = plan.page(&contacts);
        if db.has_code_of(&written.links)? {
            return Ok(Err(CommitError::Stale));
        }
        db.insert_new(plan.new_messages(&written))?;
        if contacts.len() < page_size {
            break;
        }
    }
    Ok(plan.settle(facts))
}

fn write_launch(db: &Db, account: AccountId, writes: LaunchWrites) -> SqlResult<Campaign> {
    let LaunchWrites { campaign, entry, balance, test_messages, conversations } = writes;
    db.book(LedgerWrites::of(account, entry, balance))?;
    db.remember_test_messages(test_messages)?;
    db.put_campaign(&campaign)?;
    shift_conversations(db, db.known_account(account)?, conversations)?;
    Ok(campaign)
}

/// Moves the conversations with the recipients of a batch.
fn shift_conversations(db: &Db, account: i64, batch: BatchId) -> SqlResult<()> {
    if !db.has("SELECT 1 FROM conversation WHERE account = ?1 LIMIT 1", [account])? {
        return Ok(());
    }
    let recipients = db.all(
        "SELECT to_number, id FROM message INDEXED BY message_by_batch
         WHERE batch_id = ?1 ORDER BY id",
        [id(batch)],
        |c| Ok((c.number()?, c.id()?)),
    )?;
    for (number, message) in recipients {
        db.shift(account, number, message)?;
    }
    Ok(())
}

fn launch_facts(db: &Db, plan: &LaunchPlan) -> SqlResult<Option<LaunchFacts>> {
    let Some((no, status, balance)) = db.standing(plan.account())? else { return Ok(None) };
    let test_messages =
        if plan.mode.is_test() { db.recent_test_messages(no, plan.at)? } else { Vec::new() };
    let list_size = db.one(
        "SELECT contact_count FROM contact_list WHERE account = ?1 AND id = ?2",
        params![no, id(plan.draft.list)],
        |c| c.whole(),
    )?;
    let campaign = db.campaign(plan.account(), plan.draft.id)?;
    Ok(Some(LaunchFacts { campaign, list_size, status, balance, test_messages }))
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
