//! The query for a list of messages.

use sms_core::ids::{AccountId, BatchId, CampaignId};
use sms_core::message::filter::Search;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::page::PageRequest;
use sms_core::phone::E164;
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
        let ids = filter.ids(page);
        Self {
            after: Uuid::from_u128(ids.start().as_u128().saturating_sub(1)),
            before: Uuid::from_u128(ids.end().as_u128().saturating_add(1)),
            limit: page.limit.get() + 1,
        }
    }
}

/// Where the messages of a list are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// In a range of an index that has no others.
    Indexed,
    /// Among the messages that wait, by this status.
    Waiting(MessageStatus),
    /// In a range of an index that has others, too: see [`super::walk`].
    Walked,
}

fn found(filter: &MessageFilter) -> Found {
    use MessageStatus as S;
    let is_narrow = filter.campaign_id.is_some()
        || filter.batch_id.is_some()
        || filter.client_ref.is_some()
        || matches!(filter.search, Some(Search::Number(_)));
    match (filter.status, filter.direction) {
        (Some(status @ (S::Scheduled | S::Queued | S::Sending)), _) if !is_narrow => {
            Found::Waiting(status)
        }
        (Some(S::Undelivered | S::Failed | S::Cancelled | S::Received), _)
        | (None, None | Some(Direction::Inbound)) => Found::Indexed,
        (Some(S::Scheduled | S::Queued | S::Sending | S::Sent | S::Delivered), _)
        | (None, Some(Direction::Outbound)) => Found::Walked,
    }
}

/// Whether the messages of the list have to be looked for among others.
pub(crate) fn is_walked(filter: &MessageFilter) -> bool {
    found(filter) == Found::Walked
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
    let mut query = QueryBuilder::new("SELECT ");
    query.push(columns);
    if let Found::Waiting(status) = found(filter) {
        push_waiting(&mut query, account, status, window);
    } else {
        query.push(" FROM message m");
        push_range(&mut query, account, filter, window);
        push_filter(&mut query, filter);
        query.push(IN_ORDER);
    }
    query.push(" LIMIT ").push_bind(limit(window.limit));
    query
}

/// The query for the messages of a list among the next `portion` of the range.
pub(crate) fn portion_query(
    columns: &'static str,
    account: AccountId,
    filter: &MessageFilter,
    window: Window,
    portion: usize,
) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(columns).push(" FROM (SELECT * FROM message m");
    push_range(&mut query, account, filter, window);
    push_indexed(&mut query, filter);
    query.push(IN_ORDER).push(" LIMIT ").push_bind(limit(portion)).push(") AS m WHERE true");
    push_walked(&mut query, filter);
    // The order of the portion, so that nothing is sorted.
    query.push(IN_ORDER).push(" LIMIT ").push_bind(limit(window.limit));
    query
}

/// The query for the last message of the next `portion` of the range, if it has so many.
pub(crate) fn portion_end(
    account: AccountId,
    filter: &MessageFilter,
    window: Window,
    portion: usize,
) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new("SELECT m.id FROM message m");
    push_range(&mut query, account, filter, window);
    push_indexed(&mut query, filter);
    query.push(IN_ORDER).push(" OFFSET ").push_bind(limit(portion.saturating_sub(1)));
    query.push(" LIMIT 1");
    query
}

const IN_ORDER: &str = " ORDER BY m.account_id DESC, m.id DESC";

fn limit(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn push_range(
    query: &mut QueryBuilder<Postgres>,
    account: AccountId,
    filter: &MessageFilter,
    Window { after, before, limit: _ }: Window,
) {
    if indexed(filter).next().is_some() {
        query.push(" WHERE m.account_id = ANY(").push_bind(vec![uuid(account)]).push(")");
        query.push(" AND m.id > ").push_bind(after).push(" AND m.id < ").push_bind(before);
        return;
    }
    // Only the primary key serves these, and it starts at the right place. The index by id alone
    // would read the messages of all accounts.
    query.push(" WHERE (m.account_id, m.id) > (").push_bind(uuid(account));
    query.push(", ").push_bind(after).push(") AND (m.account_id, m.id) < (");
    query.push_bind(uuid(account)).push(", ").push_bind(before).push(")");
}

/// Adds the messages of the account that wait in this status.
fn push_waiting(
    query: &mut QueryBuilder<Postgres>,
    account: AccountId,
    status: MessageStatus,
    Window { after, before, limit: most }: Window,
) {
    query.push(" FROM UNNEST(").push_bind(vec![status.as_str(), "unknown"]);
    query.push("::text[]) AS listed (status) CROSS JOIN LATERAL (SELECT m.* FROM queue q");
    // Each message by its id, whatever the planner expects of the queue.
    query.push(
        " CROSS JOIN LATERAL (SELECT * FROM message
              WHERE account_id = q.account_id AND id = q.message_id AND status = ",
    );
    query.push_bind(status.as_str()).push(" OFFSET 0) AS m");
    query.push(" WHERE q.account_id = ANY(").push_bind(vec![uuid(account)]).push(")");
    query.push(" AND q.status = listed.status");
    query.push(" AND q.message_id > ").push_bind(after);
    query.push(" AND q.message_id < ").push_bind(before);
    query.push(" ORDER BY q.account_id DESC, q.message_id DESC LIMIT ").push_bind(limit(most));
    query.push(") AS m ORDER BY m.id DESC");
}

/// Adds ` AND …` for each condition of the filter, except the search words.
pub(crate) fn push_filter(query: &mut QueryBuilder<Postgres>, filter: &MessageFilter) {
    push_indexed(query, filter);
    push_walked(query, filter);
}

/// A condition that an index has.
enum Indexed<'a> {
    Inbound,
    Resting(MessageStatus),
    Number(E164),
    Campaign(CampaignId),
    Batch(BatchId),
    ClientRef(&'a str),
}

/// The conditions of the filter that an index has.
fn indexed(filter: &MessageFilter) -> impl Iterator<Item = Indexed<'_>> {
    use MessageStatus as S;
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
    let kind = match (status, direction) {
        (Some(S::Received), _) | (None, Some(Direction::Inbound)) => Some(Indexed::Inbound),
        (Some(status @ (S::Undelivered | S::Failed | S::Cancelled)), _) => {
            Some(Indexed::Resting(*status))
        }
        _ => None,
    };
    let number = match search {
        Some(Search::Number(number)) => Some(Indexed::Number(*number)),
        Some(Search::Words(_)) | None => None,
    };
    let campaign = campaign_id.map(Indexed::Campaign);
    let batch = batch_id.map(Indexed::Batch);
    let client_ref = client_ref.as_deref().map(Indexed::ClientRef);
    [kind, number, campaign, batch, client_ref].into_iter().flatten()
}

/// Adds ` AND …` for each condition that an index has.
fn push_indexed(query: &mut QueryBuilder<Postgres>, filter: &MessageFilter) {
    for condition in indexed(filter) {
        match condition {
            Indexed::Inbound => query.push(" AND m.direction = 'inbound'"),
            Indexed::Resting(status) => query.push(" AND m.resting = ").push_bind(status.as_str()),
            Indexed::Number(number) => {
                query.push(" AND m.contact_number = ").push_bind(digits(number))
            }
            Indexed::Campaign(campaign) => {
                query.push(" AND m.campaign_id = ").push_bind(uuid(campaign))
            }
            Indexed::Batch(batch) => query.push(" AND m.batch_id = ").push_bind(uuid(batch)),
            Indexed::ClientRef(client_ref) => {
                query.push(" AND m.client_ref = ").push_bind(client_ref.to_owned())
            }
        };
    }
}

/// The conditions that no index has.
fn push_walked(query: &mut QueryBuilder<Postgres>, filter: &MessageFilter) {
    use MessageStatus as S;
    match (filter.status, filter.direction) {
        (Some(status @ (S::Scheduled | S::Queued | S::Sending | S::Sent | S::Delivered)), _) => {
            query.push(" AND m.status = ").push_bind(status.as_str());
        }
        (None, Some(Direction::Outbound)) => {
            query.push(" AND m.direction = 'outbound'");
        }
        _ => {}
    }
}
