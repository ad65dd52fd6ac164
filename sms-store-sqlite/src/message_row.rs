//! Messages as rows.

use std::fmt::Write as _;

use rusqlite::params;
use sms_core::account::Mode;
use sms_core::commit::{MessageWrite, NewMessage, NewMessages};
use sms_core::ids::{BatchId, MessageId};
use sms_core::message::{Body, Direction, ErrorCode, Message, MessageStatus, TimelineEntry, Times};
use sms_core::route::RouteName;
use sms_core::text::{Encoding, Segments};
use sms_core::time::Timestamp;

use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{
    Cols, amount, digits, direction, encoding, id, maybe_id, maybe_time, mode, status, status_of,
    time,
};

/// A stretch of the index by number has 65,536 rows: see `stretch.rs`.
pub(crate) const STRETCH_SHIFT: u32 = 16;

/// The columns that [`message`] reads.
macro_rules! message_columns {
    () => {
        "m.id, m.account, m.direction, m.status, m.to_number, m.from_number, m.body, m.encoding, \
         m.segments, m.credits, m.route, m.sender, m.client_ref, m.batch_id, m.campaign_id, \
         m.contact_id, m.error, m.mode, m.scheduled_at, m.sent_at, m.delivered_at, m.failed_at, \
         m.cancelled_at, m.received_at, m.read_at"
    };
}
pub(crate) use message_columns;

pub(crate) fn message(db: &Db, c: &mut Cols<'_>) -> SqlResult<Message> {
    Ok(Message {
        id: c.id()?,
        account: db.account_id(c.get()?)?,
        direction: c.among(&Direction::ALL)?,
        status: c.among(&MessageStatus::ALL)?,
        to: c.number()?,
        from: c.number()?,
        body: Body::new(c.get::<String>()?),
        encoding: c.among(&Encoding::ALL)?,
        segments: Segments::new(c.count()?),
        credits: c.credits()?,
        route: RouteName::new(c.get::<String>()?),
        sender: c.get()?,
        client_ref: c.get()?,
        batch_id: c.maybe_id()?,
        campaign_id: c.maybe_id()?,
        contact_id: c.maybe_id()?,
        error: c.maybe(|name: String| name.parse::<ErrorCode>().ok())?,
        mode: c.among(&Mode::ALL)?,
        scheduled_at: c.maybe_at()?,
        times: Times {
            sent_at: c.maybe_at()?,
            delivered_at: c.maybe_at()?,
            failed_at: c.maybe_at()?,
            cancelled_at: c.maybe_at()?,
            received_at: c.maybe_at()?,
            read_at: c.maybe_at()?,
        },
    })
}

/// A line of a timeline as it is stored: status, time, and a detail as JSON.
pub(crate) fn stored(lines: &[TimelineEntry]) -> String {
    let mut text = String::new();
    for TimelineEntry { status: at_status, detail, at } in lines {
        let _ = write!(text, "{} {}", status(*at_status), time(*at));
        if let Some(detail) = detail {
            text.push(' ');
            text.push_str(&serde_json::to_string(detail).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

pub(crate) fn timeline(text: &str) -> Option<Vec<TimelineEntry>> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        Some(TimelineEntry {
            status: status_of(parts.next()?.parse().ok()?)?,
            at: Timestamp::from_millis(parts.next()?.parse().ok()?),
            detail: match parts.next() {
                Some(detail) => Some(serde_json::from_str(detail).ok()?),
                None => None,
            },
        })
    };
    text.lines().map(line).collect()
}

impl Db {
    /// The message with this id, of any account.
    pub(crate) fn message(&self, of: MessageId) -> SqlResult<Option<Message>> {
        self.one(
            concat!("SELECT ", message_columns!(), " FROM message m WHERE m.id = ?1"),
            [id(of)],
            |c| message(self, c),
        )
    }

    /// The messages of a batch, in the order of its recipients.
    pub(crate) fn batch(&self, batch: BatchId) -> SqlResult<Vec<Message>> {
        let query = concat!(
            "SELECT ",
            message_columns!(),
            " FROM message m INDEXED BY message_by_batch WHERE m.batch_id = ?1 ORDER BY m.id"
        );
        self.all(query, [id(batch)], |c| message(self, c))
    }

    /// Inserts a message.
    pub(crate) fn insert_message(
        &self,
        message: &Message,
        lines: &[TimelineEntry],
    ) -> SqlResult<()> {
        let Message {
            id: of,
            account,
            direction: its_direction,
            status: its_status,
            to,
            from,
            body,
            encoding: its_encoding,
            segments,
            credits,
            route,
            sender,
            client_ref,
            batch_id,
            campaign_id,
            contact_id,
            error,
            mode: its_mode,
            scheduled_at,
            times,
        } = message;
        let Times { sent_at, delivered_at, failed_at, cancelled_at, received_at, read_at } = times;
        self.run(
            "INSERT INTO message (id, account, direction, status, to_number, from_number,
                 contact_number, body, encoding, segments, credits, route, sender, client_ref,
                 batch_id, campaign_id, contact_id, error, mode, scheduled_at, sent_at,
                 delivered_at, failed_at, cancelled_at, received_at, read_at, timeline)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27)",
            params![
                id(*of),
                self.known_account(*account)?,
                direction(*its_direction),
                status(*its_status),
                digits(*to),
                digits(*from),
                digits(message.contact_number()),
                body.as_str(),
                encoding(*its_encoding),
                segments.get(),
                amount(*credits),
                route.as_str(),
                sender,
                client_ref,
                maybe_id(*batch_id),
                maybe_id(*campaign_id),
                maybe_id(*contact_id),
                error.map(ErrorCode::as_str),
                mode(*its_mode),
                maybe_time(*scheduled_at),
                maybe_time(*sent_at),
                maybe_time(*delivered_at),
                maybe_time(*failed_at),
                maybe_time(*cancelled_at),
                maybe_time(*received_at),
                maybe_time(*read_at),
                stored(lines)
            ],
        )?;
        self.note_stretch(self.sql.last_insert_rowid() >> STRETCH_SHIFT, of.as_u128());
        Ok(())
    }

    /// Inserts messages to be sent, with their places in the queue and their links.
    pub(crate) fn insert_new(&self, new: NewMessages<'_>) -> SqlResult<()> {
        let NewMessages { messages, links } = new;
        for NewMessage { message, line, claimed, entry } in messages {
            self.enqueue(&entry, &message.route)?;
            let lines: Vec<TimelineEntry> = std::iter::once(line).chain(claimed).collect();
            self.insert_message(message, &lines)?;
        }
        for link in links {
            self.insert_link(link)?;
        }
        Ok(())
    }

    /// Writes a message over its earlier state. Only its status, error and times differ.
    pub(crate) fn rewrite_message(&self, write: &MessageWrite) -> SqlResult<()> {
        let MessageWrite { message, lines } = write;
        let Times { sent_at, delivered_at, failed_at, cancelled_at, received_at, read_at } =
            message.times;
        self.run(
            "UPDATE message SET status = ?2, error = ?3, sent_at = ?4, delivered_at = ?5,
                 failed_at = ?6, cancelled_at = ?7, received_at = ?8, read_at = ?9,
                 timeline = timeline || ?10
             WHERE id = ?1",
            params![
                id(message.id),
                status(message.status),
                message.error.map(ErrorCode::as_str),
                maybe_time(sent_at),
                maybe_time(delivered_at),
                maybe_time(failed_at),
                maybe_time(cancelled_at),
                maybe_time(received_at),
                maybe_time(read_at),
                stored(lines)
            ],
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_is_read_as_it_was_written() {
        let line = |status, detail: Option<&str>, at| TimelineEntry {
            status,
            detail: detail.map(str::to_owned),
            at: Timestamp::from_millis(at),
        };
        let lines = [
            line(MessageStatus::Queued, None, 1_700_000_000_000),
            line(MessageStatus::Sending, Some("two words,\na line \"quoted\""), -5),
            line(MessageStatus::Sent, Some(""), 0),
        ];
        assert_eq!(timeline(&stored(&lines)).as_deref(), Some(&lines[..]));
        assert_eq!(timeline("9 0\n"), None);
    }
}
