//! Campaigns: what a launch takes and makes, who may be cancelled, and what the counts must show.

use std::collections::BTreeSet;

use sms_core::account::{AccountStatus, Mode};
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchPlan, LaunchRefused};
use sms_core::campaign::{Campaign, Counts};
use sms_core::credits::ledger::Cause;
use sms_core::ids::{AccountId, BatchId, CampaignId, MessageId};
use sms_core::message::{MessageFilter, MessageStatus};
use sms_core::page::{Limit, PageRequest};
use sms_core::store::CommitError;
use sms_core::time::Timestamp;

use super::account::amount;
use super::text::TextStep;
use super::{Check, Commit, Model, Moment, read};

/// A launched campaign as it must be.
#[derive(Debug)]
pub struct CampaignModel {
    /// Whose it is.
    pub account: AccountId,
    /// Its texts, the oldest first.
    pub texts: BTreeSet<MessageId>,
    /// Whether it was cancelled.
    pub cancelled: bool,
}

/// What a launch asked the store to commit.
#[derive(Debug, Clone, Copy)]
pub struct LaunchSeen {
    account: AccountId,
    campaign: CampaignId,
    batch: BatchId,
    mode: Mode,
    tracked: bool,
    at: Timestamp,
}

impl LaunchSeen {
    /// What matters of a plan.
    pub fn of(plan: &LaunchPlan) -> Self {
        Self {
            account: plan.account(),
            campaign: plan.draft.id,
            batch: plan.batch,
            mode: plan.mode,
            tracked: plan.draft.track_links,
            at: plan.at,
        }
    }
}

impl Model {
    /// A campaign was launched, or that was refused.
    pub fn saw_launch(
        &mut self,
        moment: &Moment<'_>,
        seen: LaunchSeen,
        answer: &Result<Campaign, CommitError<LaunchRefused>>,
    ) -> Check {
        let account = self.accounts.get(&seen.account);
        let account = account.ok_or_else(|| format!("no account {}", seen.account))?;
        let launched = self.campaigns.contains_key(&seen.campaign);
        let may_send = match account.status {
            AccountStatus::Active => true,
            AccountStatus::Pending => seen.mode.is_test(),
            AccountStatus::Suspended => false,
        };
        let campaign = match answer {
            Ok(campaign) => campaign,
            Err(CommitError::Refused(reason)) => {
                let holds = match reason {
                    LaunchRefused::AlreadyLaunched => launched,
                    LaunchRefused::MayNotSend(_) => !launched && !may_send,
                    LaunchRefused::InsufficientCredit { needed, balance } => {
                        amount(balance.get()) == account.balance && needed > balance
                    }
                    LaunchRefused::TestTextsUsedUp { .. } => seen.mode.is_test(),
                    LaunchRefused::NoRecipients => !launched,
                    LaunchRefused::NoSuchList(list) => !account.book.lists.contains_key(list),
                    _ => false,
                };
                ensure!(holds, "the launch of {} was refused: {reason}", seen.campaign);
                return Ok(());
            }
            Err(CommitError::Stale) => return Ok(()),
            Err(CommitError::Store(error)) => return Err(format!("a launch failed: {error}")),
        };
        ensure!(!launched, "{} was launched twice", seen.campaign);
        ensure!(may_send, "an account that is {} launches", account.status);
        self.launched(moment, seen, campaign)
    }

    fn launched(&mut self, moment: &Moment<'_>, seen: LaunchSeen, campaign: &Campaign) -> Check {
        let filter = MessageFilter { campaign_id: Some(seen.campaign), ..MessageFilter::default() };
        let all = PageRequest { limit: Limit::EXPORT, after: None };
        let mut texts = read(moment.books.message_list(seen.account, &filter, all))?.items;
        texts.reverse();
        let launch = campaign.launch.as_ref().ok_or("a launched campaign is a draft")?;
        ensure!(launch.recipients == texts.len() as u64, "{launch:?} made {}", texts.len());
        let taken: i64 = texts.iter().map(|text| amount(text.credits.get())).sum();
        ensure!(amount(launch.credits.get()) == taken, "{launch:?} took {taken}");
        ensure!(!seen.mode.is_test() || taken == 0, "a test took {taken}");
        let account = self.accounts.get_mut(&seen.account).ok_or("an account vanished")?;
        ensure!(account.balance >= taken, "{taken} were taken of {}", account.balance);
        if taken > 0 {
            let cause = Cause::Send { batch: seen.batch, campaign: Some(seen.campaign) };
            account.book_entry(cause, -taken);
            account.reserved += taken;
        }
        if seen.mode.is_test() {
            account.test_texts.push_back((seen.at, texts.len()));
        }
        self.tally.launches += 1;
        self.tally.texts += launch.recipients;
        let ids = texts.iter().map(|text| text.id).collect();
        let own = CampaignModel { account: seen.account, texts: ids, cancelled: false };
        self.campaigns.insert(seen.campaign, own);
        for text in &texts {
            let right = text.batch_id == Some(seen.batch)
                && text.mode == seen.mode
                && text.scheduled_at == launch.scheduled_at;
            ensure!(right, "{text:?} was made by {launch:?}");
            self.write_text(moment, text, seen.at)?;
            self.links_made(moment, text, seen.tracked)?;
        }
        self.recent_campaigns.push((seen.account, seen.campaign));
        self.check_ledger(moment, seen.account)?;
        self.check_heads(moment)
    }

    /// A campaign was cancelled, or that was refused.
    pub fn saw_campaign_cancel(
        &mut self,
        plan: CancelPlan,
        answer: Result<(), CancelRefused>,
    ) -> Check {
        let own = self.campaigns.get(&plan.campaign).filter(|own| own.account == plan.account);
        let open = own.is_some_and(|own| {
            let is_open = |id| self.texts.get(id).is_some_and(super::text::TextModel::is_open);
            !own.cancelled && own.texts.iter().any(is_open)
        });
        ensure!(answer.is_ok() == open, "cancelling {own:?} answers {answer:?}");
        if let Some(own) = self.campaigns.get_mut(&plan.campaign).filter(|_| open) {
            own.cancelled = true;
        }
        Ok(())
    }

    /// Texts of a cancelled campaign were swept.
    pub fn saw_sweep(&mut self, moment: &Moment<'_>, plan: &SweepPlan, answer: Swept) -> Check {
        let own = self.campaigns.get(&plan.campaign);
        let own = own.filter(|own| own.cancelled && own.account == plan.account);
        let own = own.ok_or_else(|| format!("{} was swept and not cancelled", plan.campaign))?;
        let waits = |id: &&MessageId| {
            let status = self.texts.get(id).map(|text| text.last.status);
            matches!(status, Some(MessageStatus::Scheduled | MessageStatus::Queued))
        };
        let behind = own.texts.iter().filter(|id| plan.after.is_none_or(|after| **id > after));
        let swept: Vec<MessageId> = behind.filter(waits).take(plan.limit).copied().collect();
        ensure!(swept.last() == answer.last.as_ref(), "{swept:?} had to go, not to {answer:?}");
        let mut commit = Commit::default();
        commit.plan(plan.ids.clone());
        for id in swept {
            let step = TextStep { path: &[MessageStatus::Cancelled], at: plan.at, errors: &[] };
            self.text_moved(moment, &mut commit, id, step)?;
        }
        self.close(moment, commit)
    }

    /// Whether a text waits for a worker that may not take it any more.
    pub(super) fn is_called_off(&self, id: MessageId) -> bool {
        let Some(text) = self.texts.get(&id) else { return false };
        let campaign = text.last.campaign_id.and_then(|id| self.campaigns.get(&id));
        campaign.is_some_and(|own| own.cancelled)
            && matches!(text.last.status, MessageStatus::Scheduled | MessageStatus::Queued)
    }

    /// Compares the counts of an account's campaigns with a recount.
    pub(super) fn audit_campaigns(&self, moment: &Moment<'_>, account: AccountId) -> Check {
        let mut after = None;
        loop {
            let page = PageRequest { limit: Limit::EXPORT, after };
            let page = read(moment.books.campaign_list(account, page))?;
            for campaign in &page.items {
                self.audit_campaign(campaign)?;
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn audit_campaign(&self, campaign: &Campaign) -> Check {
        let own = self.campaigns.get(&campaign.id);
        ensure!(own.is_some() == campaign.launch.is_some(), "{campaign:?} is {own:?}");
        let (Some(own), Some(launch)) = (own, &campaign.launch) else { return Ok(()) };
        let texts = own.texts.iter().filter_map(|id| self.texts.get(id)).map(|text| &text.last);
        let recount = Counts::count(texts);
        ensure!(launch.counts == recount, "{:?} is counted for {recount:?}", launch.counts);
        ensure!(launch.cancelled_at.is_some() == own.cancelled, "{campaign:?} is {own:?}");
        let totals = self.link_totals(campaign.id);
        let told = &campaign.links;
        let told = (told.links, told.clicks, told.unique_clicked);
        ensure!(told == totals, "{campaign:?} counts {told:?} of its links for {totals:?}");
        Ok(())
    }
}
