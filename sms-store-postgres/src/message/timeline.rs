//! How a message's timeline is stored: times in columns, and as JSON only the lines with words.
//!
//! A message never goes back to an earlier status, and enters each once. So the columns tell the
//! plain lines, in the order of the statuses, and the stored lines of a status follow its plain
//! line. A status that has stored lines has no plain one, except for `sending`, whose notes about
//! retries are stored and whose first line has a separate column.

use serde::{Deserialize, Serialize};
use sms_core::message::{Direction, Message, MessageStatus, TimelineEntry};
use sms_core::time::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

use crate::error::{PgError, PgResult};
use crate::row::Read;

/// A line as the column stores it.
#[derive(Debug, Serialize, Deserialize)]
struct StoredLine {
    status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    at: i64,
}

impl From<&TimelineEntry> for StoredLine {
    fn from(entry: &TimelineEntry) -> Self {
        let status = entry.status.as_str().to_owned();
        Self { status, detail: entry.detail.clone(), at: entry.at.as_millis() }
    }
}

/// New lines of a message's timeline, as they are stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// When the message was first claimed, if these lines say so.
    pub(crate) sending_at: Option<Timestamp>,
    /// The lines that no column tells, as a JSON array; `None` if there are none.
    pub(crate) stored: Option<serde_json::Value>,
}

impl Lines {
    /// Divides the new lines of a message, which is given as they leave it.
    pub(crate) fn of(message: &Message, lines: &[TimelineEntry]) -> Self {
        let is_claim =
            |line: &&TimelineEntry| line.status == MessageStatus::Sending && line.detail.is_none();
        let stored: Vec<StoredLine> = lines
            .iter()
            .filter(|line| !is_claim(line) && plain(message, line.status) != Some((*line).clone()))
            .map(StoredLine::from)
            .collect();
        Self {
            sending_at: lines.iter().find(is_claim).map(|line| line.at),
            stored: (!stored.is_empty()).then(|| serde_json::to_value(stored).unwrap_or_default()),
        }
    }
}

/// The line that the columns of a message tell about a status. `sending` is not among them: the
/// message itself does not know when it was claimed.
fn plain(message: &Message, status: MessageStatus) -> Option<TimelineEntry> {
    let times = &message.times;
    let at = match status {
        MessageStatus::Scheduled | MessageStatus::Queued => {
            let is_first = message.direction == Direction::Outbound
                && status == MessageStatus::on_acceptance(message.scheduled_at);
            is_first.then(|| message.created_at())
        }
        MessageStatus::Sent => times.sent_at,
        MessageStatus::Delivered => times.delivered_at,
        MessageStatus::Cancelled => times.cancelled_at,
        MessageStatus::Received => times.received_at,
        // These always have words, and a message that is delivered after all forgets the time.
        MessageStatus::Sending | MessageStatus::Undelivered | MessageStatus::Failed => None,
    };
    at.map(|at| TimelineEntry { status, detail: None, at })
}

/// The timeline of a message, oldest line first.
pub(crate) fn read(row: &PgRow, message: &Message) -> PgResult<Vec<TimelineEntry>> {
    row.in_table("message", || {
        let Json(stored) = row.try_get::<Json<Vec<StoredLine>>, _>("timeline")?;
        let read = |line: StoredLine| {
            let status = line.status.parse().map_err(|_| PgError::invalid("timeline"))?;
            Ok(TimelineEntry { status, detail: line.detail, at: Timestamp::from_millis(line.at) })
        };
        let stored: Vec<TimelineEntry> = stored.into_iter().map(read).collect::<PgResult<_>>()?;
        Ok(whole(message, row.maybe_at("sending_at")?, &stored))
    })
}

/// The statuses in the order in which a message enters them.
const IN_ORDER: [MessageStatus; 9] = [
    MessageStatus::Received,
    MessageStatus::Scheduled,
    MessageStatus::Queued,
    MessageStatus::Sending,
    MessageStatus::Sent,
    MessageStatus::Undelivered,
    MessageStatus::Failed,
    MessageStatus::Cancelled,
    MessageStatus::Delivered,
];

fn whole(
    message: &Message,
    sending_at: Option<Timestamp>,
    stored: &[TimelineEntry],
) -> Vec<TimelineEntry> {
    let mut lines = Vec::with_capacity(stored.len() + 4);
    for status in IN_ORDER {
        let of_status = stored.iter().filter(|line| line.status == status);
        let plain = match status {
            MessageStatus::Sending => {
                sending_at.map(|at| TimelineEntry { status, detail: None, at })
            }
            _ if of_status.clone().next().is_some() => None,
            _ => plain(message, status),
        };
        lines.extend(plain);
        lines.extend(of_status.cloned());
    }
    lines
}
