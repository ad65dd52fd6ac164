//! Records receipts. Receipts that arrive at about the same time share a commit.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::ids::{FollowUpId, MessageId};
use sms_core::message::Message;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::store::StoreError;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::event::{check_order, is_younger};
use crate::group_commit::pooled::Shared;
use crate::row::{self, Read, uuids};
use crate::{change, message_columns};

/// The command that records receipts.
pub(crate) struct Receipts;

#[async_trait]
impl Shared for Receipts {
    type Plan = ReceiptPlan;
    type Answer = Recorded;
    const DOING: &'static str = "recording receipts";

    async fn commit(
        pool: &PgPool,
        mut plans: Vec<ReceiptPlan>,
    ) -> Result<Vec<Recorded>, StoreError> {
        let doing = Self::DOING;
        let mut tx = begin(pool).await.context(doing)?;
        let ids = uuids(plans.iter().map(|plan| plan.receipt.message));
        let messages = locked(&mut tx, ids).await.context(doing)?;
        let owed = uuids(plans.iter().filter_map(|plan| plan.follow_up));
        let mut owed = take_follow_ups(&mut tx, owed).await.context(doing)?;
        let mut changes = Changes::default();
        let mut recorded = Vec::with_capacity(plans.len());
        for plan in &mut plans {
            if plan.follow_up.is_some_and(|id| !owed.remove(&id)) {
                recorded.push(Recorded::AlreadyDone);
                continue;
            }
            let found = messages.get(&plan.receipt.message);
            recorded.push(changes.receipt(plan, found));
        }
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(recorded)
    }
}

/// Deletes a follow-up. Returns whether it existed.
pub(crate) async fn take_follow_up(connection: &mut PgConnection, id: Uuid) -> PgResult<bool> {
    let deleted = sqlx::query("DELETE FROM follow_up WHERE id = $1").bind(id);
    Ok(deleted.execute(connection).await?.rows_affected() == 1)
}

/// Deletes follow-ups in id order. Returns those that existed.
async fn take_follow_ups(
    connection: &mut PgConnection,
    ids: Vec<Uuid>,
) -> PgResult<BTreeSet<FollowUpId>> {
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows = sqlx::query(
        "DELETE FROM follow_up WHERE id = ANY(ARRAY(
             SELECT id FROM follow_up WHERE id = ANY($1) ORDER BY id FOR UPDATE))
         RETURNING id",
    )
    .bind(ids)
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| row.id("id")).collect()
}

/// Reads messages and locks them in id order, after their queue rows.
pub(super) async fn locked(
    connection: &mut PgConnection,
    ids: Vec<Uuid>,
) -> PgResult<BTreeMap<MessageId, Message>> {
    sqlx::query("SELECT 1 FROM queue WHERE message_id = ANY($1) ORDER BY message_id FOR UPDATE")
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    let rows = sqlx::query(concat!(
        "SELECT ",
        message_columns!(),
        ", ",
        is_younger!(),
        " FROM message m WHERE m.id = ANY($1) ORDER BY m.id FOR UPDATE"
    ))
    .bind(ids)
    .fetch_all(connection)
    .await?;
    let read = |row| {
        check_order(row)?;
        row::message(row).map(|message| (message.id, message))
    };
    rows.iter().map(read).collect()
}
