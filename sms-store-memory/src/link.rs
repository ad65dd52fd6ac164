//! Tracked links, by id, code, message and campaign.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::{ClickWrites, Clicks};
use sms_core::ids::{AccountId, CampaignId, LinkId, LinkKind, MessageId};
use sms_core::link::store::LinkStore;
use sms_core::link::{ClickPlan, Link, LinkCode, LinkFilter};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::StoreError;

use crate::MemoryStore;
use crate::state::State;

/// All links.
#[derive(Default)]
pub(crate) struct Links {
    rows: BTreeMap<(AccountId, LinkId), Link>,
    by_code: BTreeMap<LinkCode, (AccountId, LinkId)>,
    by_message: BTreeSet<(AccountId, MessageId, LinkId)>,
    by_campaign: BTreeSet<(AccountId, CampaignId, LinkId)>,
}

impl Links {
    /// Adds a new link.
    pub(crate) fn insert(&mut self, link: Link) {
        let (account, id) = (link.account, link.id);
        self.by_code.insert(link.code, (account, id));
        self.by_message.insert((account, link.message, id));
        if let Some(campaign) = link.campaign {
            self.by_campaign.insert((account, campaign, id));
        }
        self.rows.insert((account, id), link);
    }

    /// Whether any code is used twice among these links, or already belongs to another link.
    pub(crate) fn has_code_of<'a>(&self, new: impl IntoIterator<Item = &'a Link>) -> bool {
        let mut codes = BTreeSet::new();
        let mut new = new.into_iter();
        new.any(|link| !codes.insert(link.code) || self.by_code.contains_key(&link.code))
    }

    fn by_code(&self, code: LinkCode) -> Option<&Link> {
        self.rows.get(self.by_code.get(&code)?)
    }

    /// An account's links with ids below `before`, newest first, from the most selective index for
    /// this filter. The caller still applies the filter.
    fn newest_first<'a>(
        &'a self,
        account: AccountId,
        filter: LinkFilter,
        before: LinkId,
    ) -> Box<dyn Iterator<Item = &'a Link> + 'a> {
        let first = LinkId::from_u128(0);
        let link = move |id| self.rows.get(&(account, id));
        match filter {
            LinkFilter { message: Some(message), campaign: _ } => {
                let range = (account, message, first)..(account, message, before);
                Box::new(self.by_message.range(range).rev().filter_map(move |(.., id)| link(*id)))
            }
            LinkFilter { message: None, campaign: Some(campaign) } => {
                let range = (account, campaign, first)..(account, campaign, before);
                Box::new(self.by_campaign.range(range).rev().filter_map(move |(.., id)| link(*id)))
            }
            LinkFilter { message: None, campaign: None } => {
                let range = (account, first)..(account, before);
                Box::new(self.rows.range(range).rev().map(|(_, link)| link))
            }
        }
    }
}

#[async_trait]
impl LinkStore for MemoryStore {
    async fn link_get(&self, account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError> {
        Ok(self.state().links.rows.get(&(account, id)).cloned())
    }

    async fn link_list(
        &self,
        account: AccountId,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, StoreError> {
        let state = self.state();
        let before = page.after.map_or(LinkId::from_u128(u128::MAX), Cursor::id::<LinkKind>);
        let rows = state
            .links
            .newest_first(account, filter, before)
            .filter(|link| filter.accepts(link))
            .take(page.limit.get() + 1)
            .cloned()
            .collect();
        Ok(Page::of(rows, page.limit, |link: &Link| link.id))
    }

    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError> {
        Ok(self.state().links.by_code(code).cloned())
    }

    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.click(plan))).collect()
    }
}

impl State {
    fn click(&mut self, mut plan: ClickPlan) -> Option<Link> {
        let mut clicks = Clicks::default();
        let found = self.links.by_code(plan.code);
        let clicked = clicks.settle(&mut plan, found);
        let ClickWrites { links, campaigns, raised } = clicks.finish();
        for link in links {
            self.links.rows.insert((link.account, link.id), link);
        }
        for ((account, campaign), more) in campaigns {
            self.add_clicks(account, campaign, more);
        }
        self.raise(raised);
        clicked
    }
}
