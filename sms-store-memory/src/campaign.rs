//! Campaigns.

use async_trait::async_trait;
use sms_core::campaign::cancel::{CancelPlan, CancelRefused, SweepPlan, Swept};
use sms_core::campaign::launch::{LaunchFacts, LaunchPlan, LaunchRefused, Written};
use sms_core::campaign::store::{CampaignStore, ReadsCampaigns};
use sms_core::campaign::{Campaign, CampaignChange, EditRefused, editable};
use sms_core::commit::{Changes, LaunchWrites, LedgerWrites};
use sms_core::contact::Contact;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, CampaignId, MessageId};
use sms_core::link::click::CampaignClicks;
use sms_core::message::MessageFilter;
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError, let_others_run};
use sms_core::time::Timestamp;
use sms_core::version::IfVersion;

use crate::MemoryStore;
use crate::sending::recent;
use crate::state::{AccountState, State, StoredMessage};

#[async_trait]
impl ReadsCampaigns for MemoryStore {
    async fn campaign_get(
        &self,
        account: AccountId,
        id: CampaignId,
    ) -> Result<Option<Campaign>, StoreError> {
        Ok(self.state().campaign(account, id))
    }

    async fn campaign_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Campaign>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(CampaignId::from_u128(u128::MAX), Cursor::id);
        let rows = state.accounts.get(&account).into_iter();
        let rows = rows
            .flat_map(|room| room.campaigns.range(..end).rev().map(|(_, campaign)| campaign))
            .take(page.limit.get() + 1)
            .cloned()
            .collect();
        Ok(Page::of(rows, page.limit, |campaign: &Campaign| campaign.id))
    }

    async fn campaigns_unswept(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(AccountId, CampaignId)>, StoreError> {
        let state = self.state();
        let cancelled_at =
            |campaign: &Campaign| campaign.launch.as_ref().and_then(|launch| launch.cancelled_at);
        let unswept = state.accounts.iter().flat_map(|(account, room)| {
            let campaigns = room.unswept.iter().filter_map(|id| room.campaigns.get(id));
            let due = campaigns.filter(|one| cancelled_at(one).is_some_and(|at| at < before));
            due.map(|campaign| (*account, campaign.id))
        });
        Ok(unswept.take(limit).collect())
    }
}

#[async_trait]
impl CampaignStore for MemoryStore {
    async fn campaign_create(
        &self,
        draft: Campaign,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let doing = "saving a campaign of an account that does not exist";
        let room = state.accounts.get_mut(&draft.account);
        let room = room.ok_or(StoreError::Internal { doing, source: None })?;
        room.campaigns.insert(draft.id, draft.clone());
        state.remember(claim, &draft);
        Ok(Once::Done(draft))
    }

    async fn campaign_update(
        &self,
        account: AccountId,
        id: CampaignId,
        change: CampaignChange,
        at: Timestamp,
    ) -> Result<Campaign, CommitError<EditRefused>> {
        let mut state = self.state();
        let campaign =
            change.settle(state.campaign(account, id), at).map_err(CommitError::Refused)?;
        state.put_campaign(campaign.clone());
        Ok(campaign)
    }

    async fn campaign_delete(
        &self,
        account: AccountId,
        id: CampaignId,
        if_version: IfVersion,
    ) -> Result<(), CommitError<EditRefused>> {
        let mut state = self.state();
        editable(state.campaign(account, id), &if_version).map_err(CommitError::Refused)?;
        if let Some(room) = state.accounts.get_mut(&account) {
            room.campaigns.remove(&id);
        }
        Ok(())
    }

    async fn campaign_launch(
        &self,
        mut plan: LaunchPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Campaign>, CommitError<LaunchRefused>> {
        let contacts = {
            let state = self.state();
            if let Some(earlier) = state.earlier(claim) {
                return Ok(Once::Earlier(earlier));
            }
            match state.begin_launch(&plan)? {
                Begun::Before(campaign) => return Ok(Once::Done(*campaign)),
                Begun::Now(contacts) => contacts,
            }
        };
        // Planned without the lock, so that a long list holds up nothing else.
        let mut written = Vec::new();
        for page in contacts.chunks(plan.page_size.max(1)) {
            if !written.is_empty() {
                let_others_run().await;
            }
            written.push(plan.page(page));
        }
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let campaign = state.launch(&plan, &written)?;
        state.remember(claim, &campaign);
        Ok(Once::Done(campaign))
    }

    async fn campaign_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Campaign, CommitError<CancelRefused>> {
        let mut state = self.state();
        let found = state.campaign(plan.account, plan.campaign);
        let campaign = plan.settle(found).map_err(CommitError::Refused)?;
        state.put_campaign(campaign.clone());
        if let Some(room) = state.accounts.get_mut(&plan.account) {
            room.unswept.insert(plan.campaign);
        }
        Ok(campaign)
    }

    async fn campaign_sweep(&self, plan: SweepPlan) -> Result<Swept, StoreError> {
        Ok(self.state().sweep(plan))
    }
}

/// Whether a launch begins, or was made before.
enum Begun {
    Before(Box<Campaign>),
    /// With the contacts of the list.
    Now(Vec<Contact>),
}

impl State {
    fn campaign(&self, account: AccountId, id: CampaignId) -> Option<Campaign> {
        self.accounts.get(&account).and_then(|room| room.campaigns.get(&id)).cloned()
    }

    /// Adds clicks to a campaign.
    pub(crate) fn add_clicks(&mut self, account: AccountId, id: CampaignId, more: CampaignClicks) {
        let room = self.accounts.get_mut(&account);
        if let Some(campaign) = room.and_then(|room| room.campaigns.get_mut(&id)) {
            campaign.links.clicks += more.clicks;
            campaign.links.unique_clicked += more.unique;
        }
    }

    fn put_campaign(&mut self, campaign: Campaign) {
        if let Some(room) = self.accounts.get_mut(&campaign.account) {
            room.campaigns.insert(campaign.id, campaign);
        }
    }

    /// The contacts of the list, if the campaign may be launched.
    fn begin_launch(&self, plan: &LaunchPlan) -> Result<Begun, CommitError<LaunchRefused>> {
        let facts = self.launch_facts(plan)?;
        if let Some(campaign) = plan.launched_before(&facts) {
            return Ok(Begun::Before(Box::new(campaign)));
        }
        plan.begin(&facts)?;
        let list = plan.draft.list;
        let members =
            self.read_named(plan.account(), &plan.fields, |book| book.on_list_after(list, None));
        Ok(Begun::Now(members))
    }

    fn launch(
        &mut self,
        plan: &LaunchPlan,
        written: &[Written],
    ) -> Result<Campaign, CommitError<LaunchRefused>> {
        let facts = self.launch_facts(plan)?;
        if self.links.has_code_of(written.iter().flat_map(|page| &page.links)) {
            return Err(CommitError::Stale);
        }
        let writes = plan.settle(&facts)?;
        // Nothing below can fail: every check is in `settle`.
        for page in written {
            self.insert_new(plan.new_messages(page));
        }
        Ok(self.write_launch(plan.account(), writes))
    }

    fn write_launch(&mut self, account: AccountId, writes: LaunchWrites) -> Campaign {
        let LaunchWrites { campaign, entry, balance, test_messages, conversations } = writes;
        self.write_ledger(LedgerWrites::of(account, entry, balance));
        self.remember_test_messages(test_messages);
        self.put_campaign(campaign.clone());
        let Some(room) = self.accounts.get_mut(&account) else { return campaign };
        let AccountState { inbox, index, .. } = room;
        if !inbox.is_empty() {
            let messages = index.batch(conversations).filter_map(|id| self.messages.get(&id));
            for StoredMessage { message, .. } in messages {
                inbox.shift(message.to, message.id);
            }
        }
        campaign
    }

    fn launch_facts(&self, plan: &LaunchPlan) -> Result<LaunchFacts, CommitError<LaunchRefused>> {
        let room = self.accounts.get(&plan.account());
        let room = room.ok_or(CommitError::Refused(LaunchRefused::NoSuchCampaign))?;
        let test_messages =
            if plan.mode.is_test() { recent(&room.test_messages, plan.at) } else { Vec::new() };
        Ok(LaunchFacts {
            campaign: room.campaigns.get(&plan.draft.id).cloned(),
            list_size: room.book.lists.get(&plan.draft.list).map(|list| list.contact_count),
            status: room.account.status,
            balance: room.account.balance,
            test_messages,
        })
    }

    fn sweep(&mut self, mut plan: SweepPlan) -> Swept {
        let filter = MessageFilter { campaign_id: Some(plan.campaign), ..MessageFilter::default() };
        let after = plan.after.map_or(0, |id| id.as_u128().saturating_add(1));
        let ids = MessageId::from_u128(after)..=MessageId::from_u128(u128::MAX);
        let Some(room) = self.accounts.get_mut(&plan.account) else { return Swept { last: None } };
        let newest_first: Vec<MessageId> = room.index.newest_first(&filter, ids).collect();
        let is_left = |id: &MessageId| {
            self.messages.get(id).is_some_and(|stored| stored.message.status.is_cancellable())
        };
        // Reads no more messages than the portion takes: a campaign may have a million.
        let left = newest_first.into_iter().rev().filter(is_left);
        let portion: Vec<MessageId> = left.take(plan.limit).collect();
        if portion.is_empty() {
            room.unswept.remove(&plan.campaign);
        }
        let mut changes = Changes::default();
        for stored in portion.iter().filter_map(|id| self.messages.get(id)) {
            changes.add(plan.settle(&stored.message), &plan.ids);
        }
        self.write_changes(changes.finish());
        Swept { last: portion.last().copied() }
    }
}
