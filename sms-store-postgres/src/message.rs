//! Single messages: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::change::cancel::{CancelPlan, CancelRefused};
use sms_core::change::store::{MessageStore, ReadsMessages};
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::Search;
use sms_core::message::{Message, MessageFilter, TimelineEntry};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::begin::{begin, give_up};
use crate::error::{Context, PgResult};
use crate::row::{self, uuid};
use crate::{PgStore, change, message_columns, timeline};

pub(crate) mod list;
mod search;
mod walk;

use list::{Window, is_walked, list_query};
use walk::walk;

#[async_trait]
impl ReadsMessages for PgStore {
    async fn message_get(
        &self,
        account: AccountId,
        id: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        let doing = "reading a message";
        let row = sqlx::query(concat!(
            "SELECT ",
            message_columns!(),
            ", m.timeline, m.sending_at FROM message m WHERE m.account_id = $1 AND m.id = $2"
        ))
        .bind(uuid(account))
        .bind(uuid(id))
        .fetch_optional(&self.pool)
        .await
        .context(doing)?;
        let read = row.map(|row| {
            let message = row::message(&row)?;
            let timeline = timeline::read(&row, &message)?;
            PgResult::Ok((message, timeline))
        });
        read.transpose().context(doing)
    }

    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        let doing = "listing messages";
        if filter.is_contradiction() {
            return Ok(Page { items: Vec::new(), next: None });
        }
        if let Some(Search::Words(words)) = &filter.search {
            let found = search::list(&self.pool, account, filter, words, page).await;
            return found.context(doing);
        }
        let window = Window::of(filter, page);
        let (rows, end) = if is_walked(filter) {
            walk(&self.pool, account, filter, window).await.context(doing)?
        } else {
            let mut query = list_query(message_columns!(), account, filter, window);
            // Planned for each call: which index is best depends on the filter.
            let query = query.build().persistent(false);
            (query.fetch_all(&self.pool).await.context(doing)?, None)
        };
        let items: PgResult<Vec<Message>> = rows.iter().map(row::message).collect();
        let items = items.context(doing)?;
        if let Some(end) = end {
            let next = Some(Cursor::after(MessageId::from_u128(end.as_u128())));
            return Ok(Page { items, next });
        }
        Ok(Page::of(items, page.limit, |message: &Message| message.id))
    }
}

#[async_trait]
impl MessageStore for PgStore {
    async fn message_cancel(
        &self,
        mut plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        let doing = "cancelling a message";
        let mut tx = begin(&self.pool).await.context(doing)?;
        // Locks the queue row before the message, as workers do, so that the two cannot deadlock.
        sqlx::query("SELECT 1 FROM queue WHERE message_id = $1 FOR UPDATE")
            .bind(uuid(plan.message))
            .fetch_optional(&mut *tx)
            .await
            .context(doing)?;
        let row = sqlx::query(concat!(
            "SELECT ",
            message_columns!(),
            " FROM message m WHERE m.account_id = $1 AND m.id = $2 FOR UPDATE"
        ))
        .bind(uuid(plan.account))
        .bind(uuid(plan.message))
        .fetch_optional(&mut *tx)
        .await
        .context(doing)?;
        let found = row.as_ref().map(row::message).transpose().context(doing)?;
        let changed = match plan.settle(found.as_ref()) {
            Ok(changed) => changed,
            Err(refused) => return Err(give_up(tx, CommitError::Refused(refused)).await),
        };
        let message = changed.message().clone();
        let mut changes = Changes::default();
        changes.add([changed], &plan.ids);
        change::write(&mut tx, changes.finish()).await.context(doing)?;
        tx.commit().await.context(doing)?;
        Ok(message)
    }
}

impl PgStore {
    pub(crate) async fn search_prepare(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        search::prepare(&self.pool, before, limit).await
    }
}
