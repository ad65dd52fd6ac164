//! How a message's timeline is stored: times in columns, and as JSON only the lines with words.
//!
//! A message never goes back to an earlier status, and enters each once. So the columns tell the
//! plain lines, in the order of the statuses, and the stored lines of a status follow its plain
//! line. A status that has stored lines has no plain one, except for `sending`, whose notes about
//! retries are stored and whose first line has a separate column.

use serde::{Deserialize, Serialize};
use sms_core::message::{Direction, Message, MessageStatus, TimelineEntry, Times};
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
        Self::told(&Told::of(message), lines)
    }

    /// Divides lines of a message whose other columns tell this.
    pub(crate) fn told(told: &Told, lines: &[TimelineEntry]) -> Self {
        let is_claim =
            |line: &&TimelineEntry| line.status == MessageStatus::Sending && line.detail.is_none();
        let stored: Vec<StoredLine> = lines
            .iter()
            .filter(|line| !is_claim(line) && told.plain(line.status) != Some((*line).clone()))
            .map(StoredLine::from)
            .collect();
        Self {
            sending_at: lines.iter().find(is_claim).map(|line| line.at),
            stored: (!stored.is_empty()).then(|| serde_json::to_value(stored).unwrap_or_default()),
        }
    }
}

/// What the columns of a message tell about its timeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) direction: Direction,
    pub(crate) created_at: Timestamp,
    pub(crate) scheduled_at: Option<Timestamp>,
    pub(crate) times: Times,
}

impl Told {
    fn of(message: &Message) -> Self {
        Self {
            direction: message.direction,
            created_at: message.created_at(),
            scheduled_at: message.scheduled_at,
            times: message.times,
        }
    }

    /// The line that the columns tell about a status. `sending` is not among them: the message
    /// itself does not know when it was claimed.
    fn plain(&self, status: MessageStatus) -> Option<TimelineEntry> {
        let times = &self.times;
        let at = match status {
            MessageStatus::Scheduled | MessageStatus::Queued => {
                let is_first = self.direction == Direction::Outbound
                    && status == MessageStatus::on_acceptance(self.scheduled_at);
                is_first.then_some(self.created_at)
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
}

/// The timeline of a message, oldest line first.
pub(crate) fn read(row: &PgRow, message: &Message) -> PgResult<Vec<TimelineEntry>> {
    row.in_table("message", || {
        let Json(stored) = row.try_get::<Json<Vec<StoredLine>>, _>("timeline")?;
        whole_of(stored, row, &Told::of(message))
    })
}

/// The timeline in a row that has its stored lines as text.
pub(crate) fn stored(row: &PgRow, told: &Told) -> PgResult<Vec<TimelineEntry>> {
    let stored = serde_json::from_str(row.try_get("timeline")?);
    whole_of(stored.map_err(|_| PgError::invalid("timeline"))?, row, told)
}

fn whole_of(stored: Vec<StoredLine>, row: &PgRow, told: &Told) -> PgResult<Vec<TimelineEntry>> {
    let read = |line: StoredLine| {
        let status = line.status.parse().map_err(|_| PgError::invalid("timeline"))?;
        Ok(TimelineEntry { status, detail: line.detail, at: Timestamp::from_millis(line.at) })
    };
    let stored: Vec<TimelineEntry> = stored.into_iter().map(read).collect::<PgResult<_>>()?;
    Ok(whole(told, row.maybe_at("sending_at")?, &stored))
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
    told: &Told,
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
            _ => told.plain(status),
        };
        lines.extend(plain);
        lines.extend(of_status.cloned());
    }
    lines
}
