//! Tracked links.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{ClickWrites, Clicks};
use sms_core::ids::{AccountId, LinkId};
use sms_core::link::click::{CampaignClicks, ClickPlan};
use sms_core::link::store::{LinkStore, LinkWanted, ReadsLinks};
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;

use crate::SqliteStore;
use crate::address_book::of_account;
use crate::command::Size;
use crate::db::Db;
use crate::error::{SqlResult, all_failed};
use crate::page::{before, limit_of};
use crate::row::{Cols, digits, id, maybe_id, maybe_time, whole};

/// Leaves out the links of launches under way.
macro_rules! visible {
    () => {
        "AND NOT EXISTS (SELECT 1 FROM launching h CROSS JOIN message m ON m.id = link.message_id \
         WHERE h.state <> 1 AND m.batch_id = h.batch_id) "
    };
}

/// The columns that [`link`] reads.
macro_rules! select_links {
    () => {
        "SELECT id, account, code, url, message_id, campaign_id, contact_number, clicks, \
         first_clicked_at, last_clicked_at FROM link "
    };
}

#[async_trait]
impl ReadsLinks for SqliteStore {
    async fn link_get(&self, wanted: LinkWanted) -> Result<Option<Link>, StoreError> {
        match wanted {
            LinkWanted::Id(account, id) => self.link_by_id(account, id).await,
            LinkWanted::Code(code) => self.link_by_code(code).await,
        }
    }

    async fn link_list(
        &self,
        account: AccountId,
        filter: LinkFilter,
        page: PageRequest,
    ) -> Result<Page<Link>, StoreError> {
        let rows = self.read("listing links", move |db| {
            of_account(db, account, |no| newest_first(db, no, filter, page))
        });
        Ok(Page::of(rows.await?, page.limit, |link: &Link| link.id))
    }
}

#[async_trait]
impl LinkStore for SqliteStore {
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        let count = plans.len();
        let clicked = self.write_sized("counting clicks", Size::Small(count), move |db| {
            plans.iter().map(|plan| click(db, plan.clone())).collect::<SqlResult<Vec<_>>>()
        });
        match clicked.await {
            Ok(clicked) => clicked.into_iter().map(Ok).collect(),
            Err(error) => all_failed(count, &error),
        }
    }
}

impl SqliteStore {
    async fn link_by_id(&self, account: AccountId, of: LinkId) -> Result<Option<Link>, StoreError> {
        self.look("reading a link", move |db| {
            of_account(db, account, |no| {
                let query = concat!(select_links!(), "WHERE account = ?1 AND id = ?2");
                db.one(query, params![no, id(of)], |c| link(db, c))
            })
        })
        .await
    }

    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError> {
        self.look("finding a link", move |db| by_code(db, code)).await
    }
}

fn newest_first(
    db: &Db,
    account: i64,
    filter: LinkFilter,
    page: PageRequest,
) -> SqlResult<Vec<Link>> {
    let LinkFilter { campaign, message } = filter;
    let (before, limit) = (before(page), limit_of(page));
    match (message, campaign) {
        (Some(message), _) => db.all(
            concat!(
                select_links!(),
                "INDEXED BY link_by_message
                 WHERE account = ?1 AND message_id = ?2 AND id < ?3
                     AND (?4 IS NULL OR campaign_id = ?4) ",
                visible!(),
                "ORDER BY id DESC LIMIT ?5"
            ),
            params![account, id(message), before, maybe_id(campaign), limit],
            |c| link(db, c),
        ),
        (None, Some(campaign)) => db.all(
            concat!(
                select_links!(),
                "INDEXED BY link_by_campaign
                 WHERE account = ?1 AND campaign_id = ?2 AND id < ?3 ",
                visible!(),
                "ORDER BY id DESC LIMIT ?4"
            ),
            params![account, id(campaign), before, limit],
            |c| link(db, c),
        ),
        (None, None) => db.all(
            concat!(
                select_links!(),
                "WHERE account = ?1 AND id < ?2 ",
                visible!(),
                "ORDER BY id DESC LIMIT ?3"
            ),
            params![account, before, limit],
            |c| link(db, c),
        ),
    }
}

fn by_code(db: &Db, code: LinkCode) -> SqlResult<Option<Link>> {
    db.one(concat!(select_links!(), "WHERE code = ?1"), [code.as_str()], |c| link(db, c))
}

fn click(db: &Db, mut plan: ClickPlan) -> SqlResult<Option<Link>> {
    let found = by_code(db, plan.code)?;
    let mut clicks = Clicks::default();
    let clicked = clicks.settle(&mut plan, found.as_ref());
    let ClickWrites { links, campaigns, raised } = clicks.finish();
    for link in links {
        db.run(
            "UPDATE link SET clicks = ?2, first_clicked_at = ?3, last_clicked_at = ?4
             WHERE code = ?1",
            params![
                link.code.as_str(),
                whole(link.clicks),
                maybe_time(link.first_clicked_at),
                maybe_time(link.last_clicked_at)
            ],
        )?;
    }
    for ((account, campaign), CampaignClicks { clicks, unique }) in campaigns {
        db.run(
            "UPDATE campaign SET clicks = clicks + ?3, unique_clicked = unique_clicked + ?4
             WHERE account = ?1 AND id = ?2",
            params![db.known_account(account)?, id(campaign), whole(clicks), whole(unique)],
        )?;
    }
    db.raise(raised)?;
    Ok(clicked)
}

fn link(db: &Db, c: &mut Cols<'_>) -> SqlResult<Link> {
    Ok(Link {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        code: c.name()?,
        url: c.get()?,
        message: c.id()?,
        campaign: c.maybe_id()?,
        contact_number: c.number()?,
        clicks: c.whole()?,
        first_clicked_at: c.maybe_at()?,
        last_clicked_at: c.maybe_at()?,
    })
}

impl Db {
    /// Adds a new link.
    pub(crate) fn insert_link(&self, link: &Link) -> SqlResult<()> {
        let Link {
            id: of,
            account,
            code,
            url,
            message,
            campaign,
            contact_number,
            clicks,
            first_clicked_at,
            last_clicked_at,
        } = link;
        self.run(
            "INSERT INTO link (account, id, code, url, message_id, campaign_id, contact_number,
                 clicks, first_clicked_at, last_clicked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                self.known_account(*account)?,
                id(*of),
                code.as_str(),
                url,
                id(*message),
                maybe_id(*campaign),
                digits(*contact_number),
                whole(*clicks),
                maybe_time(*first_clicked_at),
                maybe_time(*last_clicked_at)
            ],
        )?;
        Ok(())
    }
}
