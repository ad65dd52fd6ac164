//! All changes of contacts and lists: lock the account's address book, read the facts, settle the
//! plan, and write its change with a handful of statements, whatever its size.

use std::collections::BTreeSet;

use sms_core::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use sms_core::contact::custom::{FieldUses, NamesInUse};
use sms_core::contact::{Contact, ContactFields, CustomFields, Detail, Details};
use sms_core::idempotency::{Answer, Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres, Row, Transaction};

use crate::PgStore;
use crate::begin::{begin, give_up};
use crate::error::{Context, PgResult};
use crate::opt_out;
use crate::row::{Read, digits, time, uuid, uuids};
use crate::rows_query::rows_query;

/// The columns of a contact `c`, without `opted_out`.
macro_rules! contact_columns {
    () => {
        "c.account_id, c.id, c.phone, c.first_name, c.last_name, c.email, c.notes, c.custom, \
         c.created_at, c.updated_at"
    };
}
pub(crate) use contact_columns;

/// Selects contacts, up to the condition: `c` is the contact. With a bare `EXISTS` among the
/// columns the planner might read the opt-outs of all accounts once instead of one per row.
macro_rules! select_contacts {
    () => {
        concat!(
            "SELECT ",
            contact_columns!(),
            ", COALESCE((SELECT true FROM opt_out o WHERE o.account_id = c.account_id
                         AND o.phone = c.phone), false) AS opted_out
             FROM contact c "
        )
    };
}
pub(crate) use select_contacts;

/// Selects contacts with some of their details. The parameters say whether to read the first name,
/// the last name and the email address, and which custom fields.
macro_rules! select_named_contacts {
    ($first_name:literal, $last_name:literal, $email:literal, $custom:literal) => {
        concat!(
            "SELECT c.account_id, c.id, c.phone, NULL::text AS notes,
                 CASE WHEN ",
            $first_name,
            "::boolean THEN c.first_name END AS first_name,
                 CASE WHEN ",
            $last_name,
            "::boolean THEN c.last_name END AS last_name,
                 CASE WHEN ",
            $email,
            "::boolean THEN c.email END AS email,
                 CASE WHEN cardinality(",
            $custom,
            "::text[]) = 0 THEN '{}'::json
                     ELSE (SELECT COALESCE(json_object_agg(f.key, f.value), '{}'::json)
                           FROM json_each(c.custom) f WHERE f.key = ANY(",
            $custom,
            "::text[])) END AS custom,
                 c.created_at, c.updated_at,
                 COALESCE((SELECT true FROM opt_out o WHERE o.account_id = c.account_id
                           AND o.phone = c.phone), false) AS opted_out
             FROM contact c "
        )
    };
}
pub(crate) use select_named_contacts;

/// The parameters of `select_named_contacts!`.
pub(crate) struct NamedContacts {
    pub(crate) first_name: bool,
    pub(crate) last_name: bool,
    pub(crate) email: bool,
    pub(crate) custom: Vec<String>,
}

impl NamedContacts {
    pub(crate) fn of(fields: &ContactFields) -> Self {
        let ContactFields { details, custom } = fields;
        Self {
            first_name: details.contains(&Detail::FirstName),
            last_name: details.contains(&Detail::LastName),
            email: details.contains(&Detail::Email),
            custom: custom.iter().cloned().collect(),
        }
    }
}

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

/// Locks an account's address book. It is locked before any account, because imports hold it for
/// long and sends wait for accounts.
pub(crate) async fn lock(connection: &mut PgConnection, account: AccountId) -> PgResult<()> {
    let lock = sqlx::query(
        "INSERT INTO address_book (account_id, changes) VALUES ($1, 1)
         ON CONFLICT (account_id) DO UPDATE SET changes = address_book.changes + 1",
    );
    lock.bind(uuid(account)).execute(connection).await?;
    Ok(())
}

impl PgStore {
    /// Begins a transaction with the address book of an account locked.
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
        let answer = match write_plan(&mut tx, plan, doing).await {
            Ok(answer) => answer,
            Err(refused) => return Err(give_up(tx, refused).await),
        };
        tx.commit().await.context(doing)?;
        self.caches.empty_books.forget(&account);
        Ok(answer)
    }

    /// Commits a plan, once for its claim.
    pub(crate) async fn change_book_once<P: BookPlan<Answer: Answer + Sync>>(
        &self,
        plan: P,
        claim: Option<&Claim>,
        doing: &'static str,
    ) -> Result<Once<P::Answer>, CommitError<BookRefused>> {
        let account = plan.account();
        let mut tx = self.begin_book(account).await.context(doing)?;
        match write_plan(&mut tx, plan, doing).await {
            Ok(answer) => {
                let once = self.conclude(tx, claim, answer).await.context(doing)?;
                self.caches.empty_books.forget(&account);
                Ok(once)
            }
            Err(refused) => {
                let refused = give_up(tx, refused).await;
                self.refused(claim, refused).await
            }
        }
    }

    /// The account's contacts with these ids or numbers.
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

/// Writes a plan, whose address book is locked.
async fn write_plan<P: BookPlan>(
    connection: &mut PgConnection,
    plan: P,
    doing: &'static str,
) -> Result<P::Answer, CommitError<BookRefused>> {
    let account = plan.account();
    let facts = read_facts(connection, account, &plan.asks()).await.context(doing)?;
    let (change, answer) = plan.settle(&facts).map_err(CommitError::Refused)?;
    drop((plan, facts));
    write(connection, account, change).await.context(doing)?;
    Ok(answer)
}

pub(crate) async fn read_contacts(
    connection: &mut PgConnection,
    account: AccountId,
    ids: &[ContactId],
    phones: &[E164],
) -> PgResult<Vec<Contact>> {
    // Each is looked up by itself. With an array or a join, the planner may read all contacts of
    // the account and search the array for each. A contact that both find is read once.
    let query = rows_query!(
        [uuid(account)]
        "SELECT " contact_columns!() ", c.opted_out FROM (
             SELECT id FROM " rows(id in ids) as wanted {
                id: uuid = uuid(*id),
             } "
             UNION
             SELECT found.id FROM " rows(phone in phones) as wanted {
                phone: bigint = digits(*phone),
             } "
             CROSS JOIN LATERAL (
                 SELECT id FROM contact WHERE account_id = $1 AND phone = wanted.phone LIMIT 1
             ) AS found) AS wanted
         CROSS JOIN LATERAL (" select_contacts!() "
             WHERE c.account_id = $1 AND c.id = wanted.id LIMIT 1) AS c"
    );
    let rows = query.fetch_all(connection).await?;
    contacts(&rows)
}

pub(crate) async fn read_facts(
    connection: &mut PgConnection,
    account: AccountId,
    question: &BookQuestion,
) -> PgResult<BookFacts> {
    let BookQuestion { phones, ids, list, names_in_use } = question;
    let contacts = read_contacts(connection, account, ids, phones).await?;
    let mut opted_out = BTreeSet::new();
    if !phones.is_empty() {
        opted_out = opt_out::among(connection, account, phones).await?;
    }
    let members = match list {
        Some(list) => read_members(&mut *connection, account, *list, &contacts).await?,
        None => None,
    };
    let names_in_use = match names_in_use {
        true => read_names(connection, account).await?,
        false => NamesInUse::default(),
    };
    Ok(BookFacts { contacts, opted_out, members, names_in_use })
}

/// The custom names in use. There are few of them, see
/// [`MAX_NAMES`](sms_core::contact::custom::MAX_NAMES).
async fn read_names(connection: &mut PgConnection, account: AccountId) -> PgResult<NamesInUse> {
    let rows = sqlx::query("SELECT name, uses FROM custom_name WHERE account_id = $1")
        .bind(uuid(account))
        .fetch_all(connection)
        .await?;
    let read = |row: &PgRow| Ok((row.try_get("name")?, row.try_get("uses")?));
    Ok(NamesInUse::new(rows.iter().map(read).collect::<PgResult<Vec<_>>>()?))
}

/// Those of the contacts that are on a list, or `None` if there is no list with this id.
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
    let query = rows_query!(
        [uuid(account), uuid(list)]
        "SELECT found.contact_id FROM " rows(contact in contacts) as wanted {
            id: uuid = uuid(contact.id),
         } "
         CROSS JOIN LATERAL (
             SELECT contact_id FROM contact_list_member
             WHERE account_id = $1 AND list_id = $2 AND contact_id = wanted.id LIMIT 1) AS found"
    );
    let rows = query.fetch_all(connection).await?;
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
             DELETE FROM contact_list_member
             WHERE account_id = $1 AND contact_id = ANY($2) AND contact_id <> list_id
             RETURNING list_id)
         UPDATE contact_list l SET contact_count = l.contact_count - gone.contacts
         FROM (SELECT list_id, count(*) AS contacts FROM members GROUP BY list_id) AS gone
         CROSS JOIN LATERAL (
             SELECT ctid AS place FROM contact_list
             WHERE account_id = $1 AND id = gone.list_id LIMIT 1) AS old
         WHERE l.ctid = old.place",
    )
    .bind(uuid(account))
    .bind(uuids(removed.iter().copied()));
    remove.execute(connection).await?;
    Ok(())
}

/// A statement about contacts of the account `$1`. Their columns stand between two pieces of SQL.
macro_rules! contacts_query {
    ($account:expr, $before:literal, $contacts:expr, $after:literal) => {
        rows_query!(
            [uuid($account)]
            $before rows(contact in $contacts) as new {
                id: uuid = uuid(contact.id),
                phone: bigint = digits(contact.phone),
                first_name: text = contact.details.first_name.as_deref(),
                last_name: text = contact.details.last_name.as_deref(),
                email: text = contact.details.email.as_deref(),
                notes: text = contact.details.notes.as_deref(),
                custom: text = custom_json(contact),
                searched: text = contact.searched(),
                at: timestamptz = time(contact.updated_at),
            } $after
        )
    };
}
fn custom_json(contact: &Contact) -> String {
    // Strings, numbers and booleans under names always have a JSON form.
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
    let insert = contacts_query!(
        account,
        "INSERT INTO contact (account_id, id, phone, first_name, last_name, email, notes, custom,
             searched, created_at, updated_at)
         SELECT $1, id, phone, first_name, last_name, email, notes, custom::json, searched, at, at
         FROM ",
        created,
        ""
    );
    insert.execute(connection).await?;
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
    let update = contacts_query!(
        account,
        "UPDATE contact c
         SET phone = new.phone, first_name = new.first_name, last_name = new.last_name,
             email = new.email, notes = new.notes, custom = new.custom::json,
             searched = new.searched, updated_at = new.at
         FROM ",
        updated,
        " CROSS JOIN LATERAL (
             SELECT ctid AS place FROM contact
             WHERE account_id = $1 AND id = new.id LIMIT 1) AS old
         WHERE c.ctid = old.place"
    );
    update.execute(connection).await?;
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
    let join = rows_query!(
        [uuid(account), uuid(list)]
        "WITH joined AS (
             INSERT INTO contact_list_member (account_id, list_id, contact_id)
             SELECT $1, $2, id FROM " rows(id in contacts) as new {
                id: uuid = uuid(*id),
             } " RETURNING contact_id)
         UPDATE contact_list SET contact_count = contact_count + (SELECT count(*) FROM joined)
         WHERE account_id = $1 AND id = $2"
    );
    join.execute(connection).await?;
    Ok(())
}

/// Removes a contact from a list. Returns false if it was not on the list.
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

/// Updates how many contacts use each custom name. Deletes names that no contact uses any more.
async fn count(
    connection: &mut PgConnection,
    account: AccountId,
    uses: &FieldUses,
) -> PgResult<()> {
    let (more, fewer): (Vec<_>, Vec<_>) = uses.changes().partition(|(_, by)| *by > 0);
    if !more.is_empty() {
        let insert = rows_query!(
            [uuid(account)]
            "INSERT INTO custom_name AS c (account_id, name, uses)
             SELECT $1, name, by FROM " rows((name, by) in &more) as new {
                name: text = *name,
                by: bigint = *by,
             } "
             ON CONFLICT (account_id, name) DO UPDATE SET uses = c.uses + EXCLUDED.uses"
        );
        insert.execute(&mut *connection).await?;
    }
    if fewer.is_empty() {
        return Ok(());
    }
    let update = rows_query!(
        [uuid(account)]
        "UPDATE custom_name c SET uses = c.uses + new.by
         FROM " rows((name, by) in &fewer) as new {
            name: text = *name,
            by: bigint = *by,
         } "
         WHERE c.account_id = $1 AND c.name = new.name"
    );
    update.execute(&mut *connection).await?;
    let forget = sqlx::query(
        "DELETE FROM custom_name WHERE account_id = $1 AND name = ANY($2) AND uses = 0",
    )
    .bind(uuid(account))
    .bind(fewer.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    forget.execute(connection).await?;
    Ok(())
}
