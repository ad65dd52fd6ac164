//! Single texts: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::ids::{AccountId, MessageId, MessageKind};
use sms_core::message::cancel::{CancelPlan, CancelRefused};
use sms_core::message::filter::Search;
use sms_core::message::store::MessageStore;
use sms_core::message::{Direction, Message, MessageFilter, MessageStatus, TimelineEntry};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use crate::begin::begin;
use crate::change::Changes;
use crate::error::{commit_failed, failed};
use crate::row::{self, digits, uuid};
use crate::{PgStore, message_columns};

#[async_trait]
impl MessageStore for PgStore {
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        let doing = failed("reading a text");
        let row = sqlx::query("SELECT * FROM message WHERE account_id = $1 AND id = $2")
            .bind(uuid(account))
            .bind(uuid(id))
            .fetch_optional(&self.pool)
            .await
            .map_err(&doing)?;
        let read = row.map(|row| Ok((row::message(&row)?, row::timeline(&row)?)));
        read.transpose().map_err(&doing)
    }

    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        let doing = failed("listing texts");
        let mut query = list_query(account, filter, page);
        let rows = query.build().fetch_all(&self.pool).await.map_err(&doing)?;
        let rows: sqlx::Result<Vec<Message>> = rows.iter().map(row::message).collect();
        Ok(Page::of(rows.map_err(&doing)?, page.limit, |message: &Message| message.id))
    }

    async fn message_cancel(
        &self,
        mut plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        let doing = commit_failed("cancelling a text");
        let mut tx = begin(&self.pool).await.map_err(&doing)?;
        // A worker locks the queue before the text; so does this, lest the two wait for each other.
        sqlx::query("SELECT 1 FROM queue WHERE message_id = $1 FOR UPDATE")
            .bind(uuid(plan.message))
            .fetch_optional(&mut *tx)
            .await
            .map_err(&doing)?;
        let row = sqlx::query("SELECT * FROM message WHERE account_id = $1 AND id = $2 FOR UPDATE")
            .bind(uuid(plan.account))
            .bind(uuid(plan.message))
            .fetch_optional(&mut *tx)
            .await
            .map_err(&doing)?;
        let found = row.as_ref().map(row::message).transpose().map_err(&doing)?;
        let changed = plan.settle(found.as_ref()).map_err(CommitError::Refused)?;
        let message = changed.message.clone();
        let mut changes = Changes::default();
        changes.add(changed, &plan.ids);
        changes.write(&mut tx).await.map_err(&doing)?;
        tx.commit().await.map_err(&doing)?;
        Ok(message)
    }
}

/// The query of a list. Filters by status, number, batch, campaign and reference, and inbound
/// texts,
/// have indexes that lead with the account and end with the id, so that pages are read in order
/// from
/// wherever they begin. A search for words reads what the rest of the filter leaves.
fn list_query(
    account: AccountId,
    filter: &MessageFilter,
    page: PageRequest,
) -> QueryBuilder<Postgres> {
    let MessageFilter {
        direction,
        status,
        search,
        campaign_id,
        batch_id,
        client_ref,
        since,
        until,
    } = filter;
    let mut query = QueryBuilder::new(concat!("SELECT ", message_columns!(), " FROM message m"));
    query.push(" WHERE m.account_id = ").push_bind(uuid(account));
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
    match search {
        Some(Search::Number(number)) => {
            query.push(" AND m.contact_number = ").push_bind(digits(*number));
        }
        Some(Search::Words(words)) => {
            // The ICU collation lowers all of Unicode, whatever the database's own does.
            query.push(" AND position(").push_bind(words);
            query.push(" IN lower(m.body COLLATE \"und-x-icu\")) > 0");
        }
        None => {}
    }
    if let Some(campaign) = campaign_id {
        query.push(" AND m.campaign_id = ").push_bind(uuid(*campaign));
    }
    if let Some(batch) = batch_id {
        query.push(" AND m.batch_id = ").push_bind(uuid(*batch));
    }
    if let Some(client_ref) = client_ref {
        query.push(" AND m.client_ref = ").push_bind(client_ref);
    }
    if let Some(since) = since {
        query.push(" AND m.id >= ").push_bind(uuid(MessageId::first_at(*since)));
    }
    if let Some(until) = until {
        query.push(" AND m.id < ").push_bind(uuid(MessageId::first_at(*until)));
    }
    let before = page.after.map_or(Uuid::max(), |cursor| uuid(cursor.id::<MessageKind>()));
    query.push(" AND m.id < ").push_bind(before);
    query.push(" ORDER BY m.id DESC LIMIT ");
    query.push_bind(i64::try_from(page.limit.get() + 1).unwrap_or(i64::MAX));
    query
}
