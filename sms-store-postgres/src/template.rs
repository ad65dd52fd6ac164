//! Templates.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, TemplateId, TemplateKind};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::template::store::{ReadsTemplates, TemplateStore};
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, QueryBuilder, Row};
use uuid::Uuid;

use crate::begin::{begin, give_up};
use crate::error::{Context, PgResult};
use crate::row::{Read, time, uuid};
use crate::{PgStore, looked_at};

/// The columns of a template.
macro_rules! template_columns {
    () => {
        "id, account_id, name, body, created_at, updated_at"
    };
}

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
impl ReadsTemplates for PgStore {
    async fn template_get(
        &self,
        account: AccountId,
        id: TemplateId,
    ) -> Result<Option<Template>, StoreError> {
        let doing = "reading a template";
        let row = sqlx::query(concat!(
            "SELECT ",
            template_columns!(),
            " FROM template WHERE account_id = $1 AND id = $2"
        ))
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
        let end = match search {
            Some(_) => {
                let mut ids = QueryBuilder::new("SELECT id FROM template WHERE account_id = ");
                ids.push_bind(uuid(account)).push(" AND id < ").push_bind(before);
                ids.push(" ORDER BY id DESC");
                looked_at::end(&self.pool, ids).await.context(doing)?
            }
            None => None,
        };
        let mut query = QueryBuilder::new(concat!(
            "SELECT ",
            template_columns!(),
            " FROM template WHERE account_id = "
        ));
        query.push_bind(uuid(account)).push(" AND id < ").push_bind(before);
        if let Some(end) = end {
            query.push(" AND id >= ").push_bind(end);
        }
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
        let end = end.map(|end| TemplateId::from_u128(end.as_u128()));
        let rows = rows.context(doing)?;
        Ok(Page::of_search(rows, page.limit, end, |template: &Template| template.id))
    }
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

    async fn template_update(
        &self,
        account: AccountId,
        id: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, CommitError<Changed>> {
        let doing = "updating a template";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        let Some(before) = found else { return Ok(give_up(tx, None).await) };
        let changed = match change.apply(before, at) {
            Ok(changed) => changed,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
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
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let doing = "deleting a template";
        let delete = sqlx::query("DELETE FROM template WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id));
        if if_version.is_any() {
            let deleted = delete.execute(&self.pool).await.context(doing)?;
            return Ok(deleted.rows_affected() == 1);
        }
        let mut tx = begin(&self.pool).await.context(doing)?;
        let found = lock(&mut tx, account, id).await.context(doing)?;
        let Some(found) = found else { return Ok(give_up(tx, false).await) };
        if let Err(changed) = if_version.check(&found) {
            return Err(give_up(tx, CommitError::Refused(changed)).await);
        }
        delete.execute(&mut *tx).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(true)
    }
}

/// Reads a template and locks it, so that nobody changes it before this transaction ends.
async fn lock(
    tx: &mut PgConnection,
    account: AccountId,
    id: TemplateId,
) -> PgResult<Option<Template>> {
    let query = concat!(
        "SELECT ",
        template_columns!(),
        " FROM template WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE"
    );
    let query = sqlx::query(query).bind(uuid(account)).bind(uuid(id));
    query.fetch_optional(tx).await?.as_ref().map(template).transpose()
}
