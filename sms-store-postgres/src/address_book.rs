//! The one way in which contacts and lists are changed: the account's book is locked, the facts are
//! read, the plan is settled, and its change written, in a handful of statements whatever its size.

use std::collections::BTreeSet;

use sms_core::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use sms_core::contact::custom::FieldUses;
use sms_core::contact::{Contact, CustomFields, Details};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres, Row, Transaction};

use crate::PgStore;
use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::row::{Read, digits, time, uuid, uuids};

/// What reads contacts, up to the condition: `c` is the contact. A bare `EXISTS` among the columns
/// would tempt the planner to read the opt-outs of all accounts once rather than one a row.
macro_rules! select_contacts {
    () => {
        "SELECT c.account_id, c.id, c.phone, c.first_name, c.last_name, c.email, c.notes, c.custom,
             c.created_at, c.updated_at,
             COALESCE((SELECT true FROM opt_out o WHERE o.account_id = c.account_id
                       AND o.phone = c.phone), false) AS opted_out
         FROM contact c "
    };
}
pub(crate) use select_contacts;

pub(crate) fn contact(row: &PgRow) -> PgResult<Contact> {
    row.in_table("contact", || {
        let Json(custom) = row.try_get::<Json<CustomFields>, _>("custom")?;
        Ok(Contact {
            id: row.id("id")?,
            account: row.id("account_id")?,
            phone: row.number("phone")?,
            details: Details {
                first_name: row.try_get("first_name")?,
                last_name: row.try_get("last_name")?,
                email: row.try_get("email")?,
                notes: row.try_get("notes")?,
                custom,
            },
            opted_out: row.try_get("opted_out")?,
            created_at: row.at("created_at")?,
            updated_at: row.at("updated_at")?,
        })
    })
}

pub(crate) fn contacts(rows: &[PgRow]) -> PgResult<Vec<Contact>> {
    rows.iter().map(contact).collect()
}

/// Makes the changes of a book wait for one another. It is taken before any account's lock: imports
/// hold it for long, and sends wait for accounts.
pub(crate) async fn lock(connection: &mut PgConnection, account: AccountId) -> PgResult<()> {
    let lock = sqlx::query(
        "INSERT INTO address_book (account_id, changes) VALUES ($1, 1)
         ON CONFLICT (account_id) DO UPDATE SET changes = address_book.changes + 1",
    );
    lock.bind(uuid(account)).execute(connection).await?;
    Ok(())
}

impl PgStore {
    /// Begins a transaction with the book of an account locked.
    pub(crate) async fn begin_book(
        &self,
        account: AccountId,
    ) -> PgResult<Transaction<'static, Postgres>> {
        let mut tx = begin(&self.pool).await?;
        lock(&mut tx, account).await?;
        Ok(tx)
    }

    /// Commits a plan.
    pub(crate) async fn change_book<P: BookPlan>(
        &self,
        plan: P,
        doing: &'static str,
    ) -> Result<P::Answer, CommitError<BookRefused>> {
        let account = plan.account();
        let mut tx = self.begin_book(account).await.context(doing)?;
        let facts = read_facts(&mut tx, account, &plan.asks()).await.context(doing)?;
        let (change, answer) = plan.settle(&facts).map_err(CommitError::Refused)?;
        drop((plan, facts));
        write(&mut tx, account, change).await.context(doing)?;
        tx.commit().await.context(doing)?;
        self.caches.empty_books.forget(&account);
        Ok(answer)
    }

    /// The account's contacts with these numbers.
    pub(crate) async fn contacts_of(
        &self,
        account: AccountId,
        ids: &[ContactId],
        phones: &[E164],
    ) -> Result<Vec<Contact>, StoreError> {
        let doing = "reading contacts";
        let mut connection = self.pool.acquire().await.context(doing)?;
        read_contacts(&mut connection, account, ids, phones).await.context(doing)
    }
}

pub(crate) async fn read_contacts(
    connection: &mut PgConnection,
    account: AccountId,
    ids: &[ContactId],
    phones: &[E164],
) -> PgResult<Vec<Contact>> {
    // Either index by itself; a contact that both name is read once.
    let rows = sqlx::query(concat!(
        select_contacts!(),
        "WHERE c.account_id = $1 AND c.id IN (
             SELECT UNNEST($2::uuid[])
             UNION SELECT p.id FROM contact p
                 WHERE p.account_id = $1 AND p.phone = ANY($3::bigint[]))"
    ))
    .bind(uuid(account))
    .bind(uuids(ids.iter().copied()))
    .bind(numbers(phones))
    .fetch_all(connection)
    .await?;
    contacts(&rows)
}

pub(crate) async fn read_facts(
    connection: &mut PgConnection,
    account: AccountId,
    question: &BookQuestion,
) -> PgResult<BookFacts> {
    let BookQuestion { phones, ids, list } = question;
    let contacts = read_contacts(connection, account, ids, phones).await?;
    let mut opted_out = BTreeSet::new();
    if !phones.is_empty() {
        let rows =
            sqlx::query("SELECT phone FROM opt_out WHERE account_id = $1 AND phone = ANY($2)")
                .bind(uuid(account))
                .bind(numbers(phones))
                .fetch_all(&mut *connection)
                .await?;
        opted_out = rows.iter().map(|row| row.number("phone")).collect::<PgResult<_>>()?;
    }
    let members = match list {
        Some(list) => read_members(connection, account, *list, &contacts).await?,
        None => None,
    };
    Ok(BookFacts { contacts, opted_out, members })
}

/// Those of the contacts that are on a list, if there is one of this id.
async fn read_members(
    connection: &mut PgConnection,
    account: AccountId,
    list: ListId,
    contacts: &[Contact],
) -> PgResult<Option<BTreeSet<ContactId>>> {
    let found = sqlx::query("SELECT FROM contact_list WHERE account_id = $1 AND id = $2")
        .bind(uuid(account))
        .bind(uuid(list))
        .fetch_optional(&mut *connection)
        .await?;
    if found.is_none() {
        return Ok(None);
    }
    let rows = sqlx::query(
        "SELECT contact_id FROM contact_list_member
         WHERE account_id = $1 AND list_id = $2 AND contact_id = ANY($3)",
    )
    .bind(uuid(account))
    .bind(uuid(list))
    .bind(uuids(contacts.iter().map(|contact| contact.id)))
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| row.id("contact_id")).collect::<PgResult<_>>().map(Some)
}

pub(crate) async fn write(
    connection: &mut PgConnection,
    account: AccountId,
    change: BookChange,
) -> PgResult<()> {
    let BookChange { removed, updated, created, joined, uses } = change;
    remove(connection, account, &removed).await?;
    update(connection, account, &updated).await?;
    create(connection, account, &created).await?;
    if let Some((list, contacts)) = joined {
        join(connection, account, list, &contacts).await?;
    }
    count(connection, account, &uses).await
}

async fn remove(
    connection: &mut PgConnection,
    account: AccountId,
    removed: &[ContactId],
) -> PgResult<()> {
    if removed.is_empty() {
        return Ok(());
    }
    let remove = sqlx::query(
        "WITH contacts AS (
             DELETE FROM contact WHERE account_id = $1 AND id = ANY($2)),
         members AS (
             DELETE FROM contact_list_member WHERE account_id = $1 AND contact_id = ANY($2)
             RETURNING list_id)
         UPDATE contact_list l SET contact_count = l.contact_count - gone.contacts
         FROM (SELECT list_id, count(*) AS contacts FROM members GROUP BY list_id) AS gone
         WHERE l.account_id = $1 AND l.id = gone.list_id",
    )
    .bind(uuid(account))
    .bind(uuids(removed.iter().copied()));
    remove.execute(connection).await?;
    Ok(())
}

/// The columns that change, each an array: id, phone, names, email, notes, custom, searched, time.
macro_rules! bind_contacts {
    ($query:expr, $account:expr, $contacts:expr) => {{
        let contacts: &[Contact] = $contacts;
        let texts = |pick: fn(&Details) -> &Option<String>| -> Vec<Option<&str>> {
            contacts.iter().map(|contact| pick(&contact.details).as_deref()).collect()
        };
        $query
            .bind(uuid($account))
            .bind(uuids(contacts.iter().map(|contact| contact.id)))
            .bind(contacts.iter().map(|contact| digits(contact.phone)).collect::<Vec<_>>())
            .bind(texts(|details| &details.first_name))
            .bind(texts(|details| &details.last_name))
            .bind(texts(|details| &details.email))
            .bind(texts(|details| &details.notes))
            .bind(contacts.iter().map(custom_json).collect::<Vec<_>>())
            .bind(contacts.iter().map(Contact::searched).collect::<Vec<_>>())
            .bind(contacts.iter().map(|contact| time(contact.updated_at)).collect::<Vec<_>>())
    }};
}

fn custom_json(contact: &Contact) -> String {
    // Texts, numbers and booleans under names always have a JSON form.
    serde_json::to_string(&contact.details.custom).unwrap_or_default()
}

async fn create(
    connection: &mut PgConnection,
    account: AccountId,
    created: &[Contact],
) -> PgResult<()> {
    if created.is_empty() {
        return Ok(());
    }
    let insert = sqlx::query(
        "INSERT INTO contact (account_id, id, phone, first_name, last_name, email, notes, custom,
             searched, created_at, updated_at)
         SELECT $1, id, phone, first_name, last_name, email, notes, custom::json, searched, at, at
         FROM UNNEST($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::timestamptz[])
             AS new (id, phone, first_name, last_name, email, notes, custom, searched, at)",
    );
    bind_contacts!(insert, account, created).execute(connection).await?;
    Ok(())
}

async fn update(
    connection: &mut PgConnection,
    account: AccountId,
    updated: &[Contact],
) -> PgResult<()> {
    if updated.is_empty() {
        return Ok(());
    }
    let update = sqlx::query(
        "UPDATE contact c
         SET phone = new.phone, first_name = new.first_name, last_name = new.last_name,
             email = new.email, notes = new.notes, custom = new.custom::json,
             searched = new.searched, updated_at = new.at
         FROM UNNEST($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::timestamptz[])
             AS new (id, phone, first_name, last_name, email, notes, custom, searched, at)
         WHERE c.account_id = $1 AND c.id = new.id",
    );
    bind_contacts!(update, account, updated).execute(connection).await?;
    Ok(())
}

async fn join(
    connection: &mut PgConnection,
    account: AccountId,
    list: ListId,
    contacts: &[ContactId],
) -> PgResult<()> {
    if contacts.is_empty() {
        return Ok(());
    }
    let join = sqlx::query(
        "WITH joined AS (
             INSERT INTO contact_list_member (account_id, list_id, contact_id)
             SELECT $1, $2, UNNEST($3::uuid[]) RETURNING contact_id)
         UPDATE contact_list SET contact_count = contact_count + (SELECT count(*) FROM joined)
         WHERE account_id = $1 AND id = $2",
    )
    .bind(uuid(account))
    .bind(uuid(list))
    .bind(uuids(contacts.iter().copied()));
    join.execute(connection).await?;
    Ok(())
}

/// Takes contacts off a list; false when none of them was on it.
pub(crate) async fn leave(
    connection: &mut PgConnection,
    account: AccountId,
    list: ListId,
    contact: ContactId,
) -> PgResult<bool> {
    let leave = sqlx::query(
        "WITH gone AS (
             DELETE FROM contact_list_member
             WHERE account_id = $1 AND list_id = $2 AND contact_id = $3 RETURNING contact_id)
         UPDATE contact_list SET contact_count = contact_count - 1
         WHERE account_id = $1 AND id = $2 AND EXISTS (SELECT FROM gone)",
    )
    .bind(uuid(account))
    .bind(uuid(list))
    .bind(uuid(contact));
    Ok(leave.execute(connection).await?.rows_affected() == 1)
}

/// Keeps the use of custom names. Names that nobody uses any more are forgotten.
async fn count(
    connection: &mut PgConnection,
    account: AccountId,
    uses: &FieldUses,
) -> PgResult<()> {
    let (more, fewer): (Vec<_>, Vec<_>) = uses.changes().partition(|(_, by)| *by > 0);
    for (statement, changes) in [
        (
            "INSERT INTO custom_name AS c (account_id, name, uses)
             SELECT $1, name, by FROM UNNEST($2::text[], $3::bigint[]) AS new (name, by)
             ON CONFLICT (account_id, name) DO UPDATE SET uses = c.uses + EXCLUDED.uses",
            &more,
        ),
        (
            "UPDATE custom_name c SET uses = c.uses + new.by
             FROM UNNEST($2::text[], $3::bigint[]) AS new (name, by)
             WHERE c.account_id = $1 AND c.name = new.name",
            &fewer,
        ),
    ] {
        if changes.is_empty() {
            continue;
        }
        sqlx::query(statement)
            .bind(uuid(account))
            .bind(changes.iter().map(|(name, _)| *name).collect::<Vec<_>>())
            .bind(changes.iter().map(|(_, by)| *by).collect::<Vec<_>>())
            .execute(&mut *connection)
            .await?;
    }
    if fewer.is_empty() {
        return Ok(());
    }
    let forget = sqlx::query(
        "DELETE FROM custom_name WHERE account_id = $1 AND name = ANY($2) AND uses = 0",
    )
    .bind(uuid(account))
    .bind(fewer.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    forget.execute(connection).await?;
    Ok(())
}

fn numbers(phones: &[E164]) -> Vec<i64> {
    phones.iter().map(|phone| digits(*phone)).collect()
}
