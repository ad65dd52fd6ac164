//! Networks' reports on segments. Reports that arrive at about the same time share a commit.
//!
//! Most reports are recorded in one statement (`plain.rs`), and answered at once. For the others, a
//! commit first reads, without locks, which messages the reports are about, and stores reports on
//! unknown segments. It then locks the messages and reads their segments again. If a segment has
//! moved to another message meanwhile, the commit starts again.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::receipt::ReceiptStatus;
use sms_core::receipt::report::{
    EarlyReport, Known, NetworkId, NetworkReport, Place as At, ReportPlan, Reported, SentSegment,
};
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool};

use super::plain;
use super::record::locked;
use crate::begin::{again_on_conflict, begin, give_up};
use crate::change;
use crate::error::{Context, PgError, PgResult};
use crate::group_commit::pooled::Shared;
use crate::row::uuids;
use crate::sent_segment::{self, Aside, InTheWay, Place, Siblings};

/// The command that records reports on segments.
pub(crate) struct Reports;

#[async_trait]
impl Shared for Reports {
    type Plan = ReportPlan;
    type Answer = Reported;
    const DOING: &'static str = "recording reports on segments";

    async fn settle_at_once(
        pool: &PgPool,
        plans: &[ReportPlan],
    ) -> Result<BTreeMap<usize, Reported>, StoreError> {
        plain::report(pool, plans).await.context(Self::DOING)
    }

    async fn commit(pool: &PgPool, plans: Vec<ReportPlan>) -> Result<Vec<Reported>, StoreError> {
        let mut shared = BTreeSet::new();
        again_on_conflict!(Self::commit_locked(pool, plans.clone(), &mut shared))
    }
}

impl Reports {
    /// Settles plans against what it reads under locks. Looks beside those ids, too, that messages
    /// to other recipients have; `shared` holds these from one try to the next.
    async fn commit_locked(
        pool: &PgPool,
        mut plans: Vec<ReportPlan>,
        shared: &mut BTreeSet<NetworkId>,
    ) -> Result<Vec<Reported>, StoreError> {
        let doing = Self::DOING;
        let places = places(pool, &plans, shared).await.context(doing)?;
        if places.is_empty() {
            return Ok(plans.iter().map(|_| Reported::Early).collect());
        }
        let wanted: BTreeSet<MessageId> = places.values().map(|place| place.message).collect();
        let mut tx = begin(pool).await.context(doing)?;
        let ids = uuids(wanted.iter().copied());
        let messages = locked(&mut tx, ids).await.context(doing)?;
        let parts = Parts::read(&mut tx, &places).await.context(doing)?;
        let mut settling = Settling::new(messages, parts);
        let mut reported = Vec::with_capacity(plans.len());
        let mut asks = false;
        for plan in &mut plans {
            let id = &plan.report.id;
            if !places.contains_key(id) {
                reported.push(Reported::Early);
            } else if !settling.has(id) {
                return Err(give_up(tx, PgError::Overtaken.during(doing)).await);
            } else if settling.is_of_another(&plan.report) && !shared.contains(id) {
                asks = true;
                shared.insert(id.clone());
            } else {
                reported.push(settling.settle(plan));
            }
        }
        if asks {
            return Err(give_up(tx, PgError::Overtaken.during(doing)).await);
        }
        let held = settling.ids_to_hold();
        let Settling { parts, aside, changes, messages: _ } = settling;
        sent_segment::hold(&mut tx, &held).await.context(doing)?;
        parts.write(&mut tx).await.context(doing)?;
        if let Err(error) = sent_segment::keep_aside(&mut tx, aside).await {
            return Err(give_up(tx, error.during(doing)).await);
        }
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(reported)
    }
}

/// Reports that are settled one after another, against messages that are locked.
struct Settling {
    messages: BTreeMap<MessageId, Message>,
    parts: Parts,
    changes: Changes,
    /// Reports to keep beside their ids.
    aside: Vec<Aside>,
}

impl Settling {
    fn new(messages: BTreeMap<MessageId, Message>, parts: Parts) -> Self {
        Self { messages, parts, changes: Changes::default(), aside: Vec::new() }
    }

    /// Whether a segment with this id still belongs to one of the messages, or to one that is gone.
    fn has(&self, id: &NetworkId) -> bool {
        self.parts.holder(id).is_some_and(|holder| self.parts.wanted.contains(&holder))
    }

    /// Whether the message with the report's id went to another recipient.
    fn is_of_another(&self, report: &NetworkReport) -> bool {
        self.message(&report.id).is_some_and(|message| !report.may_concern(message.to))
    }

    fn message(&self, id: &NetworkId) -> Option<&Message> {
        self.messages.get(&self.parts.holder(id)?)
    }

    /// The ids whose rows are locked before any is written. If nothing is written beside ids, the
    /// order in which the rows are written is enough.
    fn ids_to_hold(&self) -> BTreeSet<NetworkId> {
        let (reported, aside) = (&self.parts.reported, &self.aside);
        if aside.is_empty() && !reported.iter().any(NetworkId::is_beside) {
            return BTreeSet::new();
        }
        let all = reported.iter().chain(aside.iter().map(|one| &one.id));
        all.map(|id| NetworkId::new(id.route.clone(), id.as_told())).collect()
    }

    fn settle(&mut self, plan: &mut ReportPlan) -> Reported {
        let to = |id: &NetworkId| Some(Known::Segment { to: self.message(id)?.to });
        let Ok(place) = plan.report.place(|id| Ok::<_, Infallible>(to(id)));
        let (of, holder) = match place {
            At::Segment(of) => (of.clone(), self.parts.holder(&of)),
            // Its message is gone.
            At::Early(name) if name == plan.report.id => return Reported::Repeat,
            At::Early(name) => {
                let (id, report) = (plan.report.id.clone(), plan.report.early(plan.at));
                let holder = self.parts.holder(&id);
                self.aside.push(Aside { id, holder, name, report });
                return Reported::Early;
            }
        };
        let found = holder.and_then(|holder| self.messages.get(&holder));
        let Some(message) = found else { return Reported::Repeat };
        let answer = self.changes.report(plan, &of, message, self.parts.of(message.id));
        if answer.is_stored() {
            self.parts.report(&of, plan.report.status);
        }
        answer
    }
}

/// Finds the messages that the reports are about, under their ids and beside those in `shared`.
/// Stores reports on segments that are not recorded yet.
async fn places(
    pool: &PgPool,
    plans: &[ReportPlan],
    shared: &BTreeSet<NetworkId>,
) -> PgResult<BTreeMap<NetworkId, Place>> {
    let reports = plans.iter().map(|plan| &plan.report);
    let mut ids: BTreeSet<NetworkId> = reports.clone().map(|report| report.id.clone()).collect();
    let of_shared = reports.filter(|report| shared.contains(&report.id));
    ids.extend(of_shared.flat_map(NetworkReport::beside));
    let mut places = sent_segment::places(pool, ids.iter()).await?;
    let mut early: BTreeMap<NetworkId, EarlyReport> = BTreeMap::new();
    let mut aside = Vec::new();
    let mut unknown = Vec::new();
    for ReportPlan { report, at, ids: _ } in plans {
        if places.contains_key(&report.id) {
            continue;
        }
        unknown.push((report, *at));
        let waiting = early.get(&report.id);
        if waiting.is_none_or(|waiting| waiting.may_be_of(&report.numbers)) {
            sent_segment::keep_newer(&mut early, report.id.clone(), report.early(*at));
        }
    }
    let InTheWay { places: known_meanwhile, others } =
        sent_segment::keep_early(pool, &early).await?;
    places.extend(known_meanwhile);
    for (report, at) in unknown {
        let id = &report.id;
        let is_kept = early.get(id).is_none_or(|kept| kept.may_be_of(&report.numbers));
        if places.contains_key(id) || (is_kept && !others.contains(id)) {
            continue;
        }
        if let Some(name) = report.beside().next() {
            let report = report.early(at);
            aside.push(Aside { id: id.clone(), holder: None, name, report });
        }
    }
    if !aside.is_empty() {
        let mut tx = begin(pool).await?;
        if let Err(error) = sent_segment::keep_aside(&mut tx, aside).await {
            return Err(give_up(tx, error).await);
        }
        tx.commit().await?;
    }
    Ok(places)
}

/// The segments of the locked messages. Each report that is settled updates them.
struct Parts {
    by_text: BTreeMap<MessageId, Vec<SentSegment>>,
    holders: BTreeMap<NetworkId, MessageId>,
    reported: BTreeSet<NetworkId>,
    /// The messages whose segments were read.
    wanted: BTreeSet<MessageId>,
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
        let wanted = places.values().map(|place| place.message).collect();
        Ok(Self { by_text, holders, reported: BTreeSet::new(), wanted })
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
