//! The audit of the file store: `sms-server check`, further rules, and what else the audit reads.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Row};
use sms_core::ids::{BatchId, DeliveryId, MessageId};
use sms_core::message::MessageStatus;
use sms_core::webhook::delivery::DeliveryStatus;
use sms_store_sqlite::check_file;
use uuid::Uuid;

use super::messages::{Text, history, says_perhaps};
use super::rules::Waiting;
use super::webhooks::{Endpoint, Made, Webhooks};
use crate::rig::RigFailed;
use crate::rig::report::Violation;

/// Rules beside those of the check: what must hold while no message is old enough to be removed.
const ALWAYS: [(&str, &str); 5] = [
    (
        "a request makes one send, however often it is repeated",
        "SELECT 'account ' || account || ' ' || body FROM message
         WHERE direction = 0 GROUP BY account, body HAVING count(DISTINCT batch_id) <> 1",
    ),
    (
        "a stored idempotency key has its send",
        "SELECT 'batch ' || hex(k.batch_id) FROM idempotency_key k
         WHERE k.credits > 0 AND NOT EXISTS (
             SELECT 1 FROM message m WHERE m.account = k.account AND m.batch_id = k.batch_id)",
    ),
    (
        "statistics equal a recount of messages and ledger",
        "SELECT 'account ' || a.no || ' span ' || s.span
         FROM account a JOIN (
             SELECT account, span, sum(sent) AS sent, sum(delivered) AS delivered,
                    sum(failed) AS failed, sum(received) AS received, sum(credits) AS credits
             FROM statistic GROUP BY account, span) s ON s.account = a.no
         JOIN (
             SELECT account, count(sent_at) AS sent, count(delivered_at) AS delivered,
                    count(failed_at) AS failed, count(received_at) AS received
             FROM message WHERE mode = 0 GROUP BY account) m ON m.account = a.no
         WHERE (s.sent, s.delivered, s.failed, s.received)
                   <> (m.sent, m.delivered, m.failed, m.received)
            OR s.credits <> (SELECT -sum(e.amount) FROM ledger_entry e
                             WHERE e.account = a.no AND e.kind IN (0, 1))",
    ),
    (
        "a sent message has a receipt to come",
        "SELECT 'message ' || hex(m.id) FROM message m
         WHERE m.status = 3
           AND NOT EXISTS (SELECT 1 FROM follow_up f WHERE f.message_id = m.id)",
    ),
    (
        "no launch is left half done",
        "SELECT 'batch ' || hex(batch_id) FROM launching WHERE state = 2",
    ),
];

const AT_THE_END: [(&str, &str); 3] = [
    (
        "every accepted message reaches a final status",
        "SELECT 'message ' || hex(id) || ' ' || status FROM message WHERE status < 4",
    ),
    ("no follow-up is left", "SELECT 'message ' || hex(message_id) FROM follow_up"),
    (
        "every delivery is delivered or given up",
        "SELECT 'delivery ' || hex(id) FROM delivery WHERE status = 0",
    ),
];

/// A file that is read beside its server.
pub(in crate::rig) struct FileBooks {
    path: PathBuf,
    connection: Connection,
}

impl FileBooks {
    pub(super) fn open(path: &Path) -> Result<Self, RigFailed> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
        Ok(Self { path: path.to_owned(), connection })
    }

    pub(super) fn always(&self) -> Result<Vec<Violation>, RigFailed> {
        let findings = check_file(&self.path)?;
        let finding = |finding: &sms_store_sqlite::Finding| {
            Violation::new("the check finds nothing", finding.to_string())
        };
        let mut violations: Vec<Violation> = findings.iter().map(finding).collect();
        violations.extend(self.ask(&ALWAYS)?);
        Ok(violations)
    }

    pub(super) fn at_the_end(&self) -> Result<Vec<Violation>, RigFailed> {
        self.ask(&AT_THE_END)
    }

    fn ask(&self, rules: &[(&'static str, &str)]) -> Result<Vec<Violation>, RigFailed> {
        let mut violations = Vec::new();
        for (rule, query) in rules {
            let subjects = self.all(query, |row| row.get::<_, String>(0))?;
            violations.extend(subjects.into_iter().map(|subject| Violation::new(rule, subject)));
        }
        Ok(violations)
    }

    fn all<T>(
        &self,
        query: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RigFailed> {
        let mut statement = self.connection.prepare(query)?;
        Ok(statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?)
    }

    pub(super) fn waiting(&self) -> Result<Waiting, RigFailed> {
        let query = "SELECT (SELECT count(*) FROM queue), (SELECT count(*) FROM follow_up),
                            count(*), coalesce(sum(attempts), 0)
                     FROM delivery WHERE status = 0";
        Ok(self.connection.query_row(query, [], |row| {
            Ok(Waiting {
                messages: row.get(0)?,
                receipts: row.get(1)?,
                deliveries: row.get(2)?,
                attempts: row.get(3)?,
            })
        })?)
    }

    pub(super) fn messages(&self) -> Result<Vec<Text>, RigFailed> {
        let query = "SELECT m.id, a.id, m.status, m.batch_id, m.body, m.to_number, m.scheduled_at,
                            m.timeline
                     FROM message m JOIN account a ON a.no = m.account
                     WHERE m.direction = 0 ORDER BY m.id";
        self.all(query, |row| {
            let scheduled_at: Option<i64> = row.get(6)?;
            let timeline: String = row.get(7)?;
            let told = lines(&timeline).ok_or(Meaningless("timeline"))?;
            let plain = [(MessageStatus::Queued, told.first().map(|(_, at)| *at))];
            Ok(Text {
                id: MessageId::from_u128(number(row, 0)?),
                account: Uuid::from_u128(number(row, 1)?),
                status: status_of(row.get(2)?).ok_or(Meaningless("status"))?,
                batch: BatchId::from_u128(number(row, 3)?),
                words: row.get(4)?,
                to: row.get::<_, i64>(5)?.cast_unsigned(),
                scheduled_at,
                history: history(&plain, &told, scheduled_at.is_some()),
                left_perhaps: says_perhaps(&timeline),
            })
        })
    }

    pub(super) fn webhooks(&self) -> Result<Webhooks, RigFailed> {
        let query = "SELECT e.id, a.id, e.events, e.off IS NULL
                     FROM endpoint e JOIN account a ON a.no = e.account";
        let endpoints = self.all(query, |row| {
            let events: String = row.get(2)?;
            Ok(Endpoint {
                id: Uuid::from_u128(number(row, 0)?),
                account: Uuid::from_u128(number(row, 1)?),
                events: events.split_whitespace().map(str::to_owned).collect(),
                is_on: row.get(3)?,
            })
        })?;
        let query = "SELECT id, endpoint_id, event_type, body ->> '$.data.id', status
                     FROM delivery ORDER BY id";
        let deliveries = self.all(query, |row| {
            let message: Option<String> = row.get(3)?;
            let status = DeliveryStatus::ALL.get(usize::from(row.get::<_, u8>(4)?)).copied();
            Ok(Made {
                id: DeliveryId::from_u128(number(row, 0)?),
                endpoint: Uuid::from_u128(number(row, 1)?),
                event: row.get(2)?,
                message: message.and_then(|id| id.parse().ok()),
                status: status.ok_or(Meaningless("status"))?,
            })
        })?;
        Ok(Webhooks { endpoints, deliveries })
    }
}

/// A column that no version of the store has written.
#[derive(Debug, thiserror::Error)]
#[error("the column {0} has no meaning")]
struct Meaningless(&'static str);

impl From<Meaningless> for rusqlite::Error {
    fn from(column: Meaningless) -> Self {
        Self::ToSqlConversionFailure(Box::new(column))
    }
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u128> {
    Ok(u128::from_be_bytes(row.get(column)?))
}

fn status_of(place: u8) -> Option<MessageStatus> {
    MessageStatus::ALL.get(usize::from(place)).copied()
}

/// The lines of a timeline: status, time, and perhaps a detail.
fn lines(timeline: &str) -> Option<Vec<(MessageStatus, i64)>> {
    let line = |line: &str| {
        let mut words = line.splitn(3, ' ');
        Some((status_of(words.next()?.parse().ok()?)?, words.next()?.parse().ok()?))
    };
    timeline.lines().map(line).collect()
}
