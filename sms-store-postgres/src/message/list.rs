//! The query for a list of messages.

use sms_core::ids::{AccountId, MessageId, MessageKind};
use sms_core::message::filter::Search;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::page::PageRequest;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::row::{digits, uuid};

/// A range of message ids, newest first. Both ends are exclusive.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) after: Uuid,
    pub(crate) before: Uuid,
    pub(crate) limit: usize,
}

impl Window {
    /// The range that the filter and the cursor allow. Its limit is one more than the page holds.
    pub(crate) fn of(filter: &MessageFilter, page: PageRequest) -> Self {
        let since = filter.since.map_or(0, |at| MessageId::first_at(at).as_u128());
        let until = filter.until.map_or(u128::MAX, |at| MessageId::first_at(at).as_u128());
        let cursor = page.after.map_or(u128::MAX, |at| at.id::<MessageKind>().as_u128());
        Self {
            after: Uuid::from_u128(since.saturating_sub(1)),
            before: Uuid::from_u128(until.min(cursor)),
            limit: page.limit.get() + 1,
        }
    }
}

/// The query for a list, without its search words. It reads a range of an index that starts with
/// the account and ends with the id.
///
/// The account is compared with `= ANY` of one value. With `=`, the index on the ids of all
/// accounts would yield the same order, and the planner may walk that index instead.
pub(crate) fn list_query(
    columns: &'static str,
    account: AccountId,
    filter: &MessageFilter,
    window: Window,
) -> QueryBuilder<Postgres> {
    let Window { after, before, limit } = window;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let is_outbound = wants_all_outbound(filter);
    let mut query = QueryBuilder::new("SELECT ");
    query.push(columns);
    if is_outbound {
        // Outbound messages may be few among the received ones. The index by status finds them, one
        // status at a time.
        let outbound = MessageStatus::ALL.iter().filter(|one| **one != MessageStatus::Received);
        query.push(" FROM UNNEST(");
        query.push_bind(outbound.map(|status| status.as_str()).collect::<Vec<_>>());
        query.push("::text[]) AS outbound (status) CROSS JOIN LATERAL (SELECT * FROM message m");
        query.push(" WHERE m.status = outbound.status AND");
    } else {
        query.push(" FROM message m WHERE");
    }
    query.push(" m.account_id = ANY(").push_bind(vec![uuid(account)]).push(")");
    query.push(" AND m.id > ").push_bind(after).push(" AND m.id < ").push_bind(before);
    push_filter(&mut query, filter);
    query.push(" ORDER BY m.account_id DESC, m.id DESC LIMIT ").push_bind(limit);
    if is_outbound {
        query.push(") AS m ORDER BY m.id DESC LIMIT ").push_bind(limit);
    }
    query
}

/// Whether the direction alone narrows the list to outbound messages.
fn wants_all_outbound(filter: &MessageFilter) -> bool {
    filter.direction == Some(Direction::Outbound)
        && filter.status.is_none()
        && filter.campaign_id.is_none()
        && filter.batch_id.is_none()
        && filter.client_ref.is_none()
        && !matches!(filter.search, Some(Search::Number(_)))
}

/// Adds ` AND …` for each condition of the filter, except the search words.
pub(crate) fn push_filter(query: &mut QueryBuilder<Postgres>, filter: &MessageFilter) {
    let MessageFilter {
        direction,
        status,
        search,
        campaign_id,
        batch_id,
        client_ref,
        // [`Window`] holds them.
        since: _,
        until: _,
    } = filter;
    if let Some(direction) = direction {
        query.push(" AND m.direction = ").push_bind(direction.as_str());
        // Inbound messages are few among many: the index by status finds them.
        if *direction == Direction::Inbound && status.is_none() {
            query.push(" AND m.status = ").push_bind(MessageStatus::Received.as_str());
        }
    }
    if let Some(status) = status {
        query.push(" AND m.status = ").push_bind(status.as_str());
    }
    if let Some(Search::Number(number)) = search {
        query.push(" AND m.contact_number = ").push_bind(digits(*number));
    }
    if let Some(campaign) = campaign_id {
        query.push(" AND m.campaign_id = ").push_bind(uuid(*campaign));
    }
    if let Some(batch) = batch_id {
        query.push(" AND m.batch_id = ").push_bind(uuid(*batch));
    }
    if let Some(client_ref) = client_ref {
        query.push(" AND m.client_ref = ").push_bind(client_ref.clone());
    }
}
