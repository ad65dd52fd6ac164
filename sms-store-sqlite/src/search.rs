//! Finds words in bodies, newest message first. A search reads the newest messages one by one, then
//! only the spans whose signatures say that they may have the words. The core decides whether a
//! body has the words; the signatures only leave out bodies that cannot have them.

use rusqlite::params;
use sms_core::ids::MessageId;
use sms_core::message::filter::body_has;
use sms_core::message::signature::{Signature, bits_of, has_all};
use sms_core::message::{Message, MessageFilter};
use sms_core::page::LOOKED_AT;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::db::Db;
use crate::error::SqlResult;
use crate::message_list::{Window, list_ids_and_bodies, nth};
use crate::row::size;

/// How many messages are read one by one before the spans are used.
const WALK: usize = 1_000;
/// How many messages a span counts for that a search leaves out by its signature.
const SPAN: usize = 10;
/// The most messages of a span: a search reads them all where a signature matches.
const MOST_MESSAGES: usize = 1_000;
/// How many accounts one step of preparing checks.
const MOST_ACCOUNTS: i64 = 500;

/// Messages that have these words and match the rest of the filter, and the last message that the
/// search looked at if it ended early.
pub(crate) fn find(
    db: &Db,
    account: i64,
    filter: &MessageFilter,
    words: &str,
    window: Window,
) -> SqlResult<(Vec<Message>, Option<u128>)> {
    let mut search =
        Searcher { db, account, filter, words, window, found: Vec::new(), looked_at: 0 };
    let ended = search.run()?;
    let end = (ended == Read::More).then_some(search.window.before);
    let ids = search.found.into_iter().map(MessageId::from_u128);
    let found: SqlResult<_> = ids.filter_map(|id| db.message(id).transpose()).collect();
    Ok((found?, end))
}

/// A search under way. The window narrows as it goes on.
struct Searcher<'a> {
    db: &'a Db,
    account: i64,
    filter: &'a MessageFilter,
    words: &'a str,
    window: Window,
    found: Vec<u128>,
    looked_at: usize,
}

/// The result of reading some messages.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    /// The page is full.
    Full,
    /// There is more to read.
    More,
    /// All messages have been read.
    All,
}

impl Searcher<'_> {
    /// [`Read::More`] if it ended early: `window.before` is the last message that it looked at.
    fn run(&mut self) -> SqlResult<Read> {
        // Where the words are common, the newest messages fill a page; where there are few
        // messages, they are all.
        let first = self.walk(self.window.after)?;
        if first != Read::More {
            return Ok(first);
        }
        let newest = self.newest_span()?.max(self.window.after);
        while self.window.before > newest {
            match self.walk(newest)? {
                Read::Full => return Ok(Read::Full),
                Read::All => break,
                Read::More if self.looked_at >= LOOKED_AT => return Ok(Read::More),
                Read::More => {}
            }
        }
        self.read_spans()
    }

    /// Reads messages one by one.
    fn walk(&mut self, after: u128) -> SqlResult<Read> {
        let window = Window { after, before: self.window.before, limit: WALK };
        let end = nth(self.db, self.account, self.filter, window, WALK)?;
        let window = window.down_to(end);
        let rows = list_ids_and_bodies(self.db, self.account, self.filter, window)?;
        self.looked_at += WALK;
        if let Some(last) = end.or(rows.last().map(|(last, _)| *last)) {
            self.window.before = last;
        }
        Ok(match self.keep(&rows) {
            Read::Full => Read::Full,
            _ if end.is_none() && rows.len() < WALK => Read::All,
            _ => Read::More,
        })
    }

    /// Keeps the messages that have the words.
    fn keep(&mut self, rows: &[(u128, String)]) -> Read {
        for (id, body) in rows {
            if self.found.len() == self.window.limit {
                return Read::Full;
            }
            if body_has(body, self.words) {
                self.found.push(*id);
            }
        }
        if self.found.len() == self.window.limit { Read::Full } else { Read::More }
    }

    /// The newest message that is in a span.
    fn newest_span(&self) -> SqlResult<u128> {
        let query = "SELECT last_id FROM message_span WHERE account = ?1
             ORDER BY last_id DESC LIMIT 1";
        Ok(self.db.one(query, [self.account], |c| c.raw_id())?.unwrap_or(0))
    }

    /// Reads the messages of the spans that may have the words, newest first.
    fn read_spans(&mut self) -> SqlResult<Read> {
        let bits = bits_of(self.words);
        // Spans do not overlap: the one that holds the message is the newest that may matter.
        let holds = self.db.one(
            "SELECT last_id FROM message_span WHERE account = ?1 AND last_id >= ?2
             ORDER BY last_id LIMIT 1",
            params![self.account, self.window.before.to_be_bytes()],
            |c| c.raw_id(),
        )?;
        let mut below = holds.map_or(u128::MAX, |last| last.saturating_add(1));
        loop {
            let span = self.db.one(
                "SELECT first_id, last_id, signature FROM message_span
                 WHERE account = ?1 AND last_id < ?2 ORDER BY last_id DESC LIMIT 1",
                params![self.account, below.to_be_bytes()],
                |c| Ok((c.raw_id()?, c.raw_id()?, c.get::<Vec<u8>>()?)),
            )?;
            let Some((first, last, signature)) = span else { return Ok(Read::All) };
            if last <= self.window.after {
                return Ok(Read::All);
            }
            below = last;
            if first >= self.window.before {
                continue;
            }
            if has_all(&signature, &bits) {
                let window = Window {
                    after: self.window.after.max(first.saturating_sub(1)),
                    before: self.window.before.min(last.saturating_add(1)),
                    limit: MOST_MESSAGES,
                };
                let rows = list_ids_and_bodies(self.db, self.account, self.filter, window)?;
                if self.keep(&rows) == Read::Full {
                    return Ok(Read::Full);
                }
                self.looked_at += MOST_MESSAGES;
            }
            self.looked_at += SPAN;
            self.window.before = first;
            if self.looked_at >= LOOKED_AT {
                return Ok(Read::More);
            }
        }
    }
}

/// A finished span.
struct Span {
    account: i64,
    first: u128,
    last: u128,
    signature: Vec<u8>,
}

/// One step of the round through the accounts.
struct Step {
    number: i64,
    come_to: i64,
    gone_through: usize,
    spans: Vec<Span>,
}

/// Continues the round; returns how many accounts and messages it went through.
pub(crate) async fn prepare(
    store: &SqliteStore,
    before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let doing = "preparing searches";
    let before = MessageId::first_at(before).as_u128();
    // Bodies are read and signatures computed without the writer.
    let step = store.read(doing, move |db| next_step(db, before, limit.max(1))).await?;
    let gone_through = step.gone_through;
    let is_mine = store.write(doing, move |db| write(db, &step)).await?;
    Ok(if is_mine { gone_through } else { 0 })
}

fn next_step(db: &Db, before: u128, limit: usize) -> SqlResult<Step> {
    let query = "SELECT account, step FROM message_span_round";
    let round = db.one(query, [], |c| Ok((c.get()?, c.get()?)))?;
    let (after, number): (i64, i64) = round.unwrap_or_default();
    let query = "SELECT no FROM account WHERE no > ?1 ORDER BY no LIMIT ?2";
    let accounts = db.all(query, [after, MOST_ACCOUNTS], |c| c.get::<i64>())?;
    let mut step = Step { number, come_to: after, gone_through: 0, spans: Vec::new() };
    let mut left = limit;
    for account in &accounts {
        step.gone_through += 1;
        let taken = take_in(db, *account, before, left, &mut step.spans)?;
        step.gone_through += taken;
        left -= taken;
        if left == 0 {
            // It may have more: the next step begins with it.
            return Ok(step);
        }
        step.come_to = *account;
    }
    if accounts.is_empty() {
        step.come_to = 0;
    }
    Ok(step)
}

/// Makes spans of up to `limit` messages of an account, if it has more messages outside of spans
/// than a search reads one by one; returns of how many.
fn take_in(
    db: &Db,
    account: i64,
    before: u128,
    limit: usize,
    spans: &mut Vec<Span>,
) -> SqlResult<usize> {
    let newest =
        "SELECT last_id FROM message_span WHERE account = ?1 ORDER BY last_id DESC LIMIT 1";
    let after = db.one(newest, [account], |c| c.raw_id())?.unwrap_or(0);
    let is_due = db.has(
        "SELECT 1 FROM message INDEXED BY message_by_account
         WHERE account = ?1 AND id > ?2 AND id < ?3 ORDER BY id LIMIT 1 OFFSET ?4",
        params![account, after.to_be_bytes(), before.to_be_bytes(), size(WALK)],
    )?;
    if !is_due {
        return Ok(0);
    }
    let rows = db.all(
        "SELECT id, body FROM message INDEXED BY message_by_account
         WHERE account = ?1 AND id > ?2 AND id < ?3 ORDER BY id LIMIT ?4",
        params![account, after.to_be_bytes(), before.to_be_bytes(), size(limit)],
        |c| Ok((c.raw_id()?, c.get::<String>()?)),
    )?;
    let mut messages = rows.iter().peekable();
    while let Some((first, _)) = messages.peek().copied() {
        let (mut last, mut count, mut signature) = (*first, 0, Signature::new());
        while count < MOST_MESSAGES
            && !signature.is_full()
            && let Some((id, body)) = messages.next()
        {
            signature.take_in(body);
            last = *id;
            count += 1;
        }
        spans.push(Span { account, first: *first, last, signature: signature.into_bytes() });
    }
    Ok(rows.len())
}

/// Writes a step, unless another caller has written it; returns whether it did.
fn write(db: &Db, step: &Step) -> SqlResult<bool> {
    let Step { number, come_to, gone_through: _, spans } = step;
    let update = "UPDATE message_span_round SET account = ?2, step = step + 1 WHERE step = ?1";
    if db.run(update, [*number, *come_to])? == 0 {
        return Ok(false);
    }
    for Span { account, first, last, signature } in spans {
        db.run(
            "INSERT INTO message_span (account, first_id, last_id, signature)
             VALUES (?1, ?2, ?3, ?4)",
            params![account, first.to_be_bytes(), last.to_be_bytes(), signature],
        )?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use sms_core::ids::CampaignId;
    use sms_core::message::MessageStatus;
    use sms_core::page::{Cursor, PageRequest};

    use super::*;
    use crate::message_list::list;
    use crate::open::{MIGRATIONS, in_memory};

    /// So many messages of a campaign, with ids from 1; some have the word.
    fn with_messages(count: u128, with_word: &[u128]) -> Db {
        let connection = in_memory(&MIGRATIONS);
        let account = "INSERT INTO account (no, id, name, status, balance, ledger_seq, quiet_start,
                 quiet_end, track_links, opt_out_line, opt_out_line_sender, created_at, updated_at)
             VALUES (1, ?1, 'Bistro', 0, 0, 0, 0, 0, 0, '', '', 0, 0)";
        connection.execute(account, [1_u128.to_be_bytes()]).unwrap();
        let insert = "INSERT INTO message (id, account, direction, status, to_number, from_number,
                 contact_number, body, encoding, segments, credits, route, mode, timeline,
                 campaign_id)
             VALUES (?1, 1, 0, ?2, 447700900001, 447700900000, 447700900001, ?3, 0, 1, 1, 'main', 0,
                 '', ?4)";
        let mut statement = connection.prepare(insert).unwrap();
        let campaign = 7_u128.to_be_bytes();
        for id in 1..=count {
            let has_word = with_word.contains(&id);
            let body = if has_word { "A walrus" } else { "Your table is ready" };
            let failed = MessageStatus::Failed;
            let status = if has_word { failed } else { MessageStatus::Sent };
            let status = crate::row::status(status);
            statement.execute(params![id.to_be_bytes(), status, body, campaign]).unwrap();
        }
        drop(statement);
        Db::new(connection)
    }

    /// The pages that a search makes: the ids on each.
    fn pages(db: &Db, filter: &MessageFilter, words: Option<&str>) -> Vec<Vec<u128>> {
        let (mut pages, mut page) = (Vec::new(), PageRequest::default());
        loop {
            let window = Window::of(filter, page);
            let (found, end) = match words {
                Some(words) => find(db, 1, filter, words, window).unwrap(),
                None => list(db, 1, filter, window).unwrap(),
            };
            pages.push(found.iter().map(|message| message.id.as_u128()).collect());
            let Some(end) = end else { return pages };
            page = page.after(Cursor::after(MessageId::from_u128(end)));
        }
    }

    #[test]
    fn a_search_for_words_ends_early_and_its_pages_show_every_message_once() {
        let db = with_messages(25_000, &[3, 12_000, 24_990]);
        let all = MessageFilter::default();
        // One by one: ten thousand for a page.
        let found = pages(&db, &all, Some("walrus"));
        assert_eq!(found, [vec![24_990], vec![12_000], vec![3]]);
        // With signatures: a span without the word counts little.
        let mut spans = Vec::new();
        take_in(&db, 1, u128::MAX, 25_000, &mut spans).unwrap();
        let step = Step { number: 0, come_to: 0, gone_through: 0, spans };
        assert!(write(&db, &step).unwrap());
        assert_eq!(pages(&db, &all, Some("walrus")), [vec![24_990, 12_000, 3]]);
        let every_span = pages(&db, &all, Some("table is"));
        assert_eq!(every_span[0].len(), 26, "a page is full at once");
        let narrow = MessageFilter {
            campaign_id: Some(CampaignId::from_u128(7)),
            status: Some(MessageStatus::Failed),
            ..all
        };
        assert_eq!(pages(&db, &narrow, Some("walrus")).concat(), [24_990, 12_000, 3]);
    }

    #[test]
    fn a_page_by_several_conditions_looks_at_ten_thousand_messages() {
        let db = with_messages(25_000, &[3, 12_000, 24_990]);
        let filter = MessageFilter {
            campaign_id: Some(CampaignId::from_u128(7)),
            status: Some(MessageStatus::Failed),
            ..MessageFilter::default()
        };
        assert_eq!(pages(&db, &filter, None), [vec![24_990], vec![12_000], vec![3]]);
        let whole = MessageFilter { status: None, ..filter };
        assert_eq!(pages(&db, &whole, None)[0].len(), 26);
    }
}
