//! Templates.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, TemplateId};
use sms_core::message::Body;
use sms_core::page::{LOOKED_AT, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::template::store::{ReadsTemplates, TemplateStore};
use sms_core::template::{Template, TemplateChange, TemplateSearch};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::before;
use crate::row::{Cols, id, size, time};

#[async_trait]
impl ReadsTemplates for SqliteStore {
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
            let Some(no) = db.account_no(account)? else { return Ok(Default::default()) };
            list(db, no, search.as_ref(), page)
        });
        let (rows, end) = rows.await?;
        Ok(Page::of_search(rows, page.limit, end, |template: &Template| template.id))
    }
}

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

    async fn template_update(
        &self,
        account: AccountId,
        of: TemplateId,
        change: TemplateChange,
        at: Timestamp,
    ) -> Result<Option<Template>, CommitError<Changed>> {
        self.decide("changing a template", move |db| {
            let Some(before) = get(db, account, of)? else { return Ok(Ok(None)) };
            match change.clone().apply(before, at) {
                Ok(after) => put(db, &after).map(|()| Ok(Some(after))),
                Err(changed) => Ok(Err(CommitError::Refused(changed))),
            }
        })
        .await
    }

    async fn template_delete(
        &self,
        account: AccountId,
        of: TemplateId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.decide("deleting a template", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Ok(false)) };
            if let Err(changed) = db.check_removal(&if_version, |db| get(db, account, of))? {
                return Ok(Err(CommitError::Refused(changed)));
            }
            let delete = "DELETE FROM template WHERE account = ?1 AND id = ?2";
            Ok(Ok(db.run(delete, params![no, id(of)])? == 1))
        })
        .await
    }
}

/// Templates, newest first, and the last one that a search looked at if it ended early.
fn list(
    db: &Db,
    account: i64,
    search: Option<&TemplateSearch>,
    page: PageRequest,
) -> SqlResult<(Vec<Template>, Option<TemplateId>)> {
    let most = page.limit.get() + 1;
    let limit = if search.is_some() { LOOKED_AT } else { most };
    let query = "SELECT id, account, name, body, created_at, updated_at FROM template
         WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
    let mut statement = db.prepare(query)?;
    let mut rows = statement.query(params![account, before(page), size(limit)])?;
    let (mut found, mut looked_at, mut last) = (Vec::new(), 0, None);
    while let Some(row) = rows.next()? {
        let one = template(db, &mut Cols::of(row))?;
        looked_at += 1;
        last = Some(one.id);
        if search.is_none_or(|search| search.finds(&one)) {
            found.push(one);
        }
        if found.len() == most {
            return Ok((found, None));
        }
    }
    Ok((found, last.filter(|_| looked_at == LOOKED_AT)))
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
