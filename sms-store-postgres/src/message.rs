//! Single texts: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, MessageId, MessageKind};
use sms_core::message::cancel::{CancelPlan, CancelRefused};
use sms_core::message::filter::Search;
use sms_core::message::store::MessageStore;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus, TimelineEntry};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::begin::begin;
use crate::error::{Context, PgResult};
use crate::row::{self, digits, uuid};
use crate::{PgStore, change, message_columns, search};

#[async_trait]
impl MessageStore for PgStore {
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        let doing = "reading a text";
        let row = sqlx::query("SELECT * FROM message WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(&self.pool)
            .await
            .context(doing)?;
        let read = row.map(|row| PgResult::Ok((row::message(&row)?, row::timeline(&row)?)));
        read.transpose().context(doing)
    }

    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        let doing = "listing texts";
        if filter.is_contradiction() {
            return Ok(Page { items: Vec::new(), next: None });
        }
        if let Some(Search::Words(words)) = &filter.search {
            let found = search::list(&self.pool, account, filter, words, page).await;
            return found.context(doing);
        }
        let window = Window::of(filter, page);
        let mut query = list_query(message_columns!(), account, filter, window);
        // Planned anew each time: which index is best depends on what is asked for.
        let query = query.build().persistent(false);
        let rows = query.fetch_all(&self.pool).await.context(doing)?;
        let rows: PgResult<Vec<Message>> = rows.iter().map(row::message).collect();
        Ok(Page::of(rows.context(doing)?, page.limit, |message: &Message| message.id))
    }

    async fn message_cancel(
        &self,
        mut plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        let doing = "cancelling a text";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // A worker locks the queue before the text; so does this, lest the two wait for each other.
        sqlx::query("SELECT 1 FROM queue WHERE message_id = $1 FOR UPDATE")
            .bind(uuid(plan.message))
            .fetch_optional(&mut *tx)
            .await
            .context(doing)?;
        let row = sqlx::query("SELECT * FROM message WHERE account_id = $1 AND id = $2 FOR UPDATE")
            .bind(uuid(plan.account))
            .bind(uuid(plan.message))
            .fetch_optional(&mut *tx)
            .await
            .context(doing)?;
        let found = row.as_ref().map(row::message).transpose().context(doing)?;
        let changed = plan.settle(found.as_ref()).map_err(CommitError::Refused)?;
        let message = changed.message().clone();
        let mut changes = Changes::default();
        changes.add([changed], &plan.ids);
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(message)
    }

    async fn search_prepare(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        search::prepare(&self.pool, before, limit).await
    }
}

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
