//! Contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::{ContactStore, ContactsWanted, CustomNamesWanted, ReadsContacts};
use sms_core::contact::{Contact, ContactFilter};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ContactId, ContactKind, ListId};
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};
use sqlx::{Postgres, QueryBuilder, Row};
use uuid::Uuid;

use crate::address_book::{contact, contact_columns, contacts, select_contacts};
use crate::error::Context;
use crate::row::{digits, uuid};
use crate::{PgStore, looked_at};

#[async_trait]
impl ReadsContacts for PgStore {
    async fn contact_get(
        &self,
        account: AccountId,
        id: ContactId,
    ) -> Result<Option<(Contact, Vec<ListId>)>, StoreError> {
        let doing = "reading a contact";
        let rows = sqlx::query(concat!(
            "SELECT ",
            contact_columns!(),
            ", EXISTS (SELECT FROM opt_out o WHERE o.account_id = c.account_id
                         AND o.phone = c.phone) AS opted_out,
                 ARRAY(SELECT m.list_id FROM contact_list_member m
                       WHERE m.account_id = c.account_id AND m.contact_id = c.id
                           AND m.contact_id <> m.list_id
                       ORDER BY m.list_id DESC) AS list_ids
             FROM contact c WHERE c.account_id = $1 AND c.id = $2",
        ))
        .bind(uuid(account))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        let Some(row) = rows else { return Ok(None) };
        let lists: Vec<Uuid> = row.try_get("list_ids").context(doing)?;
        let lists = lists.into_iter().map(|id| ListId::from_u128(id.as_u128())).collect();
        Ok(Some((contact(&row).context(doing)?, lists)))
    }

    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError> {
        let doing = "listing contacts";
        let end = if filter.looks_through() {
            let ids = ids_looked_at(account, filter.list_id, page);
            looked_at::end(&self.pool, ids).await.context(doing)?
        } else {
            None
        };
        let mut query = page_query(account, filter, page, end);
        let rows = query.build().fetch_all(&self.pool).await.context(doing)?;
        let rows = contacts(&rows).context(doing)?;
        let end = end.map(|end| ContactId::from_u128(end.as_u128()));
        Ok(Page::of_search(rows, page.limit, end, |contact: &Contact| contact.id))
    }

    async fn custom_names(
        &self,
        account: AccountId,
        wanted: CustomNamesWanted<'_>,
    ) -> Result<BTreeSet<String>, StoreError> {
        match wanted {
            CustomNamesWanted::All => {
                Ok(self.all_custom_names(account).await?.into_iter().collect())
            }
            CustomNamesWanted::Among(names) => self.custom_names_among(account, names).await,
        }
    }

    async fn contacts_among(
        &self,
        account: AccountId,
        wanted: ContactsWanted<'_>,
    ) -> Result<Vec<Contact>, StoreError> {
        match wanted {
            ContactsWanted::Ids(ids) => self.contacts_by_id(account, ids).await,
            ContactsWanted::Phones(phones) => self.contacts_by_phone(account, phones).await,
        }
    }

    async fn address_book_is_empty(&self, account: AccountId) -> Result<bool, StoreError> {
        let ticket = match self.caches.empty_books.get(&account) {
            Ok(is_empty) => return Ok(is_empty),
            Err(ticket) => ticket,
        };
        let doing = "checking whether an address book is empty";
        let is_empty: bool =
            sqlx::query_scalar("SELECT NOT EXISTS (SELECT FROM contact WHERE account_id = $1)")
                .bind(uuid(account))
                .fetch_one(&self.pool)
                .await
                .context(doing)?;
        self.caches.empty_books.put(ticket, account, is_empty);
        Ok(is_empty)
    }
}

#[async_trait]
impl ContactStore for PgStore {
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>> {
        self.change_book_once(plan, claim, "creating a contact").await
    }

    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>> {
        self.change_book(plan, "updating a contact").await
    }

    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>> {
        self.change_book(plan, "deleting a contact").await
    }

    async fn contacts_import(
        &self,
        plan: ImportPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Imported>, CommitError<BookRefused>> {
        self.change_book_once(plan, claim, "importing contacts").await
    }
}

impl PgStore {
    async fn contacts_by_id(
        &self,
        account: AccountId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError> {
        self.contacts_of(account, ids, &[]).await
    }

    async fn contacts_by_phone(
        &self,
        account: AccountId,
        phones: &[E164],
    ) -> Result<Vec<Contact>, StoreError> {
        self.contacts_of(account, &[], phones).await
    }

    async fn all_custom_names(&self, account: AccountId) -> Result<Vec<String>, StoreError> {
        let doing = "reading custom names";
        sqlx::query_scalar("SELECT name FROM custom_name WHERE account_id = $1 ORDER BY name")
            .bind(uuid(account))
            .fetch_all(&self.pool)
            .await
            .context(doing)
    }

    async fn custom_names_among(
        &self,
        account: AccountId,
        names: &[String],
    ) -> Result<BTreeSet<String>, StoreError> {
        let doing = "looking up custom names";
        let found: Vec<String> = sqlx::query_scalar(
            "SELECT name FROM custom_name WHERE account_id = $1 AND name = ANY($2)",
        )
        .bind(uuid(account))
        .bind(names)
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        Ok(found.into_iter().collect())
    }
}

/// The ids of the contacts that a search looks at, newest first.
fn ids_looked_at(
    account: AccountId,
    list: Option<ListId>,
    page: PageRequest,
) -> QueryBuilder<Postgres> {
    let (mut query, id) = if let Some(list) = list {
        let mut query = QueryBuilder::new("SELECT contact_id FROM contact_list_member");
        query.push(" WHERE list_id = ").push_bind(uuid(list));
        query.push(" AND account_id = ").push_bind(uuid(account));
        (query, "contact_id")
    } else {
        let mut query = QueryBuilder::new("SELECT id FROM contact WHERE account_id = ");
        query.push_bind(uuid(account));
        (query, "id")
    };
    if let Some(after) = page.after {
        let after = uuid(after.id::<ContactKind>());
        query.push(" AND ").push(id).push(" < ").push_bind(after);
    }
    query.push(" ORDER BY ").push(id).push(" DESC");
    query
}

/// The query for a page. A search looks at no contact below `end`.
fn page_query(
    account: AccountId,
    filter: &ContactFilter,
    page: PageRequest,
    end: Option<Uuid>,
) -> QueryBuilder<Postgres> {
    let ContactFilter { list_id, search } = filter;
    let after = page.after.map(|after| uuid(after.id::<ContactKind>()));
    let limit = i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX);
    let mut query = QueryBuilder::new(select_contacts!());
    if let Some(list) = list_id {
        // Reads a page of members first where no search restricts it: the planner would rather scan
        // all contacts of the account.
        query.push("JOIN (SELECT contact_id FROM contact_list_member WHERE account_id = ");
        query.push_bind(uuid(account)).push(" AND list_id = ").push_bind(uuid(*list));
        if let Some(after) = after {
            query.push(" AND contact_id < ").push_bind(after);
        }
        if let Some(end) = end {
            query.push(" AND contact_id >= ").push_bind(end);
        }
        if search.is_none() {
            query.push(" ORDER BY contact_id DESC LIMIT ").push_bind(limit);
        }
        query.push(") AS m ON m.contact_id = c.id ");
    }
    query.push("WHERE c.account_id = ").push_bind(uuid(account));
    match search {
        Some(ContactSearch::Number(number)) => {
            query.push(" AND c.phone = ").push_bind(digits(*number));
        }
        Some(ContactSearch::Digits { digits, words }) => {
            query.push(" AND (position(").push_bind(digits.clone());
            query.push(" IN c.phone::text) > 0 OR position(").push_bind(words.clone());
            query.push(" IN c.searched) > 0)");
        }
        Some(ContactSearch::Words(words)) => {
            query.push(" AND position(").push_bind(words.clone()).push(" IN c.searched) > 0");
        }
        None => {}
    }
    if let Some(after) = after {
        query.push(" AND c.id < ").push_bind(after);
    }
    if let Some(end) = end {
        query.push(" AND c.id >= ").push_bind(end);
    }
    query.push(" ORDER BY c.id DESC LIMIT ").push_bind(limit);
    query
}
