//! Texts are written before anything is locked: invisible until the commit, and in nobody's way.

use std::collections::BTreeMap;

use sms_core::ids::AccountId;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::SendPlan;
use sqlx::PgConnection;

use crate::change::insert_texts;
use crate::row::{time, uuids};

/// Whether a plan's key is remembered at this moment.
pub(super) fn is_remembered(
    plan: &SendPlan,
    earlier: &BTreeMap<(AccountId, IdempotencyKey), EarlierSend>,
) -> bool {
    let claim = plan.idempotency.as_ref();
    let found = claim.and_then(|claim| earlier.get(&(plan.account, claim.key.clone())));
    found.is_some_and(|earlier| earlier.is_kept(plan.at))
}

pub(super) async fn stage(connection: &mut PgConnection, plans: &[&SendPlan]) -> sqlx::Result<()> {
    let texts: Vec<_> = plans
        .iter()
        .flat_map(|plan| plan.messages.iter().map(|message| (message, plan.accepted(message))))
        .collect();
    if texts.is_empty() {
        return Ok(());
    }
    insert_texts(connection, &texts).await?;
    let entries: Vec<_> = plans
        .iter()
        .flat_map(|plan| plan.messages.iter().map(|message| plan.queue_entry(message)))
        .collect();
    let insert = sqlx::query(
        "INSERT INTO queue (message_id, account_id, claimable_at, expires_at)
         SELECT * FROM UNNEST($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])",
    )
    .bind(uuids(entries.iter().map(|entry| entry.message)))
    .bind(uuids(entries.iter().map(|entry| entry.account)))
    .bind(entries.iter().map(|entry| time(entry.claimable_at)).collect::<Vec<_>>())
    .bind(entries.iter().map(|entry| time(entry.expires_at)).collect::<Vec<_>>());
    insert.execute(connection).await.map(|_| ())
}

/// Takes back what was staged for plans that were not accepted.
pub(super) async fn unstage(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
) -> sqlx::Result<()> {
    let texts: Vec<_> = plans.iter().flat_map(|plan| plan.messages.iter()).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let ids = uuids(texts.iter().map(|message| message.id));
    sqlx::query("DELETE FROM queue WHERE message_id = ANY($1)")
        .bind(&ids)
        .execute(&mut *connection)
        .await?;
    let delete = sqlx::query("DELETE FROM message WHERE id = ANY($1)").bind(&ids);
    delete.execute(connection).await.map(|_| ())
}
