//! Templates.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, TemplateId, TemplateKind};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;
use sms_core::template::store::TemplateStore;
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{QueryBuilder, Row};
use uuid::Uuid;

use crate::PgStore;
use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::row::{Read, time, uuid};

fn template(row: &PgRow) -> PgResult<Template> {
    row.in_table("template", || {
        Ok(Template {
            id: row.id("id")?,
            account: row.id("account_id")?,
            name: row.try_get("name")?,
            body: Body::new(row.try_get::<String, _>("body")?),
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

#[async_trait]
impl TemplateStore for PgStore {
    async fn template_create(
        &self,
        template: Template,
        claim: Option<&Claim>,
    ) -> Result<Once<Template>, StoreError> {
        let doing = "creating a template";
        let Template { id, account, name, body, created_at, updated_at } = template.clone();
        let insert = sqlx::query(
            "INSERT INTO template (account_id, id, name, body, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(name)
        .bind(body.as_str())
        .bind(time(created_at))
        .bind(time(updated_at));
        let mut tx = begin(&self.pool).await.context(doing)?;
        insert.execute(&mut *tx).await.context(doing)?;
        self.conclude(tx, claim, template).await.context(doing)
    }

    async fn template_get(
        &self,
        account: AccountId,
        id: TemplateId,
    ) -> Result<Option<Template>, StoreError> {
        let doing = "reading a template";
        let row = sqlx::query("SELECT * FROM template WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        row.as_ref().map(template).transpose().context(doing)
    }

    async fn template_list(
        &self,
        account: AccountId,
        search: Option<&TemplateSearch>,
        page: PageRequest,
    ) -> Result<Page<Template>, StoreError> {
        let doing = "listing templates";
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<TemplateKind>()));
        let mut query = QueryBuilder::new("SELECT * FROM template WHERE account_id = ");
        query.push_bind(uuid(account)).push(" AND id < ").push_bind(before);
        if let Some(search) = search {
            // The ICU collation lowers all of Unicode, whatever the database's collation does.
            query.push(" AND (position(").push_bind(search.words());
            query.push(" IN lower(name COLLATE \"und-x-icu\")) > 0 OR position(");
            query.push_bind(search.words());
            query.push(" IN lower(body COLLATE \"und-x-icu\")) > 0)");
        }
        query.push(" ORDER BY id DESC LIMIT ");
        query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
        let rows = query.build().fetch_all(&self.pool).await.context(doing)?;
        let rows: PgResult<Vec<Template>> = rows.iter().map(template).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |template: &Template| template.id))
    }

    async fn template_update(
        &self,
        account: AccountId,
        id: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, StoreError> {
        let doing = "updating a template";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let row = sqlx::query(
            "SELECT * FROM template WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .fetch_optional(&mut *tx)
        .await
        .context(doing)?;
        let Some(row) = row else { return Ok(None) };
        let changed = change.apply(template(&row).context(doing)?, at);
        sqlx::query(
            "UPDATE template SET name = $3, body = $4, updated_at = $5
             WHERE account_id = $1 AND id = $2",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(&changed.name)
        .bind(changed.body.as_str())
        .bind(time(changed.updated_at))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(Some(changed))
    }

    async fn template_delete(
        &self,
        account: AccountId,
        id: TemplateId,
    ) -> Result<bool, StoreError> {
        let deleted = sqlx::query("DELETE FROM template WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .execute(&self.pool)
            .await
            .context("deleting a template")?;
        Ok(deleted.rows_affected() == 1)
    }
}
