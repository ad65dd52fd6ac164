//! Stages sends: writes their messages before anything is locked. The rows are invisible until the
//! commit and block nothing.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::commit::NewMessages;
use sms_core::ids::{AccountId, BatchId};
use sms_core::sending::idempotency::{IdempotencyKey, KeyUse};
use sms_core::sending::plan::{SendPlan, new_messages};
use sqlx::PgConnection;

use crate::error::PgResult;
use crate::link;
use crate::new_message::insert_queued;
use crate::row::uuids;

/// The most rows that one statement writes, so that a large send stays within the statement
/// timeout.
const PORTION: usize = 5_000;

/// Whether a plan's idempotency key is stored and has not expired.
pub(super) fn is_remembered(
    plan: &SendPlan,
    earlier: &BTreeMap<(AccountId, IdempotencyKey), KeyUse>,
) -> bool {
    let claim = plan.idempotency.as_ref();
    let found = claim.and_then(|claim| earlier.get(&(plan.account, claim.key.clone())));
    found.is_some_and(|earlier| earlier.is_kept(plan.at))
}

/// Writes the messages and links of plans. Returns the plans that drew a link code that is taken.
pub(super) async fn stage(
    connection: &mut PgConnection,
    plans: &[&SendPlan],
) -> PgResult<BTreeSet<BatchId>> {
    let NewMessages { messages, links } = new_messages(plans.iter().copied());
    for messages in messages.chunks(PORTION) {
        insert_queued(connection, messages).await?;
    }
    let mut written = BTreeSet::new();
    for links in links.chunks(PORTION) {
        written.extend(link::insert(connection, links).await?);
    }
    let is_missing = |plan: &&&SendPlan| plan.links.iter().any(|link| !written.contains(&link.id));
    Ok(plans.iter().filter(is_missing).map(|plan| plan.batch).collect())
}

/// Deletes what was staged for plans that were not accepted.
pub(super) async fn unstage(connection: &mut PgConnection, plans: &[&SendPlan]) -> PgResult<()> {
    let NewMessages { messages, links } = new_messages(plans.iter().copied());
    if messages.is_empty() {
        return Ok(());
    }
    for messages in messages.chunks(PORTION) {
        let ids = uuids(messages.iter().map(|new| new.message.id));
        sqlx::query("DELETE FROM queue WHERE message_id = ANY($1)")
            .bind(&ids)
            .execute(&mut *connection)
            .await?;
        let delete = sqlx::query("DELETE FROM message WHERE id = ANY($1)").bind(&ids);
        delete.execute(&mut *connection).await?;
    }
    link::delete(connection, &links).await
}
