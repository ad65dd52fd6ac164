//! Tracked links.

use async_trait::async_trait;
use sms_core::commit::{ClickWrites, Clicks};
use sms_core::ids::{AccountId, LinkId, LinkKind};
use sms_core::link::click::ClickPlan;
use sms_core::link::store::{LinkStore, LinkWanted, ReadsLinks};
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::StoreError;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReadsLinks for MemoryStore {
    async fn link_get(&self, wanted: LinkWanted) -> Result<Option<Link>, StoreError> {
        Ok(match wanted {
            LinkWanted::Id(account, id) => self.link_by_id(account, id),
            LinkWanted::Code(code) => self.link_by_code(code),
        })
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
}

#[async_trait]
impl LinkStore for MemoryStore {
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| Ok(state.click(plan))).collect()
    }
}

impl MemoryStore {
    fn link_by_id(&self, account: AccountId, id: LinkId) -> Option<Link> {
        self.state().links.rows.get(&(account, id)).cloned()
    }

    fn link_by_code(&self, code: LinkCode) -> Option<Link> {
        self.state().links.by_code(code).cloned()
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
