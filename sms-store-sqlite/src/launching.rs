//! The rows of launches under way: messages that nobody sees yet, those that enter the queue, and
//! those of launches that came to nothing. Each step takes a few milliseconds.

use std::slice::from_ref;
use std::time::{Duration, Instant};

use rusqlite::params;
use sms_core::commit::{NewMessage, NewMessages};
use sms_core::dispatch::QueueEntry;
use sms_core::ids::{BatchId, MessageId};
use sms_core::link::Link;
use sms_core::message::{Message, MessageStatus, TimelineEntry};
use sms_core::phone::E164;
use sms_core::route::RouteName;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{id, time};

/// How long a portion may take; everybody waits for it.
const PORTION: Duration = Duration::from_millis(3);

/// The code of a link is taken: the launch has to be planned again.
#[derive(Debug)]
pub(crate) struct Stale;

/// What a page writes, in the order of writing.
pub(crate) struct Page {
    entry: Option<QueueEntry>,
    pub(crate) rows: Vec<Row>,
}

pub(crate) enum Row {
    Message(Box<Message>, TimelineEntry),
    Link(Box<Link>),
}

impl Page {
    pub(crate) fn of(new: NewMessages<'_>) -> Self {
        let NewMessages { messages, links } = new;
        // All messages of a launch have the same times.
        let entry = messages.first().map(|new| new.entry);
        let message = |NewMessage { message, line, claimed: _, entry: _ }: NewMessage<'_>| {
            // Nobody holds messages of a launch from the start.
            Row::Message(Box::new(message.clone()), line)
        };
        let link = |link: &Link| Row::Link(Box::new(link.clone()));
        Self {
            entry,
            rows: messages.into_iter().map(message).chain(links.into_iter().map(link)).collect(),
        }
    }
}

/// Writes rows from this one on, for a few milliseconds; returns the next one. Stale if the code of
/// a link is taken.
pub(crate) fn stage_portion(
    db: &Db,
    account: i64,
    batch: BatchId,
    page: &Page,
    from: usize,
) -> SqlResult<Result<usize, Stale>> {
    let began = Instant::now();
    if let Some(entry) = &page.entry {
        db.run(
            "INSERT OR IGNORE INTO launching (batch_id, account, state, after_id, claimable_at,
                 expires_at, lane)
             VALUES (?1, ?2, 0, zeroblob(16), ?3, ?4, ?5)",
            params![
                id(batch),
                account,
                time(entry.claimable_at),
                time(entry.expires_at),
                entry.lane.as_str()
            ],
        )?;
    }
    let mut next = from;
    while next < page.rows.len() && began.elapsed() < PORTION {
        for row in page.rows.iter().skip(next).take(8) {
            match row {
                Row::Message(message, line) => db.insert_message(message, from_ref(line))?,
                Row::Link(link) => {
                    if db.has_code_of(std::slice::from_ref(&**link))? {
                        return Ok(Err(Stale));
                    }
                    db.insert_link(link)?;
                }
            }
            next += 1;
        }
    }
    Ok(Ok(next))
}

/// A message of a batch, as far as its place in the queue needs it.
pub(crate) struct Place {
    pub(crate) message: MessageId,
    status: MessageStatus,
    pub(crate) to: E164,
    route: RouteName,
}

/// The messages of a batch after this one, in order.
pub(crate) fn places(db: &Db, batch: BatchId, after: u128, limit: i64) -> SqlResult<Vec<Place>> {
    db.all(
        "SELECT id, status, to_number, route FROM message INDEXED BY message_by_batch
         WHERE batch_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        params![id(batch), after.to_be_bytes(), limit],
        |c| {
            Ok(Place {
                message: c.id()?,
                status: c.among(&MessageStatus::ALL)?,
                to: c.number()?,
                route: RouteName::new(c.get::<String>()?),
            })
        },
    )
}

/// Puts messages of a launched batch into the queue and moves their conversations, for a few
/// milliseconds. Returns whether there are more.
pub(crate) fn enqueue(db: &Db, batch: BatchId) -> SqlResult<bool> {
    let began = Instant::now();
    let found = db.one(
        "SELECT account, after_id, claimable_at, expires_at, lane FROM launching
         WHERE batch_id = ?1 AND state = 1",
        [id(batch)],
        |c| Ok((c.get::<i64>()?, c.raw_id()?, c.at()?, c.at()?, c.name()?)),
    )?;
    let Some((no, mut after, claimable_at, expires_at, lane)) = found else { return Ok(false) };
    let account = db.account_id(no)?;
    let moves = db.has("SELECT 1 FROM conversation WHERE account = ?1 LIMIT 1", [no])?;
    let places = places(db, batch, after, 400)?;
    if places.is_empty() {
        db.run("DELETE FROM launching WHERE batch_id = ?1", [id(batch)])?;
        return Ok(false);
    }
    for Place { message, status, to, route } in places {
        // It may have been cancelled meanwhile.
        if MessageStatus::CLAIMABLE.contains(&status) {
            let entry = QueueEntry {
                message,
                account,
                lane,
                claimable_at,
                expires_at,
                attempt: 0,
                lease: None,
                unanswered: 0,
            };
            db.enqueue(&entry, &route)?;
        }
        if moves {
            db.shift(no, to, message)?;
        }
        after = message.as_u128();
        if began.elapsed() > PORTION {
            break;
        }
    }
    db.run(
        "UPDATE launching SET after_id = ?2 WHERE batch_id = ?1",
        params![id(batch), after.to_be_bytes()],
    )?;
    Ok(true)
}

/// Removes messages of a batch whose launch came to nothing, for a few milliseconds. Returns
/// whether there are more.
pub(crate) fn remove(db: &Db, batch: BatchId) -> SqlResult<bool> {
    let began = Instant::now();
    let query = "SELECT account FROM launching WHERE batch_id = ?1 AND state = 2";
    let Some(account) = db.one(query, [id(batch)], |c| c.get::<i64>())? else { return Ok(false) };
    let places = places(db, batch, 0, 400)?;
    if places.is_empty() {
        db.run("DELETE FROM launching WHERE batch_id = ?1", [id(batch)])?;
        return Ok(false);
    }
    for Place { message, .. } in places {
        let delete = "DELETE FROM link WHERE account = ?1 AND message_id = ?2";
        db.run(delete, params![account, id(message)])?;
        db.run("DELETE FROM message WHERE id = ?1", [id(message)])?;
        if began.elapsed() > PORTION {
            break;
        }
    }
    Ok(true)
}
