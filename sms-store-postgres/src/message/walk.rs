//! Pages of messages that have to be looked for among others: no index has the statuses `sent` and
//! `delivered`, so that a message takes them in place, and none has the outbound messages alone.
//!
//! Nearly all messages of nearly all accounts are among them, and a page is found at once. Where
//! they are few, a page ends after it has looked at so many messages, and says where the next one
//! begins.

use sms_core::ids::AccountId;
use sms_core::message::MessageFilter;
use sms_core::page::LOOKED_AT;
use sqlx::postgres::PgRow;
use sqlx::{PgPool, Row};
use uuid::Uuid;

use super::list::{Window, portion_end, portion_query};
use crate::error::PgResult;
use crate::message_columns;

/// The most messages that a page looks at in one turn. A page has up to 20 turns.
pub(super) const MOST: usize = LOOKED_AT;
/// How many it looks at first, and at most, at a time. A portion is small beside a large account,
/// so that the planner reads it in order, and does not sort the account.
const FIRST: usize = 2_000;
const LARGEST: usize = 8_000;

/// The rows of a page, and the message after which the next one begins if this one ended early.
pub(super) async fn walk(
    pool: &PgPool,
    account: AccountId,
    filter: &MessageFilter,
    mut window: Window,
) -> PgResult<(Vec<PgRow>, Option<Uuid>)> {
    let mut rows = Vec::new();
    let (mut portion, mut walked) = (FIRST, 0);
    loop {
        let query = &mut portion_query(message_columns!(), account, filter, window, portion);
        let more = query.build().persistent(false).fetch_all(pool).await?;
        window.limit -= more.len();
        rows.extend(more);
        if window.limit == 0 {
            return Ok((rows, None));
        }
        let end = &mut portion_end(account, filter, window, portion);
        let end = end.build().persistent(false).fetch_optional(pool).await?;
        let Some(end) = end else { return Ok((rows, None)) };
        window.before = end.try_get("id")?;
        // Messages that arrived meanwhile moved the end of the portion to before its last row.
        if let Some(last) = rows.last() {
            window.before = window.before.min(last.try_get("id")?);
        }
        walked += portion;
        if walked >= MOST {
            return Ok((rows, Some(window.before)));
        }
        portion = (2 * portion).min(LARGEST).min(MOST - walked);
    }
}
