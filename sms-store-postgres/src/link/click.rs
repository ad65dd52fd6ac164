//! Counts clicks on links. Clicks that arrive at about the same time share a commit.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::{self, ClickWrites};
use sms_core::link::click::ClickPlan;
use sms_core::link::{Link, LinkCode};
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool};

use super::campaign::add_clicks;
use super::row::{link, link_columns};
use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::event::{self, check_order, is_younger};
use crate::group_commit::pooled::Shared;
use crate::row::{bigint, time, uuid};
use crate::rows_query::rows_query;

/// The command that counts clicks.
pub(crate) struct Clicks;

#[async_trait]
impl Shared for Clicks {
    type Plan = ClickPlan;
    type Answer = Option<Link>;
    const DOING: &'static str = "counting clicks on links";

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
    add_clicks(connection, &campaigns).await?;
    event::raise(connection, raised).await
}

/// Reads the clicked links and locks them in id order.
async fn locked(
    connection: &mut PgConnection,
    plans: &[ClickPlan],
) -> PgResult<BTreeMap<LinkCode, Link>> {
    let codes: BTreeSet<&str> = plans.iter().map(|plan| plan.code.as_str()).collect();
    let rows = sqlx::query(concat!(
        "SELECT ",
        link_columns!(),
        ", ",
        is_younger!(),
        " FROM link WHERE code = ANY($1) ORDER BY id FOR NO KEY UPDATE"
    ))
    .bind(codes.into_iter().collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    let read = |row| {
        check_order(row)?;
        link(row).map(|link| (link.code, link))
    };
    rows.iter().map(read).collect()
}

/// Writes the click counts of links, with one statement for any number of them.
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
