//! Contacts.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rusqlite::params;
use sms_core::contact::book::{BookRefused, CreatePlan, RemovePlan, UpdatePlan};
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::import::{ImportPlan, Imported};
use sms_core::contact::store::{ContactStore, ContactsWanted, CustomNamesWanted, ReadsContacts};
use sms_core::contact::{Contact, ContactFilter};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::page::{LOOKED_AT, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::{CommitError, StoreError};

use crate::SqliteStore;
use crate::address_book::{contact, contact_columns, of_account};
use crate::db::Db;
use crate::error::SqlResult;
use crate::import;
use crate::page::raw_before;
use crate::row::{id, size};

/// How many contacts a search reads at a time.
const WALK: usize = 1_000;

#[async_trait]
impl ReadsContacts for SqliteStore {
    async fn contact_get(
        &self,
        account: AccountId,
        of: ContactId,
    ) -> Result<Option<(Contact, Vec<ListId>)>, StoreError> {
        self.look("reading a contact", move |db| {
            of_account(db, account, |no| {
                let Some(contact) = db.contact(no, of)? else { return Ok(None) };
                Ok(Some((contact, db.lists_of(no, of)?)))
            })
        })
        .await
    }

    async fn contact_list(
        &self,
        account: AccountId,
        filter: &ContactFilter,
        page: PageRequest,
    ) -> Result<Page<Contact>, StoreError> {
        let filter = filter.clone();
        let rows = self.read("listing contacts", move |db| {
            of_account(db, account, |no| find(db, no, &filter, page))
        });
        let (rows, end) = rows.await?;
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
        let books = &self.caches().empty_books;
        let found = self.look_cached(books, account, "looking for contacts", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(None) };
            let query = "SELECT 1 FROM contact WHERE account = ?1 LIMIT 1";
            db.has(query, [no]).map(|has_contacts| Some(!has_contacts))
        });
        Ok(found.await?.unwrap_or(true))
    }
}

#[async_trait]
impl ContactStore for SqliteStore {
    async fn contact_create(
        &self,
        plan: CreatePlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Contact>, CommitError<BookRefused>> {
        self.once("creating a contact", claim, move |db| db.change_book(&plan)).await
    }

    async fn contact_update(&self, plan: UpdatePlan) -> Result<Contact, CommitError<BookRefused>> {
        self.decide("changing a contact", move |db| {
            Ok(db.change_book(&plan)?.map_err(CommitError::Refused))
        })
        .await
    }

    async fn contact_delete(&self, plan: RemovePlan) -> Result<(), CommitError<BookRefused>> {
        self.decide("deleting a contact", move |db| {
            Ok(db.change_book(&plan)?.map_err(CommitError::Refused))
        })
        .await
    }

    async fn contacts_import(
        &self,
        plan: ImportPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Imported>, CommitError<BookRefused>> {
        import::import(self, plan, claim).await
    }
}

impl SqliteStore {
    async fn contacts_by_id(
        &self,
        account: AccountId,
        ids: &[ContactId],
    ) -> Result<Vec<Contact>, StoreError> {
        let ids: BTreeSet<ContactId> = ids.iter().copied().collect();
        self.read("reading contacts", move |db| {
            of_account(db, account, |no| {
                ids.into_iter().filter_map(|id| db.contact(no, id).transpose()).collect()
            })
        })
        .await
    }

    async fn contacts_by_phone(
        &self,
        account: AccountId,
        phones: &[E164],
    ) -> Result<Vec<Contact>, StoreError> {
        let phones: BTreeSet<E164> = phones.iter().copied().collect();
        self.look("finding contacts", move |db| {
            of_account(db, account, |no| {
                let found = phones.into_iter();
                found.filter_map(|phone| db.contact_of(no, phone).transpose()).collect()
            })
        })
        .await
    }

    async fn all_custom_names(&self, account: AccountId) -> Result<Vec<String>, StoreError> {
        self.read("reading custom names", move |db| {
            of_account(db, account, |no| {
                let query = "SELECT name FROM custom_name WHERE account = ?1 ORDER BY name";
                db.all(query, [no], |c| c.get())
            })
        })
        .await
    }

    async fn custom_names_among(
        &self,
        account: AccountId,
        names: &[String],
    ) -> Result<BTreeSet<String>, StoreError> {
        let names = names.to_vec();
        self.look("looking up custom names", move |db| {
            of_account(db, account, |no| {
                let mut found = BTreeSet::new();
                for name in names {
                    if db.has_custom_name(no, &name)? {
                        found.insert(name);
                    }
                }
                Ok(found)
            })
        })
        .await
    }
}

/// Contacts, and the last one that a search looked at if it ended early.
type Found = (Vec<Contact>, Option<ContactId>);

/// The contacts that the filter accepts, newest first: one more than the page holds.
fn find(db: &Db, account: i64, filter: &ContactFilter, page: PageRequest) -> SqlResult<Found> {
    let ContactFilter { list_id, search } = filter;
    if let Some(list) = list_id
        && !db.has_list(account, *list)?
    {
        return Ok(Found::default());
    }
    let before = raw_before(page);
    let most = page.limit.get() + 1;
    match search {
        None => Ok((newest(db, account, *list_id, before, most)?, None)),
        Some(ContactSearch::Number(number)) => {
            let found = with_number(db, account, *list_id, *number)?;
            let found = found.filter(|contact| contact.id.as_u128() < before);
            Ok((found.into_iter().collect(), None))
        }
        Some(search) => look_through(db, account, *list_id, search, before, most),
    }
}

/// Up to `most` contacts that a search finds among the next that it looks at.
fn look_through(
    db: &Db,
    account: i64,
    list: Option<ListId>,
    search: &ContactSearch,
    mut before: u128,
    most: usize,
) -> SqlResult<Found> {
    let mut found = Vec::new();
    for _ in 0..LOOKED_AT / WALK {
        let rows = newest(db, account, list, before, WALK)?;
        let is_last = rows.len() < WALK;
        if let Some(last) = rows.last() {
            before = last.id.as_u128();
        }
        found.extend(rows.into_iter().filter(|contact| search.finds(contact)));
        if is_last || found.len() >= most {
            found.truncate(most);
            return Ok((found, None));
        }
    }
    Ok((found, Some(ContactId::from_u128(before))))
}

fn with_number(
    db: &Db,
    account: i64,
    list: Option<ListId>,
    number: E164,
) -> SqlResult<Option<Contact>> {
    let Some(found) = db.contact_of(account, number)? else { return Ok(None) };
    let is_member = match list {
        Some(list) => db.has(
            "SELECT 1 FROM list_member WHERE list_id = ?1 AND contact_id = ?2",
            params![id(list), id(found.id)],
        )?,
        None => true,
    };
    Ok(Some(found).filter(|_| is_member))
}

fn newest(
    db: &Db,
    account: i64,
    list: Option<ListId>,
    before: u128,
    limit: usize,
) -> SqlResult<Vec<Contact>> {
    let before = before.to_be_bytes();
    match list {
        Some(list) => db.all(
            concat!(
                "SELECT ",
                contact_columns!(),
                " FROM list_member m CROSS JOIN contact c
                     ON c.account = ?1 AND c.id = m.contact_id
                 WHERE m.list_id = ?2 AND m.contact_id < ?3 ORDER BY m.contact_id DESC LIMIT ?4"
            ),
            params![account, id(list), before, size(limit)],
            |c| contact(db, c),
        ),
        None => db.all(
            concat!(
                "SELECT ",
                contact_columns!(),
                " FROM contact c WHERE c.account = ?1 AND c.id < ?2 ORDER BY c.id DESC LIMIT ?3"
            ),
            params![account, before, size(limit)],
            |c| contact(db, c),
        ),
    }
}
