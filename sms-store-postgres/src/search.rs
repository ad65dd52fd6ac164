//! Finds words in bodies, newest message first. A search reads the newest messages one by one, then
//! only the spans whose signatures say that they may have the words. The core decides whether a
//! body has the words, so that every store finds the same; the database only leaves out bodies that
//! cannot have them.

use sms_core::ids::AccountId;
use sms_core::message::filter::body_has;
use sms_core::message::signature::bits_of;
use sms_core::message::{Message, MessageFilter};
use sms_core::page::{Page, PageRequest};
use sqlx::postgres::PgRow;
use sqlx::{PgPool, QueryBuilder, Row};
use uuid::Uuid;

use crate::error::PgResult;
use crate::message::list::{Window, list_query, push_filter};
use crate::message_columns;
use crate::row::{self, uuid};
use crate::rows_query::rows_query;

mod prepare;

pub(crate) use prepare::prepare;

/// How many messages are read one by one before the spans are used.
pub(super) const WALK: usize = 1_000;
/// The most messages read one by one at a time, where there are no spans yet.
const LONGEST_WALK: usize = 16_000;
/// The most messages of a span: a search reads them all where a signature matches.
pub(super) const MOST_MESSAGES: i64 = 1_000;
/// How many spans are read first, and at most, at a time.
const SPANS: i64 = 4;
const MOST_SPANS: i64 = 64;

/// A page of an account's messages that have these words and match the rest of the filter.
pub(crate) async fn list(
    pool: &PgPool,
    account: AccountId,
    filter: &MessageFilter,
    words: &str,
    page: PageRequest,
) -> PgResult<Page<Message>> {
    let Window { after, before, limit } = Window::of(filter, page);
    let found = Vec::new();
    let search = Searcher { pool, account, filter, words, after, before, most: limit, found };
    let ids = search.run().await?;
    let mut query = QueryBuilder::new(concat!("SELECT ", message_columns!(), " FROM message m"));
    query.push(" WHERE m.account_id = ").push_bind(uuid(account));
    query.push(" AND m.id = ANY(").push_bind(ids).push(") ORDER BY m.id DESC");
    let rows = query.build().fetch_all(pool).await?;
    let messages: PgResult<Vec<Message>> = rows.iter().map(row::message).collect();
    Ok(Page::of(messages?, page.limit, |message: &Message| message.id))
}

/// A search under way.
struct Searcher<'a> {
    pool: &'a PgPool,
    account: AccountId,
    filter: &'a MessageFilter,
    words: &'a str,
    /// Where the search ends: this message and all older ones are left out.
    after: Uuid,
    /// How far the search has come: this message and all newer ones are done.
    before: Uuid,
    most: usize,
    found: Vec<Uuid>,
}

/// The result of reading some messages.
enum Read {
    /// The page is full.
    Full,
    /// There is more to read.
    More,
    /// All messages have been read.
    All,
}

impl Searcher<'_> {
    /// The messages found, newest first.
    async fn run(mut self) -> PgResult<Vec<Uuid>> {
        // Where the words are common, the newest messages fill a page; where there are few
        // messages, they are all.
        if let Read::More = self.walk(self.after, WALK).await? {
            let newest = self.newest_span().await?.max(self.after);
            if let Read::All = self.walk_down_to(newest).await? {
                self.read_spans().await?;
            }
        }
        Ok(self.found)
    }

    /// Reads the messages that are not in a span yet.
    async fn walk_down_to(&mut self, after: Uuid) -> PgResult<Read> {
        let mut limit = WALK;
        while self.before > after {
            match self.walk(after, limit).await? {
                Read::More => limit = (2 * limit).min(LONGEST_WALK),
                ended => return Ok(ended),
            }
        }
        Ok(Read::All)
    }

    /// Reads messages one by one.
    async fn walk(&mut self, after: Uuid, limit: usize) -> PgResult<Read> {
        let window = Window { after, before: self.before, limit };
        let mut query = list_query("m.id, m.body", self.account, self.filter, window);
        let rows = query.build().persistent(false).fetch_all(self.pool).await?;
        let is_full = self.keep(&rows)?;
        if let Some(last) = rows.last() {
            self.before = last.try_get("id")?;
        }
        Ok(match is_full {
            true => Read::Full,
            false if rows.len() < limit => Read::All,
            false => Read::More,
        })
    }

    /// Keeps the messages that have the words; returns whether the page is full.
    fn keep(&mut self, rows: &[PgRow]) -> PgResult<bool> {
        for row in rows {
            if self.found.len() == self.most {
                return Ok(true);
            }
            if body_has(row.try_get("body")?, self.words) {
                self.found.push(row.try_get("id")?);
            }
        }
        Ok(self.found.len() == self.most)
    }

    /// The newest message that is in a span.
    async fn newest_span(&self) -> PgResult<Uuid> {
        let row = sqlx::query(
            "SELECT last_id FROM message_span WHERE account_id = $1
             ORDER BY last_id DESC LIMIT 1",
        )
        .bind(uuid(self.account))
        .fetch_optional(self.pool)
        .await?;
        Ok(row.map_or(Ok(Uuid::nil()), |row| row.try_get("last_id"))?)
    }

    /// Reads the messages of the spans that may have the words.
    async fn read_spans(&mut self) -> PgResult<()> {
        let bits = bits_of(self.words)
            .into_iter()
            .filter_map(|bit| i64::try_from(bit).ok())
            .collect::<Vec<_>>();
        let mut count = SPANS;
        loop {
            let spans = self.next_spans(&bits, count).await?;
            let Some((oldest, _)) = spans.last().copied() else { return Ok(()) };
            if self.read_messages(&spans).await? {
                return Ok(());
            }
            self.before = oldest;
            count = (2 * count).min(MOST_SPANS);
        }
    }

    /// The next spans whose signatures have all these bits, by their first and last messages.
    async fn next_spans(&self, bits: &[i64], count: i64) -> PgResult<Vec<(Uuid, Uuid)>> {
        let query = rows_query!(
            [uuid(self.account), self.before, self.after, count]
            "SELECT s.first_id, s.last_id FROM message_span s
             WHERE s.account_id = $1 AND s.first_id < $2 AND s.last_id > $3
                 -- Spans do not overlap: the one that holds $2 is the newest that may matter.
                 AND s.last_id <= COALESCE(
                     (SELECT h.last_id FROM message_span h
                      WHERE h.account_id = $1 AND h.last_id >= $2 ORDER BY h.last_id LIMIT 1), $2)
                 AND NOT EXISTS (SELECT FROM " rows(bit in bits) as wanted {
                        bit: bigint = *bit,
                     } "
                     WHERE get_bit(s.signature, wanted.bit) = 0)
             ORDER BY s.last_id DESC LIMIT $4"
        );
        let rows = query.fetch_all(self.pool).await?;
        rows.iter().map(|row| Ok((row.try_get("first_id")?, row.try_get("last_id")?))).collect()
    }

    /// Reads the messages of some spans; returns whether the page is full.
    async fn read_messages(&mut self, spans: &[(Uuid, Uuid)]) -> PgResult<bool> {
        let (after, before) = (self.after.as_u128(), self.before.as_u128());
        let firsts = spans.iter().map(|(first, _)| first.as_u128().max(after.saturating_add(1)));
        let lasts = spans.iter().map(|(_, last)| last.as_u128().min(before.saturating_sub(1)));
        let mut query = QueryBuilder::new("SELECT m.id, m.body FROM UNNEST(");
        query.push_bind(firsts.map(Uuid::from_u128).collect::<Vec<_>>()).push("::uuid[], ");
        query.push_bind(lasts.map(Uuid::from_u128).collect::<Vec<_>>());
        query.push("::uuid[]) AS span (first_id, last_id) CROSS JOIN LATERAL (");
        query.push("SELECT m.id, m.body FROM message m WHERE m.account_id = ANY(");
        query.push_bind(vec![uuid(self.account)]);
        query.push(") AND m.id >= span.first_id AND m.id <= span.last_id");
        push_filter(&mut query, self.filter);
        // In the order of the account's index, so that no other index fits.
        query.push(" ORDER BY m.account_id DESC, m.id DESC LIMIT ").push_bind(MOST_MESSAGES);
        query.push(") AS m ORDER BY m.id DESC");
        let rows = query.build().persistent(false).fetch_all(self.pool).await?;
        self.keep(&rows)
    }
}
