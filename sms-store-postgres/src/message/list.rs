//! The query of a list of messages.

use sms_core::ids::{AccountId, MessageId, MessageKind};
use sms_core::message::filter::Search;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::page::PageRequest;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::row::{digits, uuid};

/// The stretch of a list that is wanted: newest first, both ends left out.
#[derive(Clone, Copy)]
pub(crate) struct Window {
    pub(crate) after: Uuid,
    pub(crate) before: Uuid,
    pub(crate) limit: usize,
}

impl Window {
    /// What the filter and the cursor leave of the whole list; one more than the page holds.
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

/// The query of a list, but for words to search for: a range of an index that leads with the
/// account and ends with the id.
///
/// The account is asked for as one of a list of one: were it known to be the only one, its texts
/// would come in the order of the index of all accounts' ids as well, and the planner may walk
/// that.
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
        // They may be few among those received: the index by status finds them, one by one.
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

/// Whether only the direction narrows the list down to outbound texts.
fn wants_all_outbound(filter: &MessageFilter) -> bool {
    filter.direction == Some(Direction::Outbound)
        && filter.status.is_none()
        && filter.campaign_id.is_none()
        && filter.batch_id.is_none()
        && filter.client_ref.is_none()
        && !matches!(filter.search, Some(Search::Number(_)))
}

/// What the filter asks besides words: ` AND …` for each question.
pub(crate) fn push_filter(query: &mut QueryBuilder<Postgres>, filter: &MessageFilter) {
    let MessageFilter {
        direction,
        status,
        search,
        campaign_id,
        batch_id,
        client_ref,
        // They are the ends of the window.
        since: _,
        until: _,
    } = filter;
    if let Some(direction) = direction {
        query.push(" AND m.direction = ").push_bind(direction.as_str());
        // Inbound texts are few among many: the index by status finds them.
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
