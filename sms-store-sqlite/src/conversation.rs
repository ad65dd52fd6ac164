//! Conversations.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::contact::Contact;
use sms_core::contact::filter::ContactSearch;
use sms_core::conversation::store::{ConversationStore, ReadsConversations};
use sms_core::conversation::{Conversation, ConversationFilter, KnownAs, ReadState};
use sms_core::ids::{AccountId, MessageId};
use sms_core::page::{LOOKED_AT, Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::address_book::of_account;
use crate::db::Db;
use crate::error::SqlResult;
use crate::page::raw_before;
use crate::row::{Cols, digits, id, size, time, whole};
use crate::stretch;

/// How many conversations a filter reads at a time.
const WALK: usize = 500;

#[async_trait]
impl ReadsConversations for SqliteStore {
    async fn conversation_list(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, StoreError> {
        let filter = filter.clone();
        let rows = self.read("listing conversations", move |db| {
            of_account(db, account, |no| list(db, no, &filter, page))
        });
        let (rows, end) = rows.await?;
        Ok(Page::of_search(rows, page.limit, end, |one: &Conversation| one.last_message.id))
    }

    async fn unread_total(&self, account: AccountId) -> Result<u64, StoreError> {
        self.look("reading the number of unread messages", move |db| {
            let query = "SELECT unread FROM account WHERE id = ?1";
            Ok(db.one(query, [id(account)], |c| c.whole())?.unwrap_or(0))
        })
        .await
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        self.write("marking a conversation as read", move |db| {
            of_account(db, account, |no| read(db, no, number, at))
        })
        .await
    }
}

/// Where a conversation stands.
struct Place {
    number: E164,
    last: MessageId,
    unread: u64,
}

/// Conversations, and the newest message of the last one that a search looked at if it ended early.
type Found = (Vec<Conversation>, Option<MessageId>);

fn list(db: &Db, account: i64, filter: &ConversationFilter, page: PageRequest) -> SqlResult<Found> {
    let most = page.limit.get() + 1;
    let limit = if filter.looks_through() { WALK } else { most };
    let mut before = raw_before(page);
    let (mut found, mut looked_at) = (Vec::new(), 0);
    loop {
        let places = match filter.search {
            Some(ContactSearch::Number(number)) => place_of(db, account, number, before)?,
            _ => places(db, account, filter, before, limit)?,
        };
        looked_at += places.len();
        let is_last = places.len() < limit;
        for Place { number, last, unread } in places {
            before = last.as_u128();
            let contact: Option<Contact> = db.contact_of(account, number)?;
            if !filter.accepts(number, contact.as_ref(), unread) {
                continue;
            }
            let Some(last_message) = db.message(last)? else { continue };
            let contact = contact.as_ref().map(KnownAs::from);
            found.push(Conversation { number, contact, unread, last_message });
            if found.len() == most {
                return Ok((found, None));
            }
        }
        if is_last {
            return Ok((found, None));
        }
        if looked_at >= LOOKED_AT {
            return Ok((found, Some(MessageId::from_u128(before))));
        }
    }
}

/// The conversation with this number, if its newest message is older than `before`.
fn place_of(db: &Db, account: i64, number: E164, before: u128) -> SqlResult<Vec<Place>> {
    let query = "SELECT number, last_id, unread FROM conversation
         WHERE account = ?1 AND number = ?2 AND last_id < ?3";
    db.all(query, params![account, digits(number), before.to_be_bytes()], place)
}

fn place(c: &mut Cols<'_>) -> SqlResult<Place> {
    Ok(Place { number: c.number()?, last: c.id()?, unread: c.whole()? })
}

fn places(
    db: &Db,
    account: i64,
    filter: &ConversationFilter,
    before: u128,
    limit: usize,
) -> SqlResult<Vec<Place>> {
    let query = match filter.state {
        Some(ReadState::Unread) => {
            "SELECT number, last_id, unread FROM conversation INDEXED BY conversation_unread
             WHERE account = ?1 AND last_id < ?2 AND unread > 0 ORDER BY last_id DESC LIMIT ?3"
        }
        Some(ReadState::Read) | None => {
            "SELECT number, last_id, unread FROM conversation INDEXED BY conversation_by_activity
             WHERE account = ?1 AND last_id < ?2 ORDER BY last_id DESC LIMIT ?3"
        }
    };
    db.all(query, params![account, before.to_be_bytes(), size(limit)], place)
}

fn read(db: &Db, account: i64, number: E164, at: Timestamp) -> SqlResult<Option<u64>> {
    let unread = db.one(
        "SELECT unread FROM conversation WHERE account = ?1 AND number = ?2",
        [account, digits(number)],
        |c| c.whole(),
    )?;
    let Some(unread) = unread else { return Ok(None) };
    if unread == 0 {
        return Ok(Some(0));
    }
    db.run(
        "UPDATE conversation SET unread = 0 WHERE account = ?1 AND number = ?2",
        [account, digits(number)],
    )?;
    db.run("UPDATE account SET unread = unread - ?2 WHERE no = ?1", [account, whole(unread)])?;
    for message in stretch::unread_of(db, account, number, unread)? {
        db.run("UPDATE message SET read_at = ?2 WHERE id = ?1", params![id(message), time(at)])?;
    }
    Ok(Some(unread))
}

impl Db {
    /// Begins the conversation with a number that a message came in from, or moves it.
    pub(crate) fn receive(&self, account: i64, number: E164, message: MessageId) -> SqlResult<()> {
        let is_known = self.has(
            "SELECT 1 FROM conversation WHERE account = ?1 AND number = ?2",
            [account, digits(number)],
        )?;
        // A known conversation has followed every message; a new one may have older ones, and a
        // newer one that was sent meanwhile.
        let newest = if is_known { Some(message) } else { self.newest_of(account, number)? };
        let newest = newest.unwrap_or(message).max(message);
        self.run(
            "INSERT INTO conversation (account, number, last_id, unread) VALUES (?1, ?2, ?3, 1)
             ON CONFLICT DO UPDATE SET last_id = max(last_id, ?3), unread = unread + 1",
            params![account, digits(number), id(newest)],
        )?;
        self.run("UPDATE account SET unread = unread + 1 WHERE no = ?1", [account])?;
        Ok(())
    }

    /// The times of the latest automatic replies to a number.
    pub(crate) fn replied(&self, account: i64, number: E164) -> SqlResult<Vec<Timestamp>> {
        let found = self.one(
            "SELECT replied FROM conversation WHERE account = ?1 AND number = ?2",
            [account, digits(number)],
            |c| c.map(|text: String| serde_json::from_str::<Vec<i64>>(&text).ok()),
        )?;
        Ok(found.unwrap_or_default().into_iter().map(Timestamp::from_millis).collect())
    }

    pub(crate) fn set_replied(
        &self,
        account: i64,
        number: E164,
        replied: &[Timestamp],
    ) -> SqlResult<()> {
        let times: Vec<i64> = replied.iter().map(|at| time(*at)).collect();
        self.run(
            "UPDATE conversation SET replied = ?3 WHERE account = ?1 AND number = ?2",
            params![account, digits(number), serde_json::to_string(&times).unwrap_or_default()],
        )?;
        Ok(())
    }
}
