//! Receipts.

use std::collections::BTreeMap;

use async_trait::async_trait;
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::receipt::store::ReceiptStore;
use sms_core::receipt::{ReceiptPlan, Recorded};
use sms_core::store::StoreError;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::PgStore;
use crate::begin::{again_on_conflict, begin};
use crate::change::Changes;
use crate::error::failed;
use crate::row::{self, uuid, uuids};

#[async_trait]
impl ReceiptStore for PgStore {
    async fn receipts_record(&self, plans: Vec<ReceiptPlan>) -> Result<Vec<Recorded>, StoreError> {
        again_on_conflict!(self.record_receipts_once(plans.clone()))
    }
}

impl PgStore {
    async fn record_receipts_once(
        &self,
        mut plans: Vec<ReceiptPlan>,
    ) -> Result<Vec<Recorded>, StoreError> {
        let doing = failed("recording receipts");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        let ids = uuids(plans.iter().map(|plan| plan.receipt.message));
        let mut texts = locked(&mut tx, ids).await.map_err(&doing)?;
        let mut changes = Changes::default();
        let mut recorded = Vec::with_capacity(plans.len());
        for plan in &mut plans {
            if let Some(id) = plan.follow_up
                && !take_follow_up(&mut tx, uuid(id)).await.map_err(&doing)?
            {
                recorded.push(Recorded::AlreadyDone);
                continue;
            }
            let Some(message) = texts.get_mut(&plan.receipt.message) else {
                recorded.push(Recorded::NoSuchMessage);
                continue;
            };
            recorded.push(match plan.settle(message) {
                None => Recorded::Unchanged(message.clone()),
                Some(changed) => {
                    *message = changed.message.clone();
                    changes.add(changed, &plan.ids);
                    Recorded::Changed(message.clone())
                }
            });
        }
        changes.write(&mut tx).await.map_err(&doing)?;
        tx.commit().await.map_err(&doing)?;
        Ok(recorded)
    }
}

/// Removes a simulated comeback; says whether it was still there.
pub(crate) async fn take_follow_up(connection: &mut PgConnection, id: Uuid) -> sqlx::Result<bool> {
    let deleted = sqlx::query("DELETE FROM follow_up WHERE id = $1").bind(id);
    Ok(deleted.execute(connection).await?.rows_affected() == 1)
}

/// Texts, locked in the order of their ids, their places in the queue before them.
async fn locked(
    connection: &mut PgConnection,
    ids: Vec<Uuid>,
) -> sqlx::Result<BTreeMap<MessageId, Message>> {
    sqlx::query("SELECT 1 FROM queue WHERE message_id = ANY($1) ORDER BY message_id FOR UPDATE")
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    let rows = sqlx::query("SELECT * FROM message WHERE id = ANY($1) ORDER BY id FOR UPDATE")
        .bind(ids)
        .fetch_all(connection)
        .await?;
    let read = |row| row::message(row).map(|message| (message.id, message));
    rows.iter().map(read).collect()
}
