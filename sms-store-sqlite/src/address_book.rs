//! Contacts and lists as rows, and changes of an address book.

use std::collections::BTreeSet;

use rusqlite::params;
use sms_core::contact::book::{BookChange, BookFacts, BookPlan, BookQuestion, BookRefused};
use sms_core::contact::custom::NamesInUse;
use sms_core::contact::{Contact, ContactFields, Details};
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::list::ContactList;
use sms_core::phone::E164;
use sms_core::version::{Changed, IfVersion, Versioned};

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, digits, id, size, time, whole};

/// The columns that [`contact`] reads, of a contact with the alias `c`.
macro_rules! contact_columns {
    () => {
        "c.id, c.account, c.phone, c.first_name, c.last_name, c.email, c.notes, c.custom, \
         EXISTS (SELECT 1 FROM opt_out o WHERE o.account = c.account AND o.phone = c.phone), \
         c.created_at, c.updated_at"
    };
}
pub(crate) use contact_columns;

pub(crate) fn contact(db: &Db, c: &mut Cols<'_>) -> SqlResult<Contact> {
    Ok(Contact {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        phone: c.number()?,
        details: Details {
            first_name: c.get()?,
            last_name: c.get()?,
            email: c.get()?,
            notes: c.get()?,
            custom: c.map(|text: String| serde_json::from_str(&text).ok())?,
        },
        opted_out: c.yes()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}

impl Db {
    pub(crate) fn contact(&self, account: i64, of: ContactId) -> SqlResult<Option<Contact>> {
        self.one(
            concat!(
                "SELECT ",
                contact_columns!(),
                " FROM contact c WHERE c.account = ?1 AND c.id = ?2"
            ),
            params![account, id(of)],
            |c| contact(self, c),
        )
    }

    /// The contact that has this number.
    pub(crate) fn contact_of(&self, account: i64, phone: E164) -> SqlResult<Option<Contact>> {
        self.one(
            concat!(
                "SELECT ",
                contact_columns!(),
                " FROM contact c WHERE c.account = ?1 AND c.phone = ?2"
            ),
            [account, digits(phone)],
            |c| contact(self, c),
        )
    }

    /// Up to `limit` contacts of a list with ids above `after`, oldest first, with these details
    /// only.
    pub(crate) fn on_list_after(
        &self,
        account: i64,
        list: ListId,
        after: Option<ContactId>,
        limit: usize,
        fields: &ContactFields,
    ) -> SqlResult<Vec<Contact>> {
        if !self.has_list(account, list)? {
            return Ok(Vec::new());
        }
        let query = concat!(
            "SELECT ",
            contact_columns!(),
            " FROM list_member m CROSS JOIN contact c ON c.account = ?1 AND c.id = m.contact_id
             WHERE m.list_id = ?2 AND m.contact_id > ?3 ORDER BY m.contact_id LIMIT ?4"
        );
        let after = after.map_or([0; 16], id);
        self.all(query, params![account, id(list), after, size(limit)], |c| {
            Ok(fields.of(&contact(self, c)?))
        })
    }

    pub(crate) fn has_list(&self, account: i64, list: ListId) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM contact_list WHERE account = ?1 AND id = ?2",
            params![account, id(list)],
        )
    }

    /// How many contacts a list has; `None` if the account has no such list.
    pub(crate) fn list_size(&self, account: AccountId, list: ListId) -> SqlResult<Option<u64>> {
        let Some(no) = self.account_no(account)? else { return Ok(None) };
        self.one(
            "SELECT contact_count FROM contact_list WHERE account = ?1 AND id = ?2",
            params![no, id(list)],
            |c| c.whole(),
        )
    }

    pub(crate) fn list(&self, account: i64, of: ListId) -> SqlResult<Option<ContactList>> {
        self.one(
            "SELECT id, account, name, description, contact_count, created_at, updated_at
             FROM contact_list WHERE account = ?1 AND id = ?2",
            params![account, id(of)],
            |c| list(self, c),
        )
    }

    /// The lists of a contact, newest first. Members of deleted lists may still have rows.
    pub(crate) fn lists_of(&self, account: i64, of: ContactId) -> SqlResult<Vec<ListId>> {
        self.all(
            "SELECT m.list_id FROM list_member m INDEXED BY list_member_by_contact
             JOIN contact_list l ON l.account = ?1 AND l.id = m.list_id
             WHERE m.contact_id = ?2 ORDER BY m.list_id DESC",
            params![account, id(of)],
            |c| c.id(),
        )
    }

    fn is_member(&self, list: ListId, of: ContactId) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM list_member WHERE list_id = ?1 AND contact_id = ?2",
            [id(list), id(of)],
        )
    }

    pub(crate) fn has_custom_name(&self, account: i64, name: &str) -> SqlResult<bool> {
        self.has(
            "SELECT 1 FROM custom_name WHERE account = ?1 AND name = ?2",
            params![account, name],
        )
    }

    pub(crate) fn book_facts(&self, account: i64, question: &BookQuestion) -> SqlResult<BookFacts> {
        let BookQuestion { phones, ids, list, names_in_use } = question;
        let mut facts = BookFacts::default();
        let mut found = BTreeSet::new();
        for of in ids {
            if let Some(contact) = self.contact(account, *of)?
                && found.insert(contact.id)
            {
                facts.contacts.push(contact);
            }
        }
        for phone in phones {
            if let Some(contact) = self.contact_of(account, *phone)?
                && found.insert(contact.id)
            {
                facts.contacts.push(contact);
            }
            if self.is_opted_out(account, *phone)? {
                facts.opted_out.insert(*phone);
            }
        }
        facts.contacts.sort_unstable_by_key(|contact| contact.id);
        if *names_in_use {
            let query = "SELECT name, uses FROM custom_name WHERE account = ?1";
            let names = self.all(query, [account], |c| Ok((c.get()?, c.get()?)))?;
            facts.names_in_use = NamesInUse::new(names);
        }
        if let Some(list) = list
            && self.has_list(account, *list)?
        {
            let mut members = BTreeSet::new();
            for of in found.iter().chain(ids) {
                if self.is_member(*list, *of)? {
                    members.insert(*of);
                }
            }
            facts.members = Some(members);
        }
        Ok(facts)
    }

    /// Settles a plan and writes its change. A refusal writes nothing.
    pub(crate) fn change_book<P: BookPlan>(
        &self,
        plan: &P,
    ) -> SqlResult<Result<P::Answer, BookRefused>> {
        let no = self.known_account(plan.account())?;
        let facts = self.book_facts(no, &plan.asks())?;
        match plan.settle(&facts) {
            Ok((change, answer)) => {
                self.write_book(no, change)?;
                Ok(Ok(answer))
            }
            Err(refused) => Ok(Err(refused)),
        }
    }

    pub(crate) fn write_book(&self, account: i64, change: BookChange) -> SqlResult<()> {
        let BookChange { removed, updated, created, joined, uses } = change;
        for of in removed {
            for list in self.lists_of(account, of)? {
                self.leave(account, list, of)?;
            }
            let delete = "DELETE FROM contact WHERE account = ?1 AND id = ?2";
            self.run(delete, params![account, id(of)])?;
        }
        // Two contacts may exchange their numbers: first all rows go, then all come.
        for contact in &updated {
            let delete = "DELETE FROM contact WHERE account = ?1 AND id = ?2";
            self.run(delete, params![account, id(contact.id)])?;
        }
        for contact in updated.iter().chain(&created) {
            insert(self, account, contact)?;
        }
        if let Some((list, contacts)) = joined {
            let mut count = 0;
            for contact in contacts {
                count += self.run(
                    "INSERT OR IGNORE INTO list_member (list_id, contact_id) VALUES (?1, ?2)",
                    [id(list), id(contact)],
                )?;
            }
            self.run(
                "UPDATE contact_list SET contact_count = contact_count + ?3
                 WHERE account = ?1 AND id = ?2",
                params![account, id(list), size(count)],
            )?;
        }
        for (name, by) in uses.changes() {
            count_uses(self, account, name, by)?;
        }
        Ok(())
    }

    /// Removes a contact from a list. Returns false if it was not on the list.
    pub(crate) fn leave(&self, account: i64, list: ListId, of: ContactId) -> SqlResult<bool> {
        if !self.has_list(account, list)? {
            return Ok(false);
        }
        let delete = "DELETE FROM list_member WHERE list_id = ?1 AND contact_id = ?2";
        let was_there = self.run(delete, [id(list), id(of)])? == 1;
        if was_there {
            self.run(
                "UPDATE contact_list SET contact_count = contact_count - 1
                 WHERE account = ?1 AND id = ?2",
                params![account, id(list)],
            )?;
        }
        Ok(was_there)
    }

    /// Writes a list, new or not.
    pub(crate) fn put_list(&self, list: &ContactList) -> SqlResult<()> {
        let ContactList {
            id: of,
            account,
            name,
            description,
            contact_count,
            created_at,
            updated_at,
        } = list;
        self.run(
            "INSERT OR REPLACE INTO contact_list (account, id, name, description, contact_count,
                 created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                self.known_account(*account)?,
                id(*of),
                name,
                description,
                whole(*contact_count),
                time(*created_at),
                time(*updated_at)
            ],
        )?;
        Ok(())
    }
}

fn insert(db: &Db, account: i64, contact: &Contact) -> SqlResult<()> {
    let Contact { id: of, account: _, phone, details, opted_out: _, created_at, updated_at } =
        contact;
    let Details { first_name, last_name, email, notes, custom } = details;
    db.run(
        "INSERT INTO contact (account, id, phone, first_name, last_name, email, notes, custom,
             created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            account,
            id(*of),
            digits(*phone),
            first_name,
            last_name,
            email,
            notes,
            serde_json::to_string(custom).unwrap_or_default(),
            time(*created_at),
            time(*updated_at)
        ],
    )?;
    Ok(())
}

fn count_uses(db: &Db, account: i64, name: &str, by: i64) -> SqlResult<()> {
    let find = "SELECT uses FROM custom_name WHERE account = ?1 AND name = ?2";
    let before = db.one(find, params![account, name], |c| c.get::<i64>())?.unwrap_or(0);
    if before + by > 0 {
        db.run(
            "INSERT OR REPLACE INTO custom_name (account, name, uses) VALUES (?1, ?2, ?3)",
            params![account, name, before + by],
        )?;
    } else {
        let delete = "DELETE FROM custom_name WHERE account = ?1 AND name = ?2";
        db.run(delete, params![account, name])?;
    }
    Ok(())
}

pub(crate) fn list(db: &Db, c: &mut Cols<'_>) -> SqlResult<ContactList> {
    Ok(ContactList {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        name: c.get()?,
        description: c.get()?,
        contact_count: c.whole()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    })
}

/// What reads of an account that does not exist find.
pub(crate) fn of_account<T: Default>(
    db: &Db,
    account: AccountId,
    read: impl FnOnce(i64) -> SqlResult<T>,
) -> SqlResult<T> {
    match db.account_no(account)? {
        Some(no) => read(no),
        None => Ok(T::default()),
    }
}

impl Db {
    /// Checks what is about to be removed, which is read only if a version of it is asked for. What
    /// does not exist passes.
    pub(crate) fn check_removal<T: Versioned>(
        &self,
        if_version: &IfVersion,
        read: impl FnOnce(&Self) -> SqlResult<Option<T>>,
    ) -> SqlResult<Result<(), Changed>> {
        if if_version.is_any() {
            return Ok(Ok(()));
        }
        Ok(read(self)?.map_or(Ok(()), |found| if_version.check(&found)))
    }
}
