//! Lists of contacts.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::contact::book::BookRefused;
use sms_core::contact::{Contact, ContactFields};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::join::{JoinPlan, Joined};
use sms_core::list::store::{ListStore, ReadsLists};
use sms_core::list::{ContactList, ListChange};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sms_core::version::{Changed, IfVersion};

use crate::SqliteStore;
use crate::address_book::{list, of_account};
use crate::page::{before, limit_of};
use crate::row::id;

#[async_trait]
impl ReadsLists for SqliteStore {
    async fn list_get(
        &self,
        account: AccountId,
        of: ListId,
    ) -> Result<Option<ContactList>, StoreError> {
        self.look("reading a list", move |db| of_account(db, account, |no| db.list(no, of))).await
    }

    async fn list_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<ContactList>, StoreError> {
        let rows = self.read("listing lists", move |db| {
            of_account(db, account, |no| {
                db.all(
                    "SELECT id, account, name, description, contact_count, created_at, updated_at
                     FROM contact_list WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
                    params![no, before(page), limit_of(page)],
                    |c| list(db, c),
                )
            })
        });
        Ok(Page::of(rows.await?, page.limit, |list: &ContactList| list.id))
    }

    async fn list_portion(
        &self,
        account: AccountId,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
        fields: &ContactFields,
    ) -> Result<Vec<Contact>, StoreError> {
        let fields = fields.clone();
        self.read("reading a list", move |db| {
            of_account(db, account, |no| db.on_list_after(no, list, after, limit, &fields))
        })
        .await
    }
}

#[async_trait]
impl ListStore for SqliteStore {
    async fn list_create(
        &self,
        list: ContactList,
        claim: Option<&Claim>,
    ) -> Result<Once<ContactList>, StoreError> {
        self.once("creating a list", claim, move |db| {
            db.put_list(&list)?;
            Ok(Ok(list.clone()))
        })
        .await
    }

    async fn list_update(
        &self,
        account: AccountId,
        of: ListId,
        change: ListChange,
        at: Timestamp,
    ) -> Result<Option<ContactList>, CommitError<Changed>> {
        self.decide("changing a list", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Ok(None)) };
            let Some(before) = db.list(no, of)? else { return Ok(Ok(None)) };
            match change.clone().apply(before, at) {
                Ok(after) => db.put_list(&after).map(|()| Ok(Some(after))),
                Err(changed) => Ok(Err(CommitError::Refused(changed))),
            }
        })
        .await
    }

    async fn list_delete(
        &self,
        account: AccountId,
        of: ListId,
        if_version: IfVersion,
    ) -> Result<bool, CommitError<Changed>> {
        self.decide("deleting a list", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Ok(false)) };
            if let Err(changed) = db.check_removal(&if_version, |db| db.list(no, of))? {
                return Ok(Err(CommitError::Refused(changed)));
            }
            let delete = "DELETE FROM contact_list WHERE account = ?1 AND id = ?2";
            if db.run(delete, params![no, id(of)])? == 0 {
                return Ok(Ok(false));
            }
            // Its members are removed in portions; without its row nobody sees them.
            db.note_gone(id(of))?;
            db.run(
                "UPDATE keyword SET list_id = NULL WHERE account = ?1 AND list_id = ?2",
                params![no, id(of)],
            )?;
            Ok(Ok(true))
        })
        .await
    }

    async fn list_join(&self, plan: JoinPlan) -> Result<Joined, CommitError<BookRefused>> {
        self.decide("joining a list", move |db| {
            Ok(db.change_book(&plan)?.map_err(CommitError::Refused))
        })
        .await
    }

    async fn list_leave(
        &self,
        account: AccountId,
        list: ListId,
        contact: ContactId,
    ) -> Result<bool, StoreError> {
        self.write("leaving a list", move |db| {
            of_account(db, account, |no| db.leave(no, list, contact))
        })
        .await
    }
}
