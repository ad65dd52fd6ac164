//! Delivery receipts, and networks' reports on segments.

use async_trait::async_trait;
use rusqlite::params;
use sms_core::commit::{Changes, Raised};
use sms_core::ids::MessageId;
use sms_core::receipt::report::{
    EarlyReport, EarlyReports, NetworkId, NetworkReport, ReportPlan, Reported, SentSegment,
};
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, ReceiptStatus, Recorded};
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::command::Size;
use crate::db::Db;
use crate::error::SqlResult;
use crate::row::{Cols, id, receipt, size, time};
use crate::sending::all_failed;

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

    async fn reports_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
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
    let NetworkReport { id: of, status } = plan.report.clone();
    let Some(known) = db.segment(&of)? else {
        db.keep_early(&of, status, plan.at)?;
        return Ok(Reported::Early);
    };
    let Known::Part(part) = known else {
        db.keep_early(&of, status, plan.at)?;
        return Ok(Reported::Early);
    };
    let Some(message) = db.message(part.message)? else { return Ok(Reported::Repeat) };
    let parts = if part.total > 1 { db.segments_of(part.message)? } else { vec![part] };
    let mut changes = Changes::default();
    let reported = changes.report(&mut plan, &message, &parts);
    if reported != Reported::Repeat {
        db.run(
            "UPDATE sent_segment SET report = ?3 WHERE route = ?1 AND network_id = ?2",
            params![of.route.as_str(), of.id, receipt(status)],
        )?;
    }
    db.write_but_events(changes.finish(), raised)?;
    Ok(reported)
}

/// What is stored under a network's id.
enum Known {
    Part(SentSegment),
    /// A report that came before its segment was recorded.
    Early(EarlyReport),
}

impl Db {
    fn segment(&self, of: &NetworkId) -> SqlResult<Option<Known>> {
        self.one(
            "SELECT message_id, total, report, at FROM sent_segment
             WHERE route = ?1 AND network_id = ?2",
            params![of.route.as_str(), of.id],
            |c| known(of.clone(), c),
        )
    }

    /// The segments of a message that has several.
    fn segments_of(&self, message: MessageId) -> SqlResult<Vec<SentSegment>> {
        let all = self.all(
            "SELECT route, network_id, message_id, total, report, at
             FROM sent_segment INDEXED BY sent_segment_by_message
             WHERE message_id = ?1 AND total > 1 ORDER BY route, network_id",
            [id(message)],
            |c| {
                let of = NetworkId::new(RouteName::new(c.get::<String>()?), c.get::<String>()?);
                known(of, c)
            },
        )?;
        let part = |known| match known {
            Known::Part(part) => Some(part),
            Known::Early(_) => None,
        };
        Ok(all.into_iter().filter_map(part).collect())
    }

    /// The reports about these segments that came before they were recorded.
    pub(crate) fn early_reports(&self, ids: &[NetworkId]) -> SqlResult<EarlyReports> {
        let mut early = EarlyReports::new();
        for of in ids {
            if let Some(Known::Early(report)) = self.segment(of)? {
                early.insert(of.clone(), report);
            }
        }
        Ok(early)
    }

    /// Keeps a report until its segment is recorded.
    fn keep_early(&self, of: &NetworkId, status: ReceiptStatus, at: Timestamp) -> SqlResult<()> {
        if let Some(Known::Early(report)) = self.segment(of)?
            && !report.gives_way(at)
        {
            return Ok(());
        }
        self.run(
            "INSERT OR REPLACE INTO sent_segment (route, network_id, message_id, total, report, at)
             VALUES (?1, ?2, NULL, 0, ?3, ?4)",
            params![of.route.as_str(), of.id, receipt(status), time(at)],
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

/// Reads a segment's message, total, report and time.
fn known(of: NetworkId, c: &mut Cols<'_>) -> SqlResult<Known> {
    let message = c.maybe_id()?;
    let total = c.map(|total: i64| usize::try_from(total).ok())?;
    let report = c.maybe_receipt()?;
    let at = c.at()?;
    match (message, report) {
        (Some(message), report) => {
            Ok(Known::Part(SentSegment { id: of, message, total, report, at }))
        }
        (None, Some(status)) => Ok(Known::Early(EarlyReport { status, at })),
        (None, None) => Err(c.invalid()),
    }
}
