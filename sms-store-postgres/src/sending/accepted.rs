//! Writes the messages and links of accepted sends.

use sms_core::commit::NewMessages;
use sms_core::sending::plan::{SendPlan, new_messages};
use sqlx::PgConnection;

use crate::error::{PgError, PgResult};
use crate::link;
use crate::new_message::insert_queued;

/// The most rows that one statement writes, so that a large send stays within the statement
/// timeout.
const PORTION: usize = 5_000;

/// Writes the messages and links of plans. Fails as overtaken if another send has taken a link's
/// code since the codes were looked up: the next attempt finds that.
pub(super) async fn insert(connection: &mut PgConnection, plans: &[&SendPlan]) -> PgResult<()> {
    let NewMessages { messages, links } = new_messages(plans.iter().copied());
    for messages in messages.chunks(PORTION) {
        insert_queued(connection, messages).await?;
    }
    for links in links.chunks(PORTION) {
        if link::insert(connection, links).await?.len() < links.len() {
            return Err(PgError::Overtaken);
        }
    }
    Ok(())
}
