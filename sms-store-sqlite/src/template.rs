//! Templates.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, TemplateId};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;
use sms_core::template::store::TemplateStore;
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::{before, limit_of};
use crate::row::{Cols, id, time};

#[async_trait]
impl TemplateStore for SqliteStore {
    async fn template_create(
        &self,
        template: Template,
        claim: Option<&Claim>,
    ) -> Result<Once<Template>, StoreError> {
        self.once("creating a template", claim, move |db| {
            put(db, &template)?;
            Ok(Ok(template.clone()))
        })
        .await
    }

    async fn template_get(
        &self,
        account: AccountId,
        of: TemplateId,
    ) -> Result<Option<Template>, StoreError> {
        self.look("reading a template", move |db| get(db, account, of)).await
    }

    async fn template_list(
        &self,
        account: AccountId,
        search: Option<&TemplateSearch>,
        page: PageRequest,
    ) -> Result<Page<Template>, StoreError> {
        let search = search.cloned();
        let rows = self.read("listing templates", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Vec::new()) };
            // A search reads all: templates are few.
            let limit = if search.is_some() { -1 } else { limit_of(page) };
            let mut rows = db.all(
                "SELECT id, account, name, body, created_at, updated_at FROM template
                 WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
                params![no, before(page), limit],
                |c| template(db, c),
            )?;
            rows.retain(|template| search.as_ref().is_none_or(|search| search.finds(template)));
            rows.truncate(page.limit.get() + 1);
            Ok(rows)
        });
        Ok(Page::of(rows.await?, page.limit, |template: &Template| template.id))
    }

    async fn template_update(
        &self,
        account: AccountId,
        of: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, StoreError> {
        self.write("changing a template", move |db| {
            let Some(before) = get(db, account, of)? else { return Ok(None) };
            let after = change.clone().apply(before, at);
            put(db, &after)?;
            Ok(Some(after))
        })
        .await
    }

    async fn template_delete(
        &self,
        account: AccountId,
        of: TemplateId,
    ) -> Result<bool, StoreError> {
        self.write("deleting a template", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(false) };
            let delete = "DELETE FROM template WHERE account = ?1 AND id = ?2";
            Ok(db.run(delete, params![no, id(of)])? == 1)
        })
        .await
    }
}

fn get(db: &Db, account: AccountId, of: TemplateId) -> SqlResult<Option<Template>> {
    let Some(no) = db.account_no(account)? else { return Ok(None) };
    db.one(
        "SELECT id, account, name, body, created_at, updated_at FROM template
         WHERE account = ?1 AND id = ?2",
        params![no, id(of)],
        |c| template(db, c),
    )
}

fn put(db: &Db, template: &Template) -> SqlResult<()> {
    let Template { id: of, account, name, body, created_at, updated_at } = template;
    db.run(
        "INSERT OR REPLACE INTO template (account, id, name, body, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            db.known_account(*account)?,
            id(*of),
            name,
            body.as_str(),
            time(*created_at),
            time(*updated_at)
        ],
    )?;
    Ok(())
}

fn template(db: &Db, c: &mut Cols<'_>) -> SqlResult<Template> {
    Ok(Template {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        name: c.get()?,
        body: Body::new(c.get::<String>()?),
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}
