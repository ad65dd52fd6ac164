//! An account's tracked links, and clicks on the links of all accounts.

use super::account::AccountHandle;
use super::reading::Read;
use super::sms::Sms;
use super::wake::Work;
use crate::error::Error;
use crate::ids::LinkId;
use crate::link::click::ClickPlan;
use crate::link::store::LinkWanted;
use crate::link::{Link, LinkBase, LinkCode, LinkFilter};
use crate::page::{Page, PageRequest};
use crate::store_error::StoreError;

impl AccountHandle {
    /// One tracked link of the account; [`Error::NotFound`] if there is none.
    pub async fn link_get(&self, id: LinkId) -> Result<Link, Error> {
        let found = self.sms.store().link_get(LinkWanted::Id(self.id, id)).await?;
        found.ok_or(Error::NotFound("link"))
    }

    /// A page of the account's links, newest first.
    pub async fn link_list(
        &self,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, Error> {
        let _turn = self.read_turn(Read::Page).await;
        Ok(self.sms.store().link_list(self.id, filter, page).await?)
    }
}

impl Sms {
    /// The start of short URLs.
    pub fn link_base(&self) -> &LinkBase {
        &self.inner.link_base
    }

    /// Counts a click on a short URL of any account and raises `link.clicked`. Returns the link
    /// after the click, whose [`Link::url`] the host redirects to; `None` if no link has the code.
    ///
    /// Dropping the future may or may not stop the hit from being counted.
    ///
    /// # Errors
    ///
    /// If the store cannot count it. The host can still redirect with the help of
    /// [`Sms::link_find`].
    pub async fn link_click(&self, code: LinkCode) -> Result<Option<Link>, Error> {
        let at = self.now();
        let plan = ClickPlan { code, at, ids: self.ids(at) };
        let answer = self.store().links_click(vec![plan]).await.pop();
        let doing = "counting a click on a link";
        let link = answer.unwrap_or(Err(StoreError::Internal { doing, source: None }))?;
        if link.is_some() {
            self.wake(Work::Webhooks);
        }
        Ok(link)
    }

    /// The link with this code, of any account, without counting a click.
    pub async fn link_find(&self, code: LinkCode) -> Result<Option<Link>, Error> {
        Ok(self.store().link_get(LinkWanted::Code(code)).await?)
    }
}
