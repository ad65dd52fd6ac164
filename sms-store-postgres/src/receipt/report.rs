//! Networks' reports on segments. Reports that arrive at about the same time share a commit.
//!
//! Most reports are recorded in one statement (`plain.rs`). For the others, a commit first reads,
//! without locks, which messages the reports are about, and stores reports on unknown segments. It
//! then locks the messages and reads their segments again. If a segment has moved to another
//! message meanwhile, the commit starts again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::ids::MessageId;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{
    EarlyReport, NetworkId, NetworkReport, ReportPlan, Reported, SentSegment,
};
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool};

use super::plain;
use super::record::locked;
use crate::begin::{again_on_conflict, begin};
use crate::change;
use crate::error::{Context, PgError, PgResult};
use crate::group_commit::pooled::Shared;
use crate::row::uuids;
use crate::sent_segment::{self, Place, Siblings};

/// The command that records reports on segments.
pub(crate) struct Reports;

#[async_trait]
impl Shared for Reports {
    type Plan = ReportPlan;
    type Answer = Reported;
    const DOING: &'static str = "recording reports on segments";

    async fn commit(pool: &PgPool, plans: Vec<ReportPlan>) -> Result<Vec<Reported>, StoreError> {
        let mut answers = plain::report(pool, &plans).await.context(Self::DOING)?;
        let is_left = |(place, _): &(usize, ReportPlan)| !answers.contains_key(place);
        let (left, plans): (Vec<usize>, Vec<ReportPlan>) =
            plans.into_iter().enumerate().filter(is_left).unzip();
        if !plans.is_empty() {
            // The others are committed: to run them again would answer that they are repeated.
            let settled = again_on_conflict!(Self::commit_locked(pool, plans.clone()));
            answers.extend(left.into_iter().zip(settled?));
        }
        Ok(answers.into_values().collect())
    }
}

impl Reports {
    /// Settles plans against what it reads under locks.
    async fn commit_locked(
        pool: &PgPool,
        mut plans: Vec<ReportPlan>,
    ) -> Result<Vec<Reported>, StoreError> {
        let doing = Self::DOING;
        let places = places(pool, &plans).await.context(doing)?;
        if places.is_empty() {
            return Ok(plans.iter().map(|_| Reported::Early).collect());
        }
        let wanted: BTreeSet<MessageId> = places.values().map(|place| place.message).collect();
        let mut tx = begin(pool).await.context(doing)?;
        let ids = uuids(wanted.iter().copied());
        let messages = locked(&mut tx, ids).await.context(doing)?;
        let mut parts = Parts::read(&mut tx, &places).await.context(doing)?;
        let mut changes = Changes::default();
        let mut reported = Vec::with_capacity(plans.len());
        for plan in &mut plans {
            let id = plan.report.id.clone();
            if !places.contains_key(&id) {
                reported.push(Reported::Early);
                continue;
            }
            let holder = parts.holder(&id).filter(|holder| wanted.contains(holder));
            let Some(holder) = holder else { return Err(PgError::Overtaken.during(Self::DOING)) };
            let Some(message) = messages.get(&holder) else {
                reported.push(Reported::Repeat);
                continue;
            };
            let answer = changes.report(plan, message, parts.of(holder));
            if answer != Reported::Repeat {
                parts.report(&id, plan.report.status);
            }
            reported.push(answer);
        }
        parts.write(&mut tx).await.context(doing)?;
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(reported)
    }
}

/// Finds the messages that the reports are about. Stores reports on segments that are not recorded
/// yet.
async fn places(pool: &PgPool, plans: &[ReportPlan]) -> PgResult<BTreeMap<NetworkId, Place>> {
    let ids: BTreeSet<&NetworkId> = plans.iter().map(|plan| &plan.report.id).collect();
    let mut places = sent_segment::places(pool, ids.into_iter()).await?;
    let mut early: BTreeMap<&NetworkId, EarlyReport> = BTreeMap::new();
    for ReportPlan { report: NetworkReport { id, status }, at, ids: _ } in plans {
        if places.contains_key(id) {
            continue;
        }
        let report = EarlyReport { status: *status, at: *at };
        match early.entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(report);
            }
            Entry::Occupied(mut entry) if entry.get().gives_way(report.at) => {
                entry.insert(report);
            }
            Entry::Occupied(_) => {}
        }
    }
    let known_meanwhile = sent_segment::keep_early(pool, &early).await?;
    places.extend(known_meanwhile);
    Ok(places)
}

/// The segments of the locked messages. Each report that is settled updates them.
struct Parts {
    by_text: BTreeMap<MessageId, Vec<SentSegment>>,
    holders: BTreeMap<NetworkId, MessageId>,
    reported: BTreeSet<NetworkId>,
}

impl Parts {
    async fn read(
        connection: &mut PgConnection,
        places: &BTreeMap<NetworkId, Place>,
    ) -> PgResult<Self> {
        let alone = places.iter().filter(|(_, place)| place.siblings == Siblings::None);
        let among = places.values().filter(|place| place.siblings == Siblings::Some);
        let messages: BTreeSet<MessageId> = among.map(|place| place.message).collect();
        let mut found =
            sent_segment::parts(connection, alone.map(|(id, _)| id), messages.into_iter()).await?;
        found.sort_by(|one, other| one.id.cmp(&other.id));
        let holders = found.iter().map(|part| (part.id.clone(), part.message)).collect();
        let mut by_text: BTreeMap<MessageId, Vec<SentSegment>> = BTreeMap::new();
        for part in found {
            by_text.entry(part.message).or_default().push(part);
        }
        Ok(Self { by_text, holders, reported: BTreeSet::new() })
    }

    /// The message that has this segment.
    fn holder(&self, id: &NetworkId) -> Option<MessageId> {
        self.holders.get(id).copied()
    }

    /// All segments of a message.
    fn of(&self, message: MessageId) -> &[SentSegment] {
        self.by_text.get(&message).map_or(&[], Vec::as_slice)
    }

    fn report(&mut self, id: &NetworkId, status: ReceiptStatus) {
        let parts = self.holders.get(id).and_then(|holder| self.by_text.get_mut(holder));
        if let Some(part) = parts.into_iter().flatten().find(|part| part.id == *id) {
            part.report = Some(status);
            self.reported.insert(id.clone());
        }
    }

    /// Writes the reports, in key order.
    async fn write(self, connection: &mut PgConnection) -> PgResult<()> {
        let all = self.by_text.values().flatten();
        let mut reported: Vec<&SentSegment> =
            all.filter(|part| self.reported.contains(&part.id)).collect();
        reported.sort_by(|one, other| one.id.cmp(&other.id));
        sent_segment::write_reports(connection, &reported).await
    }
}
