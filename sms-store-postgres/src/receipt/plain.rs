//! Records reports on messages of one segment, in one statement: see [`crate::guarded`].

use std::collections::{BTreeMap, BTreeSet};

use sms_core::commit::Changes;
use sms_core::message::MessageStatus;
use sms_core::receipt::report::{NetworkId, ReportPlan, Reported, SentSegment};
use sqlx::PgPool;

use crate::error::PgResult;
use crate::guarded::{self, Guarded};
use crate::sent_segment;

/// Records what is plain. Returns the answers, by the places of their plans; the other plans still
/// have to be recorded.
pub(super) async fn report(
    pool: &PgPool,
    plans: &[ReportPlan],
) -> PgResult<BTreeMap<usize, Reported>> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<&NetworkId> =
        plans.iter().map(|plan| &plan.report.id).filter(|id| !seen.insert(*id)).collect();
    let once: Vec<(usize, &ReportPlan)> =
        plans.iter().enumerate().filter(|(_, plan)| !twice.contains(&plan.report.id)).collect();
    let ids: Vec<&NetworkId> = once.iter().map(|(_, plan)| &plan.report.id).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut connection = pool.acquire().await?;
    let (found, endpoints) = sent_segment::of_sent(&mut connection, &ids).await?;
    let mut changes = Changes::default();
    let (mut places, mut answers, mut reports) = (Vec::new(), Vec::new(), Vec::new());
    for (place, plan) in once {
        let Some((part, message)) = found.get(&plan.report.id) else { continue };
        if !plan.report.may_concern(message.to) {
            continue;
        }
        let of = &plan.report.id;
        let answer = changes.report(&mut plan.clone(), of, message, std::slice::from_ref(part));
        if answer.is_stored() {
            let report = Some(plan.report.status);
            reports.push((SentSegment { report, ..part.clone() }, part.report));
        }
        places.push(place);
        answers.push(answer);
    }
    let changes = changes.finish();
    if places.is_empty() || !guarded::is_plain(&changes) {
        return Ok(BTreeMap::new());
    }
    // In key order, as all rows of segments are written.
    reports.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    let was = MessageStatus::Sent;
    let guarded =
        Guarded { was, held: &BTreeMap::new(), parts: &[], reports: &reports, changes: &changes };
    if !guarded::write(pool, connection, guarded, endpoints).await? {
        return Ok(BTreeMap::new());
    }
    Ok(places.into_iter().zip(answers).collect())
}
