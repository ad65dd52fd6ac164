//! Tracked links. Hits that come at about the same time share a commit.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::{self, ClickWrites};
use sms_core::ids::{AccountId, LinkId, LinkKind};
use sms_core::link::store::LinkStore;
use sms_core::link::{ClickPlan, Link, LinkCode, LinkFilter};
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, QueryBuilder, Row};
use uuid::Uuid;

use crate::begin::begin;
use crate::error::{Context, PgError, PgResult};
use crate::group_commit::pooled::Shared;
use crate::row::{Read, bigint, digits, time, uuid};
use crate::rows_query::rows_query;
use crate::{PgStore, campaign, event};

/// The command that counts hits.
pub(crate) struct Clicks;

fn link(row: &PgRow) -> PgResult<Link> {
    row.in_table("link", || {
        let clicks = u64::try_from(row.try_get::<i64, _>("clicks")?);
        Ok(Link {
            id: row.id("id")?,
            account: row.id("account_id")?,
            code: row.name("code")?,
            url: row.try_get("url")?,
            message: row.id("message_id")?,
            campaign: row.maybe_id("campaign_id")?,
            contact_number: row.number("contact_number")?,
            clicks: clicks.map_err(|_| PgError::invalid("clicks"))?,
            first_clicked_at: row.maybe_at("first_clicked_at")?,
            last_clicked_at: row.maybe_at("last_clicked_at")?,
        })
    })
}

#[async_trait]
impl LinkStore for PgStore {
    async fn link_get(&self, account: AccountId, id: LinkId) -> Result<Option<Link>, StoreError> {
        let doing = "reading a link";
        let row = sqlx::query("SELECT * FROM link WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        row.as_ref().map(link).transpose().context(doing)
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
        let mut query = QueryBuilder::new("SELECT * FROM link WHERE account_id = ");
        query.push_bind(uuid(account)).push(" AND id < ").push_bind(before);
        if let Some(message) = message {
            query.push(" AND message_id = ").push_bind(uuid(message));
        }
        if let Some(campaign) = campaign {
            query.push(" AND campaign_id = ").push_bind(uuid(campaign));
        }
        query.push(" ORDER BY id DESC LIMIT ");
        query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
        // Planned anew each time: which index is best depends on what is asked for.
        let query = query.build().persistent(false);
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        let rows: PgResult<Vec<Link>> = rows.iter().map(link).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |link: &Link| link.id))
    }

    async fn link_by_code(&self, code: LinkCode) -> Result<Option<Link>, StoreError> {
        let doing = "reading a link";
        let row = sqlx::query("SELECT * FROM link WHERE code = $1")
            .bind(code.as_str())
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        row.as_ref().map(link).transpose().context(doing)
    }

    async fn links_click(&self, plans: Vec<ClickPlan>) -> Vec<Result<Option<Link>, StoreError>> {
        self.clicks.settle(plans).await
    }
}

#[async_trait]
impl Shared for Clicks {
    type Plan = ClickPlan;
    type Answer = Option<Link>;
    const DOING: &'static str = "counting hits on links";

    async fn commit(
        pool: &PgPool,
        mut plans: Vec<ClickPlan>,
    ) -> Result<Vec<Option<Link>>, StoreError> {
        let doing = Self::DOING;
        let mut tx = begin(pool).await.context(doing)?;
        let found = locked(&mut tx, &plans).await.context(doing)?;
        let mut clicks = commit::Clicks::default();
        let settle = |plan: &mut ClickPlan| clicks.settle(plan, found.get(&plan.code));
        let counted = plans.iter_mut().map(settle).collect();
        write(&mut tx, clicks.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(counted)
    }
}

async fn write(connection: &mut PgConnection, writes: ClickWrites) -> PgResult<()> {
    let ClickWrites { links, campaigns, raised } = writes;
    update(connection, &links).await?;
    campaign::add_clicks(connection, &campaigns).await?;
    event::raise(connection, raised).await
}

/// The links that are hit, locked in the order of their ids.
async fn locked(
    connection: &mut PgConnection,
    plans: &[ClickPlan],
) -> PgResult<BTreeMap<LinkCode, Link>> {
    let codes: BTreeSet<&str> = plans.iter().map(|plan| plan.code.as_str()).collect();
    let rows = sqlx::query("SELECT * FROM link WHERE code = ANY($1) ORDER BY id FOR NO KEY UPDATE")
        .bind(codes.into_iter().collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| link(row).map(|link| (link.code, link))).collect()
}

/// Writes the counts of links: one statement for any number of them.
async fn update(connection: &mut PgConnection, links: &[Link]) -> PgResult<()> {
    if links.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        "UPDATE link l
         SET clicks = new.clicks, first_clicked_at = new.first_clicked_at,
             last_clicked_at = new.last_clicked_at
         FROM " rows(link in links) as new {
            account_id: uuid = uuid(link.account),
            id: uuid = uuid(link.id),
            clicks: bigint = bigint(link.clicks),
            first_clicked_at: timestamptz = link.first_clicked_at.map(time),
            last_clicked_at: timestamptz = link.last_clicked_at.map(time),
         } "
         WHERE l.account_id = new.account_id AND l.id = new.id"
    );
    update.execute(connection).await?;
    Ok(())
}

/// Writes new links, but for those whose code is taken: the ids of those written. One statement for
/// any number of them.
pub(crate) async fn insert(
    connection: &mut PgConnection,
    links: &[&Link],
) -> PgResult<BTreeSet<LinkId>> {
    if links.is_empty() {
        return Ok(BTreeSet::new());
    }
    let insert = rows_query!(
        "INSERT INTO link " insert(link in links) {
            account_id: uuid = uuid(link.account),
            id: uuid = uuid(link.id),
            code: text = link.code.as_str(),
            url: text = link.url.as_str(),
            message_id: uuid = uuid(link.message),
            campaign_id: uuid = link.campaign.map(uuid),
            contact_number: bigint = digits(link.contact_number),
        } "
        ON CONFLICT (code) DO NOTHING RETURNING id"
    );
    let rows = insert.fetch_all(connection).await?;
    rows.iter().map(|row| row.id("id")).collect()
}

/// Takes links back that were written before their texts were refused.
pub(crate) async fn delete(connection: &mut PgConnection, links: &[&Link]) -> PgResult<()> {
    if links.is_empty() {
        return Ok(());
    }
    let delete = rows_query!(
        "DELETE FROM link l USING " rows(link in links) as old {
            account_id: uuid = uuid(link.account),
            id: uuid = uuid(link.id),
         } "
         WHERE l.account_id = old.account_id AND l.id = old.id"
    );
    delete.execute(connection).await?;
    Ok(())
}
