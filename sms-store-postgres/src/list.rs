//! Lists of contacts.

use async_trait::async_trait;
use sms_core::contact::book::BookRefused;
use sms_core::contact::{Contact, ContactFields};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId, ListKind};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::store::{ListStore, ReadsLists};
use sms_core::list::{ContactList, ListChange};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::address_book::{NamedContacts, contact_columns, contacts, leave, select_named_contacts};
use crate::begin::{begin, give_up};
use crate::error::{Context, PgError, PgResult};
use crate::row::{Read, time, uuid};
use crate::{PgStore, keyword};

fn list(row: &PgRow) -> PgResult<ContactList> {
    row.in_table("contact_list", || {
        let count: i64 = row.try_get("contact_count")?;
        Ok(ContactList {
            id: row.id("id")?,
            account: row.id("account_id")?,
            name: row.try_get("name")?,
            description: row.try_get("description")?,
            contact_count: u64::try_from(count).map_err(|_| PgError::invalid("contact_count"))?,
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

/// The columns of a list.
macro_rules! list_columns {
    () => {
        "id, account_id, name, description, contact_count, created_at, updated_at"
    };
}

const GET: &str =
    concat!("SELECT ", list_columns!(), " FROM contact_list WHERE account_id = $1 AND id = $2");

#[async_trait]
impl ReadsLists for PgStore {
    async fn list_get(
        &self,
        account: AccountId,
        id: ListId,
    ) -> Result<Option<ContactList>, StoreError> {
        let doing = "reading a list";
        let query = sqlx::query(GET).bind(uuid(account)).bind(uuid(id));
        let row = query.fetch_optional(&self.pool).await.context(doing)?;
        row.as_ref().map(list).transpose().context(doing)
    }

    async fn list_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<ContactList>, StoreError> {
        let doing = "reading lists";
        let rows = sqlx::query(concat!(
            "SELECT ",
            list_columns!(),
            " FROM contact_list WHERE account_id = $1 AND id < $2
             ORDER BY id DESC LIMIT $3",
        ))
        .bind(uuid(account))
        .bind(page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<ListKind>())))
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let rows = rows.iter().map(list).collect::<PgResult<_>>().context(doing)?;
        Ok(Page::of(rows, page.limit, |list: &ContactList| list.id))
    }

    async fn list_portion(
        &self,
        account: AccountId,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
        fields: &ContactFields,
    ) -> Result<Vec<Contact>, StoreError> {
        let doing = "reading the contacts of a list";
        let NamedContacts { first_name, last_name, email, custom } = NamedContacts::of(fields);
        let rows = sqlx::query(concat!(
            "SELECT ",
            contact_columns!(),
            ", c.opted_out FROM (
                 SELECT contact_id FROM contact_list_member
                 WHERE account_id = $1 AND list_id = $2 AND contact_id > $3
                 ORDER BY contact_id LIMIT $4) AS m
             -- One by one: otherwise the planner reads the contacts of all accounts.
             CROSS JOIN LATERAL (",
            select_named_contacts!("$5", "$6", "$7", "$8"),
            "WHERE c.account_id = $1 AND c.id = m.contact_id LIMIT 1) AS c
             ORDER BY m.contact_id"
        ))
        .bind(uuid(account))
        .bind(uuid(list))
        .bind(after.map_or(Uuid::nil(), uuid))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .bind(first_name)
        .bind(last_name)
        .bind(email)
        .bind(custom)
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        contacts(&rows).context(doing)
    }
}

#[async_trait]
impl ListStore for PgStore {
    async fn list_create(
        &self,
        list: ContactList,
        claim: Option<&Claim>,
    ) -> Result<Once<ContactList>, StoreError> {
        let doing = "creating a list";
        let ContactList {
            id,
            account,
            name,
            description,
            contact_count: _,
            created_at,
            updated_at,
        } = list.clone();
        let insert = sqlx::query(
            "INSERT INTO contact_list (account_id, id, name, description, contact_count,
                 created_at, updated_at)
             VALUES ($1, $2, $3, $4, 0, $5, $6)",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(name)
        .bind(description)
        .bind(time(created_at))
        .bind(time(updated_at));
        let mut tx = begin(&self.pool).await.context(doing)?;
        insert.execute(&mut *tx).await.context(doing)?;
        self.conclude(tx, claim, list).await.context(doing)
    }

    async fn list_update(
        &self,
        account: AccountId,
        id: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, CommitError<Changed>> {
        let doing = "updating a list";
        let mut tx = self.begin_book(account).await.context(doing)?;
        let query = sqlx::query(GET).bind(uuid(account)).bind(uuid(id));
        let row = query.fetch_optional(&mut *tx).await.context(doing)?;
        let Some(row) = row else { return Ok(give_up(tx, None).await) };
        let after = match change.apply(list(&row).context(doing)?, at) {
            Ok(after) => after,
            Err(changed) => return Err(give_up(tx, CommitError::Refused(changed)).await),
        };
        sqlx::query(
            "UPDATE contact_list SET name = $3, description = $4, updated_at = $5
             WHERE account_id = $1 AND id = $2",
        )
        .bind(uuid(account))
        .bind(uuid(id))
        .bind(&after.name)
        .bind(&after.description)
        .bind(time(after.updated_at))
        .execute(&mut *tx)
        .await
        .context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(Some(after))
    }

    async fn list_delete(
        &self,
        account: AccountId,
        id: ListId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        let doing = "deleting a list";
        let mut tx = self.begin_book(account).await.context(doing)?;
        if !if_version.is_any() {
            let query = sqlx::query(GET).bind(uuid(account)).bind(uuid(id));
            let row = query.fetch_optional(&mut *tx).await.context(doing)?;
            let Some(row) = row else { return Ok(give_up(tx, false).await) };
            if let Err(changed) = if_version.check(&list(&row).context(doing)?) {
                return Err(give_up(tx, CommitError::Refused(changed)).await);
            }
        }
        let delete = sqlx::query(
            "WITH members AS (
                 DELETE FROM contact_list_member WHERE account_id = $1 AND list_id = $2)
             DELETE FROM contact_list WHERE account_id = $1 AND id = $2",
        )
        .bind(uuid(account))
        .bind(uuid(id));
        let deleted = delete.execute(&mut *tx).await.context(doing)?.rows_affected();
        keyword::clear_list(&mut tx, account, id).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(deleted == 1)
    }

    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>> {
        self.change_book(plan, "adding to a list").await
    }

    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError> {
        let doing = "removing a contact from a list";
        let mut tx = self.begin_book(account).await.context(doing)?;
        let was_there = leave(&mut tx, account, list, contact).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(was_there)
    }
}
