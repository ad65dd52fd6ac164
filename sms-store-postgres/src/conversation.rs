//! Conversations. The commits that write messages keep them up to date, with the account locked.
//!
//! A conversation is locked before its account's inbox. Marking as read does not lock the account:
//! it locks the conversation and then its inbound messages. No commit locks these before a
//! conversation, so the two cannot deadlock.

use async_trait::async_trait;
use sms_core::contact::filter::ContactSearch;
use sms_core::conversation::store::{ConversationStore, ReadsConversations};
use sms_core::conversation::{Conversation, ConversationFilter, KnownAs, ReadState};
use sms_core::ids::{AccountId, MessageId, MessageKind};
use sms_core::page::{Page, PageRequest};
use sms_core::phone::E164;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Postgres, QueryBuilder, Row};
use uuid::Uuid;

use crate::begin::{begin, give_up};
use crate::error::{Context, PgError, PgResult};
use crate::row::{self, Read, digits, time, uuid};
use crate::{PgStore, looked_at, message_columns};

mod place;

pub(crate) use place::{Moved, receive, replied, set_replied, shift, shift_batch};

#[async_trait]
impl ReadsConversations for PgStore {
    async fn conversation_list(
        &self,
        account: AccountId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>, StoreError> {
        let doing = "listing conversations";
        let end = if filter.looks_through() {
            let ids = ids_looked_at(account, filter.state, page);
            looked_at::end(&self.pool, ids).await.context(doing)?
        } else {
            None
        };
        let mut query = page_query(account, filter, page, end);
        // Planned for each call: which index is best depends on the filter.
        let query = query.build().persistent(false);
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        let rows: PgResult<Vec<Conversation>> = rows.iter().map(conversation).collect();
        let end = end.map(|end| MessageId::from_u128(end.as_u128()));
        let (rows, id_of) = (rows.context(doing)?, |one: &Conversation| one.last_message.id);
        Ok(Page::of_search(rows, page.limit, end, id_of))
    }

    async fn unread_total(&self, account: AccountId) -> Result<u64, StoreError> {
        let doing = "counting unread messages";
        let row = sqlx::query("SELECT unread FROM inbox WHERE account_id = $1")
            .bind(uuid(account))
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        row.as_ref().map_or(Ok(0), unread).context(doing)
    }
}

#[async_trait]
impl ConversationStore for PgStore {
    async fn conversation_read(
        &self,
        account: AccountId,
        number: E164,
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let doing = "marking messages as read";
        let mut tx = begin(&self.pool).await.context(doing)?;
        let row = sqlx::query(
            "SELECT unread FROM conversation WHERE account_id = $1 AND phone = $2
             FOR NO KEY UPDATE",
        )
        .bind(uuid(account))
        .bind(digits(number))
        .fetch_optional(&mut *tx)
        .await
        .context(doing)?;
        let Some(row) = row else { return Ok(give_up(tx, None).await) };
        if unread(&row).context(doing)? == 0 {
            return Ok(give_up(tx, Some(0)).await);
        }
        let marked = mark(&mut tx, account, number, at).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(Some(marked))
    }
}

/// Marks unread messages as read, and subtracts them from the counts. Messages that arrive
/// meanwhile wait for the lock on the conversation.
async fn mark(
    connection: &mut PgConnection,
    account: AccountId,
    number: E164,
    at: Timestamp,
) -> PgResult<u64> {
    let marked = sqlx::query(
        "UPDATE message SET read_at = $3 WHERE account_id = $1 AND contact_number = $2
             AND direction = 'inbound' AND read_at IS NULL",
    )
    .bind(uuid(account))
    .bind(digits(number))
    .bind(time(at))
    .execute(&mut *connection)
    .await?
    .rows_affected();
    sqlx::query(
        "WITH counted AS (
             UPDATE conversation SET unread = unread - $3 WHERE account_id = $1 AND phone = $2
             RETURNING account_id)
         UPDATE inbox SET unread = unread - $3 WHERE account_id = (SELECT account_id FROM counted)",
    )
    .bind(uuid(account))
    .bind(digits(number))
    .bind(i64::try_from(marked).unwrap_or(i64::MAX))
    .execute(connection)
    .await?;
    Ok(marked)
}

/// The newest messages of the conversations that a search looks at, newest first.
fn ids_looked_at(
    account: AccountId,
    state: Option<ReadState>,
    page: PageRequest,
) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT last_message_id FROM conversation");
    query.push(" WHERE account_id = ").push_bind(uuid(account));
    query.push(" AND last_message_id < ").push_bind(before(page));
    if state == Some(ReadState::Unread) {
        query.push(" AND unread > 0");
    }
    query.push(" ORDER BY last_message_id DESC");
    query
}

fn before(page: PageRequest) -> Uuid {
    page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<MessageKind>()))
}

/// Selects the conversations of a page first, then joins what is shown of each. A search looks at
/// none whose newest message is below `end`.
fn page_query(
    account: AccountId,
    filter: &ConversationFilter,
    page: PageRequest,
    end: Option<Uuid>,
) -> QueryBuilder<Postgres> {
    let ConversationFilter { state, search } = filter;
    let mut query = QueryBuilder::new(concat!(
        "SELECT ",
        message_columns!(),
        ", v.phone, v.unread, c.id AS known_id, c.first_name, c.last_name
         FROM (SELECT v.* FROM conversation v"
    ));
    if matches!(search, Some(ContactSearch::Digits { .. } | ContactSearch::Words(_))) {
        query.push(" LEFT JOIN contact k ON k.account_id = v.account_id AND k.phone = v.phone");
    }
    query.push(" WHERE v.account_id = ").push_bind(uuid(account));
    query.push(" AND v.last_message_id < ").push_bind(before(page));
    if let Some(end) = end {
        query.push(" AND v.last_message_id >= ").push_bind(end);
    }
    match state {
        Some(ReadState::Unread) => query.push(" AND v.unread > 0"),
        Some(ReadState::Read) => query.push(" AND v.unread = 0"),
        None => &mut query,
    };
    push_search(&mut query, search.as_ref());
    query.push(" ORDER BY v.last_message_id DESC LIMIT ");
    query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
    query.push(
        ") v JOIN message m ON m.account_id = v.account_id AND m.id = v.last_message_id
         LEFT JOIN contact c ON c.account_id = v.account_id AND c.phone = v.phone
         ORDER BY v.last_message_id DESC",
    );
    query
}

/// Adds ` AND …` for a search. In `searched`, the names come before the last newline.
fn push_search(query: &mut QueryBuilder<Postgres>, search: Option<&ContactSearch>) {
    const IN_NAME: &str = " IN substring(k.searched FROM '^(.*)\\n')) > 0";
    match search {
        Some(ContactSearch::Number(number)) => {
            query.push(" AND v.phone = ").push_bind(digits(*number));
        }
        Some(ContactSearch::Digits { digits, words }) => {
            query.push(" AND (position(").push_bind(digits.clone());
            query.push(" IN v.phone::text) > 0 OR position(").push_bind(words.clone());
            query.push(IN_NAME).push(")");
        }
        Some(ContactSearch::Words(words)) => {
            query.push(" AND position(").push_bind(words.clone()).push(IN_NAME);
        }
        None => {}
    }
}

fn unread(row: &PgRow) -> PgResult<u64> {
    u64::try_from(row.try_get::<i64, _>("unread")?).map_err(|_| PgError::invalid("unread"))
}

fn conversation(row: &PgRow) -> PgResult<Conversation> {
    row.in_table("conversation", || {
        let (first, last): (Option<&str>, Option<&str>) =
            (row.try_get("first_name")?, row.try_get("last_name")?);
        let known = row.maybe_id("known_id")?;
        Ok(Conversation {
            number: row.number("phone")?,
            contact: known.map(|id| KnownAs::new(id, first, last)),
            unread: unread(row)?,
            last_message: row::message(row)?,
        })
    })
}
