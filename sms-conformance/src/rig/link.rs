//! Tracked links: sends that make them, and hits on them.

use sms_core::account::Account;
use sms_core::ids::{AccountId, LinkId};
use sms_core::link::click::ClickPlan;
use sms_core::link::store::LinkWanted;
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::page::{Cursor, Page};
use sms_core::sending::request::SendRequest;
use sms_core::sending::settle::Sent;

use super::{Rig, all_recorded, page, person, read_all};

/// A request to send these people a body whose links are tracked.
pub fn tracked(body: &str, people: impl IntoIterator<Item = u16>) -> SendRequest {
    let numbers = people.into_iter().map(person);
    numbers.fold(SendRequest::new(body).track_links(), |request, number| {
        request.to(number.to_string())
    })
}

impl Rig {
    /// Sends a message with one tracked link to one person; the link.
    pub async fn link(&self, account: &Account, to: u16) -> Link {
        let plan = self.plan(account, &tracked("https://example.com/menu", [to]));
        let link = plan.links[0].clone();
        let _: Sent = self.accept(plan).await.expect("the send is accepted");
        link
    }

    /// The link as it is now.
    pub async fn link_now(&self, account: AccountId, id: LinkId) -> Option<Link> {
        self.store().link_get(LinkWanted::Id(account, id)).await.expect("the link is read")
    }

    /// A page of an account's links.
    pub async fn link_page(
        &self,
        account: AccountId,
        filter: LinkFilter,
        limit: u32,
        after: Option<Cursor>,
    ) -> Page<Link> {
        let page = self.store().link_list(account, filter, page(limit, after)).await;
        page.expect("the links are read")
    }

    /// All links of an account that the filter accepts, newest first.
    pub async fn links(&self, account: AccountId, filter: LinkFilter, limit: u32) -> Vec<Link> {
        read_all(limit, async |wanted| {
            let page = self.store().link_list(account, filter, wanted).await;
            page.expect("the links are read")
        })
        .await
    }

    /// A hit to be counted, at this moment.
    pub fn click_plan(&self, code: LinkCode) -> ClickPlan {
        ClickPlan { code, at: self.now(), ids: self.ids() }
    }

    /// Hits on these codes, counted in one call.
    pub async fn click_all(&self, codes: &[LinkCode]) -> Vec<Option<Link>> {
        let plans = codes.iter().map(|code| self.click_plan(*code)).collect();
        let answers = all_recorded(self.store().links_click(plans).await);
        assert_eq!(answers.len(), codes.len(), "every hit has its answer");
        answers
    }

    /// One hit on a code.
    pub async fn click(&self, code: LinkCode) -> Option<Link> {
        self.click_all(&[code]).await.remove(0)
    }
}
