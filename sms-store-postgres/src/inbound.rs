//! Inbound messages.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::MessageKind;
use sms_core::inbound::segment::{GaveUp, GiveUpPlan, SegmentPlan, SegmentTaken};
use sms_core::inbound::store::{InboundStore, ReadsInbound};
use sms_core::inbound::{InboundPlan, Origin, TakenIn, Unrouted};
use sms_core::message::Body;
use sms_core::page::{Page, PageRequest};
use sms_core::store::StoreError;
use sms_core::text::Segments;
use sms_core::time::Timestamp;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::begin::{again_on_conflict, begin, give_up};
use crate::error::{Context, PgResult};
use crate::receipt::take_follow_up;
use crate::retention::{self, delete_older};
use crate::row::{Read, uuid};
use crate::{PgStore, inbound_segment};

mod take;

pub(crate) use take::take;

#[async_trait]
impl ReadsInbound for PgStore {
    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError> {
        let doing = "listing unrouted messages";
        let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<MessageKind>()));
        let rows = sqlx::query(
            "SELECT id, from_number, from_name, to_number, body, encoding, segments, received_at
             FROM unrouted WHERE id < $1 ORDER BY id DESC LIMIT $2",
        )
        .bind(before)
        .bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX))
        .fetch_all(&self.pool)
        .await
        .context(doing)?;
        let rows: PgResult<Vec<Unrouted>> = rows.iter().map(unrouted).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |text: &Unrouted| text.id))
    }
}

#[async_trait]
impl InboundStore for PgStore {
    async fn inbound_take(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        again_on_conflict!(self.take_in_once(plan.clone(), claim))
    }

    async fn inbound_segment_take(&self, plan: SegmentPlan) -> Result<SegmentTaken, StoreError> {
        again_on_conflict!(inbound_segment::take_once(&self.pool, plan.clone()))
    }

    async fn inbound_segment_give_up(&self, plan: GiveUpPlan) -> Result<GaveUp, StoreError> {
        again_on_conflict!(inbound_segment::give_up_once(&self.pool, plan.clone()))
    }
}

impl PgStore {
    pub(crate) async fn last_contacted_tidy(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let old = delete_older!("last_contacted", key: "number, person", age: "at");
        let deleted = retention::delete(&self.pool, old, before, limit).await;
        deleted.context("tidying records of last contact")
    }

    async fn take_in_once(
        &self,
        plan: InboundPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<TakenIn>, StoreError> {
        let doing = "accepting an inbound message";
        let mut tx = begin(&self.pool).await.context(doing)?;
        if let Origin::Answer { follow_up, .. } = plan.origin
            && !take_follow_up(&mut tx, uuid(follow_up)).await.context(doing)?
        {
            return Ok(give_up(tx, Once::Done(TakenIn::AlreadyDone)).await);
        }
        let taken = take(&mut tx, plan).await.context(doing)?;
        self.conclude(tx, claim, taken).await.context(doing)
    }
}

fn unrouted(row: &PgRow) -> PgResult<Unrouted> {
    row.in_table("unrouted", || {
        Ok(Unrouted {
            id: row.id("id")?,
            from: row.originator()?,
            to: row.number("to_number")?,
            body: Body::new(row.try_get::<String, _>("body")?),
            encoding: row.name("encoding")?,
            segments: Segments::new(row.count("segments")?),
            received_at: row.at("received_at")?,
        })
    })
}
