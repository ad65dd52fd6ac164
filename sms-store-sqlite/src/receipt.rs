//! Delivery receipts, and networks' reports on segments.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{Changes, Raised};
use sms_core::dispatch::names_beside;
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::receipt::report::{
    Beside, EarlyReport, EarlyReports, Known, NetworkId, NetworkReport, Place, ReportPlan,
    Reported, SentSegment,
};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::unmatched::{UNMATCHED_MOST, Unmatched, UnmatchedReport};
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::error::{SqlResult, all_failed};
use crate::row::{Cols, id, receipt, size, time};

#[async_trait]
impl ReceiptStore for SqliteStore {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Vec<Result<Recorded, StoreError>> {
        let count = plans.len();
        let recorded = self.write_sized("recording receipts", Size::Small(count), move |db| {
            let mut raised = Vec::new();
            let record = |plan: &ReceiptPlan| record_receipt(db, plan.clone(), &mut raised);
            let recorded = plans.iter().map(record).collect::<SqlResult<Vec<_>>>()?;
            db.raise(raised)?;
            Ok(recorded)
        });
        match recorded.await {
            Ok(recorded) => recorded.into_iter().map(Ok).collect(),
            Err(error) => all_failed(count, &error),
        }
    }

    async fn reports_record(&self, plans: Vec<ReportPlan>) -> Vec<Result<Reported, StoreError>> {
        let count = plans.len();
        let recorded = self.write_sized("recording reports", Size::Small(count), move |db| {
            let mut raised = Vec::new();
            let record = |plan: &ReportPlan| record_report(db, plan.clone(), &mut raised);
            let recorded = plans.iter().map(record).collect::<SqlResult<Vec<_>>>()?;
            db.raise(raised)?;
            Ok(recorded)
        });
        match recorded.await {
            Ok(recorded) => recorded.into_iter().map(Ok).collect(),
            Err(error) => all_failed(count, &error),
        }
    }

    async fn reports_unmatched(
        &self,
        route: &RouteName,
        before: Timestamp,
        limit: usize,
    ) -> Result<Unmatched, StoreError> {
        let route = route.clone();
        self.read("listing unmatched receipts", move |db| unmatched(db, &route, before, limit))
            .await
    }

    async fn segments_sent(&self, reports: Vec<NetworkReport>) -> Result<Vec<bool>, StoreError> {
        self.read("looking up segments", move |db| {
            let is_sent = |report: &NetworkReport| {
                let Some(Stored::Part(part)) = db.segment(&report.id)? else { return Ok(false) };
                let message = db.message(part.message)?;
                Ok(message.is_some_and(|message| report.may_concern(message.to)))
            };
            reports.iter().map(is_sent).collect::<SqlResult<Vec<_>>>()
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn reports_trim(
        &self,
        route: &RouteName,
        before: Timestamp,
        keep: usize,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let route = route.clone();
        self.write("trimming unmatched receipts", move |db| {
            let removed = db.run(
                "DELETE FROM sent_segment WHERE (route, network_id) IN (
                     SELECT route, network_id FROM sent_segment INDEXED BY sent_segment_early
                     WHERE route = ?1 AND message_id IS NULL AND at < ?2
                     ORDER BY at DESC, network_id DESC LIMIT ?4 OFFSET ?3)",
                params![route.as_str(), time(before), size(keep), size(limit)],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }

    pub(crate) async fn reports_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        self.write("tidying segments", move |db| {
            let removed = db.run(
                "DELETE FROM sent_segment WHERE (route, network_id) IN (
                     SELECT route, network_id FROM sent_segment INDEXED BY sent_segment_by_age
                     WHERE at < ?1 ORDER BY at LIMIT ?2)",
                [time(before), size(limit)],
            )?;
            Ok(db.note_tidied(removed))
        })
        .await
    }
}

fn unmatched(db: &Db, route: &RouteName, before: Timestamp, limit: usize) -> SqlResult<Unmatched> {
    let counted = db.all(
        "SELECT 1 FROM sent_segment INDEXED BY sent_segment_early
         WHERE route = ?1 AND message_id IS NULL AND at < ?2 LIMIT ?3",
        params![route.as_str(), time(before), size(UNMATCHED_MOST)],
        |_| Ok(()),
    )?;
    let newest = db.all(
        "SELECT network_id, report, at, numbers FROM sent_segment INDEXED BY sent_segment_early
         WHERE route = ?1 AND message_id IS NULL AND at < ?2
         ORDER BY at DESC, network_id DESC LIMIT ?3",
        params![route.as_str(), time(before), size(limit)],
        |c| {
            let id = NetworkId::new(route.clone(), c.get::<String>()?);
            let status = c.maybe_receipt()?;
            let at = c.at()?;
            let numbers = c.map(|text: Option<String>| EarlyReport::numbers_of(text.as_deref()))?;
            match status {
                Some(status) => Ok(UnmatchedReport { id, status, at, numbers }),
                None => Err(c.invalid()),
            }
        },
    )?;
    Ok(Unmatched { count: counted.len(), newest })
}

/// Adds the events to `raised`, as [`record_report`] does.
fn record_receipt(db: &Db, mut plan: ReceiptPlan, raised: &mut Vec<Raised>) -> SqlResult<Recorded> {
    if let Some(follow_up) = plan.follow_up
        && !db.remove_follow_up(follow_up)?
    {
        return Ok(Recorded::AlreadyDone);
    }
    let message = db.message(plan.receipt.message)?;
    let mut changes = Changes::default();
    let recorded = changes.receipt(&mut plan, message.as_ref());
    db.write_but_events(changes.finish(), raised)?;
    Ok(recorded)
}

fn record_report(db: &Db, mut plan: ReportPlan, raised: &mut Vec<Raised>) -> SqlResult<Reported> {
    let mut part = None;
    let place = plan.report.place(|id| {
        Ok::<_, rusqlite::Error>(match db.segment(id)? {
            Some(Stored::Part(found)) => {
                let message = db.message(found.message)?;
                let known = message.as_ref().map(|message| Known::Segment { to: message.to });
                part = message.map(|message| (found, message));
                known
            }
            Some(Stored::Early(report)) => Some(Known::Early(report)),
            None => None,
        })
    })?;
    let of = match place {
        Place::Segment(of) => of,
        Place::Early(under) => {
            db.keep_early(&under, &plan.report.early(plan.at))?;
            return Ok(Reported::Early);
        }
    };
    let Some((part, message)) = part else { return Ok(Reported::Repeat) };
    let parts = if part.total > 1 { db.segments_of(part.message)? } else { vec![part] };
    let status = plan.report.status;
    let mut changes = Changes::default();
    let reported = changes.report(&mut plan, &of, &message, &parts);
    if reported.is_stored() {
        db.run(
            "UPDATE sent_segment SET report = ?3 WHERE route = ?1 AND network_id = ?2",
            params![of.route.as_str(), of.id, receipt(status)],
        )?;
    }
    db.write_but_events(changes.finish(), raised)?;
    Ok(reported)
}

/// What was stored under the ids of a message's segments.
#[derive(Default)]
pub(crate) struct Former {
    /// Reports that came before the segments were recorded.
    pub(crate) early: EarlyReports,
    /// Segments of other messages, under the names beside the ids that they get.
    pub(crate) segments: Vec<SentSegment>,
}

/// What is stored under a network's id.
enum Stored {
    Part(SentSegment),
    /// A report that came before its segment was recorded.
    Early(EarlyReport),
}

impl Db {
    fn segment(&self, of: &NetworkId) -> SqlResult<Option<Stored>> {
        self.one(
            "SELECT message_id, total, report, at, numbers FROM sent_segment
             WHERE route = ?1 AND network_id = ?2",
            params![of.route.as_str(), of.id],
            |c| stored(of.clone(), c),
        )
    }

    /// The segments of a message that has several.
    fn segments_of(&self, message: MessageId) -> SqlResult<Vec<SentSegment>> {
        let all = self.all(
            "SELECT route, network_id, message_id, total, report, at, numbers
             FROM sent_segment INDEXED BY sent_segment_by_message
             WHERE message_id = ?1 AND total > 1 ORDER BY route, network_id",
            [id(message)],
            |c| {
                let of = NetworkId::new(RouteName::new(c.get::<String>()?), c.get::<String>()?);
                stored(of, c)
            },
        )?;
        let part = |stored| match stored {
            Stored::Part(part) => Some(part),
            Stored::Early(_) => None,
        };
        Ok(all.into_iter().filter_map(part).collect())
    }

    /// What is stored under the ids of this message's segments.
    pub(crate) fn former(&self, ids: &[NetworkId], message: &Message) -> SqlResult<Former> {
        let mut former = Former::default();
        for of in ids {
            match self.segment(of)? {
                None => continue,
                Some(Stored::Early(report)) => drop(former.early.insert(of.clone(), report)),
                Some(Stored::Part(part)) if part.message == message.id => continue,
                Some(Stored::Part(part)) => {
                    if let Some(other) = self.message(part.message)?
                        && other.to != message.to
                    {
                        former.segments.push(SentSegment { id: of.beside(other.to), ..part });
                    }
                }
            }
            for name in names_beside(of, message) {
                if let Some(Stored::Early(report)) = self.segment(&name)? {
                    former.early.insert(name, report);
                }
            }
        }
        Ok(former)
    }

    /// Writes early reports beside ids, and removes those that have counted.
    pub(crate) fn keep_beside(&self, beside: &Beside) -> SqlResult<()> {
        for (name, report) in beside {
            match (report, self.segment(name)?) {
                (_, Some(Stored::Part(_))) => {}
                (Some(report), _) => self.put_early(name, report)?,
                (None, _) => {
                    self.run(
                        "DELETE FROM sent_segment WHERE route = ?1 AND network_id = ?2",
                        params![name.route.as_str(), name.id],
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Keeps a report until its segment is recorded.
    fn keep_early(&self, of: &NetworkId, news: &EarlyReport) -> SqlResult<()> {
        match self.segment(of)? {
            Some(Stored::Early(report)) if !report.gives_way(news.at) => Ok(()),
            // A segment whose message is gone.
            Some(Stored::Part(_)) => Ok(()),
            _ => self.put_early(of, news),
        }
    }

    fn put_early(&self, of: &NetworkId, news: &EarlyReport) -> SqlResult<()> {
        self.run(
            "INSERT OR REPLACE INTO sent_segment (route, network_id, message_id, total, report, at,
                 numbers)
             VALUES (?1, ?2, NULL, 0, ?3, ?4, ?5)",
            params![
                of.route.as_str(),
                of.id,
                receipt(news.status),
                time(news.at),
                news.numbers_text()
            ],
        )?;
        Ok(())
    }

    pub(crate) fn keep_part(&self, part: &SentSegment) -> SqlResult<()> {
        let SentSegment { id: of, message, total, report, at } = part;
        self.run(
            "INSERT OR REPLACE INTO sent_segment (route, network_id, message_id, total, report, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                of.route.as_str(),
                of.id,
                id(*message),
                size(*total),
                report.map(receipt),
                time(*at)
            ],
        )?;
        Ok(())
    }
}

/// Reads a segment's message, total, report and time, and the numbers of an early report.
fn stored(of: NetworkId, c: &mut Cols<'_>) -> SqlResult<Stored> {
    let message = c.maybe_id()?;
    let total = c.map(|total: i64| usize::try_from(total).ok())?;
    let report = c.maybe_receipt()?;
    let at = c.at()?;
    match (message, report) {
        (Some(message), report) => {
            Ok(Stored::Part(SentSegment { id: of, message, total, report, at }))
        }
        (None, Some(status)) => {
            let numbers = c.map(|text: Option<String>| EarlyReport::numbers_of(text.as_deref()))?;
            Ok(Stored::Early(EarlyReport { status, at, numbers }))
        }
        (None, None) => Err(c.invalid()),
    }
}
