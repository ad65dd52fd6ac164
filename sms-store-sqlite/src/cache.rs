//! Caches of values that requests read often and that rarely change.
//!
//! A look-up in the file takes a transaction, and each commit of the writer makes the readers'
//! pages stale. Triggers on the writer's connection note which rows a command changes, so no
//! command has to say it. Their entries are dropped after the commit and before its answers. No
//! verdict depends on a cached value.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use sms_core::account::Settings;
use sms_core::account::api_key::{KeyHash, KeyRecord};
use sms_core::for_stores::cache::Cache;
use sms_core::ids::AccountId;
use sms_core::number::Number;
use sms_core::sender_name::SenderName;

use crate::error::SqlResult;

/// The values that requests read.
#[derive(Default)]
pub(crate) struct Caches {
    pub(crate) keys: Cache<KeyHash, KeyRecord>,
    pub(crate) settings: Cache<AccountId, Settings>,
    pub(crate) numbers: Cache<AccountId, Vec<Number>>,
    pub(crate) sender_names: Cache<AccountId, Vec<SenderName>>,
    /// Whether an account has no contacts.
    pub(crate) empty_books: Cache<AccountId, bool>,
    changed: Mutex<Changed>,
}

/// What commands changed since entries were last dropped.
#[derive(Default)]
struct Changed {
    keys: Vec<KeyHash>,
    settings: Vec<AccountId>,
    numbers: bool,
    sender_names: bool,
    books: bool,
}

impl Caches {
    /// Has the writer's connection note which of the cached rows it changes.
    pub(crate) fn watch(self: &Arc<Self>, writer: &Connection) -> SqlResult<()> {
        self.note_with(writer, "key_changed", |changed, key| {
            changed.keys.push(KeyHash::from_bytes(key.get(0)?));
            Ok(())
        })?;
        self.note_with(writer, "settings_changed", |changed, account| {
            let id = u128::from_be_bytes(account.get(0)?);
            changed.settings.push(AccountId::from_u128(id));
            Ok(())
        })?;
        self.note_with(writer, "number_changed", |changed, _| {
            changed.numbers = true;
            Ok(())
        })?;
        self.note_with(writer, "sender_name_changed", |changed, _| {
            changed.sender_names = true;
            Ok(())
        })?;
        self.note_with(writer, "book_changed", |changed, _| {
            changed.books = true;
            Ok(())
        })?;
        writer.execute_batch(
            "CREATE TEMP TRIGGER key_updated AFTER UPDATE ON main.api_key
                 BEGIN SELECT key_changed(new.hash); END;
             CREATE TEMP TRIGGER key_deleted AFTER DELETE ON main.api_key
                 BEGIN SELECT key_changed(old.hash); END;
             CREATE TEMP TRIGGER settings_updated AFTER UPDATE OF
                 quiet_start, quiet_end, track_links, opt_out_line, opt_out_line_sender
                 ON main.account BEGIN SELECT settings_changed(new.id); END;
             CREATE TEMP TRIGGER number_inserted AFTER INSERT ON main.number
                 BEGIN SELECT number_changed(new.id); END;
             CREATE TEMP TRIGGER number_updated AFTER UPDATE ON main.number
                 BEGIN SELECT number_changed(new.id); END;
             CREATE TEMP TRIGGER number_deleted AFTER DELETE ON main.number
                 BEGIN SELECT number_changed(old.id); END;
             CREATE TEMP TRIGGER sender_name_inserted AFTER INSERT ON main.sender_name
                 BEGIN SELECT sender_name_changed(new.id); END;
             CREATE TEMP TRIGGER sender_name_updated AFTER UPDATE ON main.sender_name
                 BEGIN SELECT sender_name_changed(new.id); END;
             CREATE TEMP TRIGGER sender_name_deleted AFTER DELETE ON main.sender_name
                 BEGIN SELECT sender_name_changed(old.id); END;
             CREATE TEMP TRIGGER contact_inserted AFTER INSERT ON main.contact
                 BEGIN SELECT book_changed(new.id); END;
             CREATE TEMP TRIGGER contact_deleted AFTER DELETE ON main.contact
                 BEGIN SELECT book_changed(old.id); END;",
        )
    }

    /// Defines a function for triggers, with the key of the row that was changed.
    fn note_with(
        self: &Arc<Self>,
        writer: &Connection,
        name: &str,
        note: fn(&mut Changed, &Context<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let own = Arc::clone(self);
        writer.create_scalar_function(name, 1, FunctionFlags::SQLITE_UTF8, move |key| {
            note(&mut own.changed.lock().unwrap_or_else(PoisonError::into_inner), key)?;
            Ok(Option::<i64>::None)
        })
    }

    /// Drops the entries of what was changed. Rows of a transaction that was rolled back may be
    /// among them.
    pub(crate) fn forget_changed(&self) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let Changed { keys, settings, numbers, sender_names, books } =
            std::mem::take(&mut *changed);
        drop(changed);
        for key in &keys {
            self.keys.forget(key);
        }
        for account in &settings {
            self.settings.forget(account);
        }
        if numbers {
            self.numbers.forget_where(|_| true);
        }
        if sender_names {
            self.sender_names.forget_where(|_| true);
        }
        if books {
            self.empty_books.forget_where(|_| true);
        }
    }
}
