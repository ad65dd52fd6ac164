//! Finds words in bodies, newest message first. A search reads the newest messages one by one, then
//! only the spans whose signatures say that they may have the words. The core decides whether a
//! body has the words, so that every store finds the same; the database only leaves out bodies that
//! cannot have them.

use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::body_has;
use sms_core::message::signature::bits_of;
use sms_core::message::{Message, MessageFilter};
use sms_core::page::{LOOKED_AT, Page, PageRequest};
use sqlx::postgres::PgRow;
use sqlx::{PgPool, QueryBuilder, Row};
use uuid::Uuid;

use super::list::{Window, is_walked, list_query, portion_end, portion_query, push_filter};
use crate::error::PgResult;
use crate::message_columns;
use crate::row::{self, uuid};
use crate::rows_query::rows_query;

mod prepare;

pub(crate) use prepare::prepare;

/// How many messages are read one by one before the spans are used.
pub(super) const WALK: usize = 1_000;
/// The most messages of a span: a search reads them all where a signature matches.
pub(super) const MOST_MESSAGES: i64 = 1_000;
/// How many spans' signatures are read at a time.
const SPANS: usize = 250;
/// How many messages a span counts for that a search leaves out by its signature.
const SPAN: usize = 10;

/// A page of an account's messages that have these words and match the rest of the filter.
pub(crate) async fn list(
    pool: &PgPool,
    account: AccountId,
    filter: &MessageFilter,
    words: &str,
    page: PageRequest,
) -> PgResult<Page<Message>> {
    let Window { after, before, limit } = Window::of(filter, page);
    let mut search = Searcher {
        pool,
        account,
        filter,
        words,
        after,
        before,
        most: limit,
        found: Vec::new(),
        looked_at: 0,
    };
    let ended = search.run().await?;
    let end = match ended {
        Read::More => Some(MessageId::from_u128(search.before.as_u128())),
        Read::Full | Read::All => None,
    };
    let ids = search.found;
    let mut query = QueryBuilder::new(concat!("SELECT ", message_columns!(), " FROM message m"));
    query.push(" WHERE m.account_id = ").push_bind(uuid(account));
    query.push(" AND m.id = ANY(").push_bind(ids).push(") ORDER BY m.id DESC");
    let rows = query.build().fetch_all(pool).await?;
    let messages: PgResult<Vec<Message>> = rows.iter().map(row::message).collect();
    Ok(Page::of_search(messages?, page.limit, end, |message: &Message| message.id))
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
    looked_at: usize,
}

/// A span of messages, from its first to its last.
struct Span {
    first: Uuid,
    last: Uuid,
    /// Whether its signature has what is looked for.
    may_have: bool,
}

/// The result of reading some messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    /// The page is full.
    Full,
    /// There is more to read.
    More,
    /// All messages have been read.
    All,
}

impl Searcher<'_> {
    /// Finds messages, newest first. [`Read::More`] if it ended early: `before` is the last message
    /// that it looked at.
    async fn run(&mut self) -> PgResult<Read> {
        // Where the words are common, the newest messages fill a page; where there are few
        // messages, they are all.
        let first = self.walk(self.after).await?;
        if first != Read::More {
            return Ok(first);
        }
        let newest = self.newest_span().await?.max(self.after);
        match self.walk_down_to(newest).await? {
            Read::All => self.read_spans().await,
            ended => Ok(ended),
        }
    }

    /// Reads the messages that are not in a span yet.
    async fn walk_down_to(&mut self, after: Uuid) -> PgResult<Read> {
        while self.before > after {
            match self.walk(after).await? {
                Read::More if self.looked_at < LOOKED_AT => {}
                ended => return Ok(ended),
            }
        }
        Ok(Read::All)
    }

    /// Reads messages one by one.
    async fn walk(&mut self, after: Uuid) -> PgResult<Read> {
        let window = Window { after, before: self.before, limit: WALK };
        let columns = "m.id, m.body";
        let mut end = None;
        let mut query = if is_walked(self.filter) {
            let query = &mut portion_end(self.account, self.filter, window, WALK);
            let row = query.build().persistent(false).fetch_optional(self.pool).await?;
            end = row.map(|row| row.try_get("id")).transpose()?;
            portion_query(columns, self.account, self.filter, window, WALK)
        } else {
            list_query(columns, self.account, self.filter, window)
        };
        let rows = query.build().persistent(false).fetch_all(self.pool).await?;
        self.looked_at += WALK;
        let is_full = self.keep(&rows)?;
        let is_last = end.is_none() && rows.len() < WALK;
        if let Some(last) = rows.last() {
            let last = last.try_get("id")?;
            // Messages that arrived meanwhile moved the end of the portion to before its last row.
            end = Some(end.map_or(last, |end: Uuid| end.min(last)));
        }
        self.before = end.unwrap_or(self.before);
        Ok(match is_full {
            true => Read::Full,
            false if is_last => Read::All,
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
    async fn read_spans(&mut self) -> PgResult<Read> {
        let bits = bits_of(self.words)
            .into_iter()
            .filter_map(|bit| i64::try_from(bit).ok())
            .collect::<Vec<_>>();
        loop {
            let spans = self.next_spans(&bits).await?;
            let Some(oldest) = spans.last().map(|span| span.first) else { return Ok(Read::All) };
            let may_have: Vec<(Uuid, Uuid)> = spans
                .iter()
                .filter(|span| span.may_have)
                .map(|span| (span.first, span.last))
                .collect();
            // More at a time if the first were in vain.
            let mut rest = &may_have[..];
            let mut count = 1;
            while !rest.is_empty() {
                let (some, others) = rest.split_at(rest.len().min(count));
                if self.read_messages(some).await? {
                    return Ok(Read::Full);
                }
                self.looked_at += some.len() * WALK;
                self.before = some.last().map_or(self.before, |(first, _)| *first);
                if self.looked_at >= LOOKED_AT {
                    return Ok(Read::More);
                }
                rest = others;
                count *= 2;
            }
            self.looked_at += spans.len() * SPAN;
            self.before = oldest;
            if self.looked_at >= LOOKED_AT {
                return Ok(Read::More);
            }
        }
    }

    /// The next spans, newest first, with whether their signatures have all these bits.
    async fn next_spans(&self, bits: &[i64]) -> PgResult<Vec<Span>> {
        let count = i64::try_from(SPANS).unwrap_or(i64::MAX);
        let query = rows_query!(
            [uuid(self.account), self.before, self.after, count]
            "SELECT s.first_id, s.last_id,
                 NOT EXISTS (SELECT FROM " rows(bit in bits) as wanted {
                     bit: bigint = *bit,
                 } "
                 WHERE get_bit(s.signature, wanted.bit) = 0) AS may_have
             FROM message_span s
             WHERE s.account_id = $1 AND s.first_id < $2 AND s.last_id > $3
                 -- Spans do not overlap: the one that holds $2 is the newest that may matter.
                 AND s.last_id <= COALESCE(
                     (SELECT h.last_id FROM message_span h
                      WHERE h.account_id = $1 AND h.last_id >= $2 ORDER BY h.last_id LIMIT 1), $2)
             ORDER BY s.last_id DESC LIMIT $4"
        );
        let rows = query.fetch_all(self.pool).await?;
        let span = |row: &PgRow| {
            let (first, last) = (row.try_get("first_id")?, row.try_get("last_id")?);
            Ok(Span { first, last, may_have: row.try_get("may_have")? })
        };
        rows.iter().map(span).collect()
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
