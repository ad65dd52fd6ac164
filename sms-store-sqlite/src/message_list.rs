//! Lists of messages, newest first. Each is a range of one index that ends with the id, named in
//! the query, so that no other index is ever walked. Messages on their way are the exception: two
//! queries of the queue find them.

use std::fmt::Write as _;

use rusqlite::params_from_iter;
use rusqlite::types::Value;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus};
use sms_core::page::{LOOKED_AT, PageRequest};

use crate::db::Db;
use crate::error::SqlResult;
use crate::message_row::{message, message_columns};
use crate::row::{direction, id, size, status};

/// A range of message ids, newest first. Both ends are exclusive, except that `after: 0` is open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) after: u128,
    pub(crate) before: u128,
    pub(crate) limit: usize,
}

impl Window {
    /// The part of the range that ends with this message.
    pub(crate) fn down_to(self, end: Option<u128>) -> Self {
        let after = end.map_or(0, |end| end.saturating_sub(1));
        Self { after: self.after.max(after), ..self }
    }

    /// The range that the filter and the cursor allow. Its limit is one more than the page holds.
    pub(crate) fn of(filter: &MessageFilter, page: PageRequest) -> Self {
        let ids = filter.ids(page);
        Self {
            after: ids.start().as_u128().saturating_sub(1),
            before: ids.end().as_u128().saturating_add(1),
            limit: page.limit.get() + 1,
        }
    }
}

/// A query and its values, under construction.
pub(crate) struct Query {
    text: String,
    /// The column of the index that has the message's id.
    id: &'static str,
    values: Vec<Value>,
}

impl Query {
    pub(crate) fn new(columns: &str, index: &str) -> Self {
        let text = format!("SELECT {columns} FROM message m INDEXED BY {index} WHERE 1");
        Self { text, id: "m.id", values: Vec::new() }
    }

    /// Messages that workers gave back.
    fn given_back(columns: &str) -> Self {
        let text = format!(
            "SELECT {columns} FROM queue q INDEXED BY queue_was_held
             CROSS JOIN message m ON m.id = q.id WHERE q.lease IS NULL AND q.was_held = 1"
        );
        Self { text, id: "q.id", values: Vec::new() }
    }

    /// Adds ` AND` a condition on a value.
    pub(crate) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let _ = write!(self.text, " AND {condition} ?{}", self.values.len());
    }

    /// Adds the range, the order and the limit.
    pub(crate) fn within(&mut self, window: Window) {
        let id = self.id;
        self.and(&format!("{id} >"), window.after.to_be_bytes().to_vec());
        self.and(&format!("{id} <"), window.before.to_be_bytes().to_vec());
        self.values.push(Value::Integer(size(window.limit)));
        let _ = write!(self.text, " ORDER BY {id} DESC LIMIT ?{}", self.values.len());
    }

    /// Leaves out messages that nobody may see yet.
    pub(crate) fn visible(&mut self, staged: Staged) {
        if staged == Staged::Some {
            self.text.push_str(
                " AND (m.batch_id IS NULL OR m.batch_id NOT IN (
                     SELECT batch_id FROM launching WHERE state <> 1))",
            );
        }
    }

    /// Adds the conditions of a filter, except the search. The window holds the times.
    pub(crate) fn filter(&mut self, filter: &MessageFilter) {
        let MessageFilter {
            direction: its_direction,
            status: its_status,
            search: _,
            campaign_id,
            batch_id,
            client_ref,
            since: _,
            until: _,
        } = filter;
        if let Some(one) = its_direction {
            self.and("m.direction =", direction(*one));
        }
        if let Some(one) = its_status {
            self.and("m.status =", status(*one));
        }
        if let Some(one) = campaign_id {
            self.and("m.campaign_id =", id(*one).to_vec());
        }
        if let Some(one) = batch_id {
            self.and("m.batch_id =", id(*one).to_vec());
        }
        if let Some(one) = client_ref {
            self.and("m.client_ref =", one.clone());
        }
    }

    pub(crate) fn messages(&self, db: &Db) -> SqlResult<Vec<Message>> {
        db.all(&self.text, params_from_iter(&self.values), |c| message(db, c))
    }

    fn ids_and_bodies(&self, db: &Db) -> SqlResult<Vec<(u128, String)>> {
        db.all(&self.text, params_from_iter(&self.values), |c| Ok((c.raw_id()?, c.get()?)))
    }
}

/// Whether messages of launches under way have to be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Staged {
    None,
    Some,
}

impl Db {
    pub(crate) fn staged(&self) -> SqlResult<Staged> {
        let any = self.has("SELECT 1 FROM launching WHERE state <> 1 LIMIT 1", [])?;
        Ok(if any { Staged::Some } else { Staged::None })
    }
}

const BY_STATUS: &str = "message_by_status";

/// The most selective index for this filter.
fn index_of(filter: &MessageFilter) -> &'static str {
    if filter.batch_id.is_some() {
        "message_by_batch"
    } else if filter.client_ref.is_some() {
        "message_by_client_ref"
    } else if filter.campaign_id.is_some() {
        "message_by_campaign"
    } else if filter.status.is_some() || filter.direction == Some(Direction::Inbound) {
        BY_STATUS
    } else {
        "message_by_account"
    }
}

/// The queries that together find what the filter accepts, search aside.
fn queries(
    account: i64,
    filter: &MessageFilter,
    window: Window,
    columns: &str,
    staged: Staged,
) -> Vec<Query> {
    let finish = |mut query: Query| {
        query.filter(filter);
        query.visible(staged);
        query.within(window);
        query
    };
    if wants_all_outbound(filter) {
        // Outbound messages may be few among the received ones: one status at a time.
        let outbound = MessageStatus::ALL.into_iter().filter(|one| *one != MessageStatus::Received);
        let of_one = |one| {
            let filter = MessageFilter { status: Some(one), ..filter.clone() };
            queries(account, &filter, window, columns, staged)
        };
        return outbound.flat_map(of_one).collect();
    }
    let index = index_of(filter);
    if index == BY_STATUS && filter.status == Some(MessageStatus::Sending) {
        // Those that workers hold are few. Many may wait to be tried again, in the order of ids.
        let mut held = Query::new(columns, "message_by_id");
        held.text.push_str(
            " AND m.id IN (SELECT id FROM queue INDEXED BY queue_by_lease WHERE lease IS NOT NULL",
        );
        held.and("account =", account);
        held.text.push(')');
        let mut given_back = Query::given_back(columns);
        given_back.and("q.account =", account);
        return vec![finish(held), finish(given_back)];
    }
    let mut query = Query::new(columns, index);
    if index == BY_STATUS {
        query.text.push_str(" AND m.status <> 2");
    }
    query.and("m.account =", account);
    if filter.status.is_none() && filter.direction == Some(Direction::Inbound) {
        query.and("m.status =", status(MessageStatus::Received));
    }
    vec![finish(query)]
}

/// Messages that the filter accepts, search aside, and the last message that the page looked at if
/// it ended early.
pub(crate) fn list(
    db: &Db,
    account: i64,
    filter: &MessageFilter,
    window: Window,
) -> SqlResult<(Vec<Message>, Option<u128>)> {
    let end = nth(db, account, filter, window, LOOKED_AT)?;
    Ok((list_all(db, account, filter, window.down_to(end))?, end))
}

/// The `nth` message of the range that has to be read for the filter, if the range has others than
/// those that the filter accepts, and so many.
pub(crate) fn nth(
    db: &Db,
    account: i64,
    filter: &MessageFilter,
    window: Window,
    nth: usize,
) -> SqlResult<Option<u128>> {
    let Some(range) = range_of(filter) else { return Ok(None) };
    let window = Window { limit: 1, ..window };
    let [query] = &mut queries(account, &range, window, "m.id", Staged::None)[..] else {
        return Ok(None);
    };
    let _ = write!(query.text, " OFFSET {}", nth.saturating_sub(1));
    db.one(&query.text, params_from_iter(&query.values), |c| c.raw_id())
}

/// The conditions of the filter that its index has; `None` if these are all.
fn range_of(filter: &MessageFilter) -> Option<MessageFilter> {
    let MessageFilter { direction, status, campaign_id, batch_id, client_ref, .. } = filter;
    let none = MessageFilter::default();
    let range = if batch_id.is_some() {
        MessageFilter { batch_id: *batch_id, ..none }
    } else if client_ref.is_some() {
        MessageFilter { client_ref: client_ref.clone(), ..none }
    } else if campaign_id.is_some() {
        MessageFilter { campaign_id: *campaign_id, ..none }
    } else {
        // The indexes by status and by account have no others.
        return None;
    };
    let conditions = [
        direction.is_some() || status.is_some(),
        batch_id.is_some(),
        client_ref.is_some(),
        campaign_id.is_some(),
    ];
    (conditions.into_iter().filter(|is_set| *is_set).count() > 1).then_some(range)
}

fn list_all(
    db: &Db,
    account: i64,
    filter: &MessageFilter,
    window: Window,
) -> SqlResult<Vec<Message>> {
    let queries = queries(account, filter, window, message_columns!(), db.staged()?);
    let mut found = Vec::new();
    for query in &queries {
        found.extend(query.messages(db)?);
    }
    if queries.len() > 1 {
        found.sort_unstable_by_key(|message| std::cmp::Reverse(message.id));
        found.truncate(window.limit);
    }
    Ok(found)
}

/// The same, only the ids and the bodies.
pub(crate) fn list_ids_and_bodies(
    db: &Db,
    account: i64,
    filter: &MessageFilter,
    window: Window,
) -> SqlResult<Vec<(u128, String)>> {
    let queries = queries(account, filter, window, "m.id, m.body", db.staged()?);
    let mut found = Vec::new();
    for query in &queries {
        found.extend(query.ids_and_bodies(db)?);
    }
    if queries.len() > 1 {
        found.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        found.truncate(window.limit);
    }
    Ok(found)
}

/// Whether the direction alone narrows the list to outbound messages.
fn wants_all_outbound(filter: &MessageFilter) -> bool {
    filter.direction == Some(Direction::Outbound)
        && filter.status.is_none()
        && filter.campaign_id.is_none()
        && filter.batch_id.is_none()
        && filter.client_ref.is_none()
}

#[cfg(test)]
mod tests {
    use sms_core::ids::{BatchId, CampaignId};

    use super::*;
    use crate::open::{MIGRATIONS, in_memory};

    /// What SQLite does for each query of a filter.
    fn plans(filter: &MessageFilter) -> Vec<Vec<String>> {
        let connection = in_memory(&MIGRATIONS);
        let window = Window { after: 0, before: u128::MAX, limit: 26 };
        let queries = queries(1, filter, window, message_columns!(), Staged::None);
        let plan = |query: &Query| {
            let mut explain =
                connection.prepare(&format!("EXPLAIN QUERY PLAN {}", query.text)).unwrap();
            let values = params_from_iter(&query.values);
            let steps = explain.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            steps.map(Result::unwrap).collect()
        };
        queries.iter().map(plan).collect()
    }

    #[test]
    fn every_page_is_a_range_of_one_index_in_its_order() {
        let any = MessageFilter::default;
        let campaign_id = Some(CampaignId::from_u128(1));
        let batch_id = Some(BatchId::from_u128(1));
        let sent = Some(MessageStatus::Sent);
        for (filter, index) in [
            (any(), "message_by_account"),
            (MessageFilter { direction: Some(Direction::Inbound), ..any() }, "message_by_status"),
            (MessageFilter { status: sent, ..any() }, "message_by_status"),
            (MessageFilter { campaign_id, ..any() }, "message_by_campaign"),
            (MessageFilter { campaign_id, status: sent, ..any() }, "message_by_campaign"),
            (MessageFilter { batch_id, campaign_id, ..any() }, "message_by_batch"),
            (MessageFilter { client_ref: Some("a".into()), ..any() }, "message_by_client_ref"),
        ] {
            let [steps] = &plans(&filter)[..] else { panic!("{filter:?} takes several queries") };
            assert_eq!(steps.len(), 1, "{filter:?}: {steps:?}");
            let range = format!("SEARCH m USING INDEX {index} (");
            assert!(steps[0].starts_with(&range), "{filter:?}: {steps:?}");
            assert!(steps[0].contains("id>? AND id<?"), "{filter:?}: {steps:?}");
        }
    }

    #[test]
    fn messages_on_their_way_are_found_by_what_workers_hold_or_gave_back() {
        let status = Some(MessageStatus::Sending);
        let plans = plans(&MessageFilter { status, ..MessageFilter::default() });
        let [held, given_back] = &plans[..] else { panic!("{plans:?}") };
        let looked_up = "SEARCH m USING INDEX message_by_id (id=?)";
        let listed = "SEARCH queue USING INDEX queue_by_lease (lease>?)";
        assert_eq!(held[..3], [looked_up, "LIST SUBQUERY 1", listed]);
        let range = "SEARCH q USING INDEX queue_was_held (account=? AND id>? AND id<?)";
        assert_eq!(given_back[..], [range, looked_up]);
    }

    #[test]
    fn messages_on_their_way_are_found_in_a_file_that_an_earlier_version_wrote() {
        let (earlier, now) = MIGRATIONS.split_at(6);
        let connection = in_memory(earlier);
        // One that waits, one that a worker holds, and one that it gave back.
        let queued = "INSERT INTO queue (id, account, route, claimable_at, expires_at, attempt,
                 lease, unanswered)
             VALUES (CAST('waits' AS BLOB), 1, 'main', 0, 9, 0, NULL, 0)";
        for (id, lease) in [(1_u128, Some([7_u8; 16])), (2, None)] {
            let id = id.to_be_bytes();
            let message = "INSERT INTO message (id, account, direction, status, to_number,
                     from_number, contact_number, body, encoding, segments, credits, route, mode,
                     timeline)
                 VALUES (?1, 1, 0, 2, 1, 2, 1, 'Hello', 0, 1, 1, 'main', 0, '')";
            connection.execute(message, [id]).unwrap();
            let entry = "INSERT INTO queue (id, account, route, claimable_at, expires_at, attempt,
                     lease, unanswered)
                 VALUES (?1, 1, 'main', 0, 9, 1, ?2, 0)";
            connection.execute(entry, rusqlite::params![id, lease]).unwrap();
        }
        connection.execute_batch(queued).unwrap();
        for migration in now {
            connection.execute_batch(migration).unwrap();
        }
        let indexed = "SELECT count(*) FROM queue INDEXED BY queue_was_held
             WHERE lease IS NULL AND was_held = 1";
        let indexed = connection.query_row(indexed, [], |row| row.get::<_, i64>(0));
        assert_eq!(indexed.unwrap(), 1, "a page does not read what waits");
        let filter =
            MessageFilter { status: Some(MessageStatus::Sending), ..MessageFilter::default() };
        let window = Window { after: 0, before: u128::MAX, limit: 26 };
        let found = list_ids_and_bodies(&Db::new(connection), 1, &filter, window).unwrap();
        assert_eq!(found.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2, 1]);
    }
}
