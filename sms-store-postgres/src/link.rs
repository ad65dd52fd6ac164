//! Tracked links.

use async_trait::async_trait;
use sms_core::ids::{AccountId, LinkId, LinkKind};
use sms_core::link::click::ClickPlan;
use sms_core::link::store::{LinkStore, LinkWanted, ReadsLinks};
use sms_core::link::{Link, LinkCode, LinkFilter};
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;
use sqlx::QueryBuilder;
use uuid::Uuid;

use crate::PgStore;
use crate::error::{Context, PgResult};
use crate::row::uuid;

mod campaign;
mod click;
mod row;

pub(crate) use click::Clicks;
pub(crate) use row::{insert, taken};
use row::{link, link_columns};

#[async_trait]
impl ReadsLinks for PgStore {
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
        let doing = "listing links";
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<LinkKind>()));
        let LinkFilter { campaign, message } = filter;
        let mut query = QueryBuilder::new(concat!(
            "SELECT ",
            link_columns!(),
            " FROM link WHERE account_id = "
        ));
        query.push_bind(uuid(account)).push(" AND id < ").push_bind(before);
        if let Some(message) = message {
            query.push(" AND message_id = ").push_bind(uuid(message));
        }
        if let Some(campaign) = campaign {
            query.push(" AND campaign_id = ").push_bind(uuid(campaign));
        }
        query.push(" ORDER BY id DESC LIMIT ");
        query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
        // Planned for each call: which index is best depends on the filter.
        let query = query.build().persistent(false);
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        let rows: PgResult<Vec<Link>> = rows.iter().map(link).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |link: &Link| link.id))
    }
}

#[async_trait]
impl LinkStore for PgStore {
    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        self.clicks.settle(plans).await
    }
}

impl PgStore {
    async fn link_by_id(&self, account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError> {
        let doing = "reading a link";
        let row = sqlx::query(concat!(
            "SELECT ",
            link_columns!(),
            " FROM link WHERE account_id = $1 AND id = $2"
        ))
        .bind(uuid(account))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        row.as_ref().map(link).transpose().context(doing)
    }

    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError> {
        let doing = "reading a link";
        let row = sqlx::query(concat!("SELECT ", link_columns!(), " FROM link WHERE code = $1"))
            .bind(code.as_str())
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        row.as_ref().map(link).transpose().context(doing)
    }
}
