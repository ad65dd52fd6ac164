//! Single messages: reading, listing, cancelling.

use async_trait::async_trait;
use sms_core::change::cancel::{CancelPlan, CancelRefused};
use sms_core::change::store::{MessageStore, ReadsMessages};
use sms_core::commit::Changes;
use sms_core::ids::{AccountId, MessageId};
use sms_core::message::filter::Search;
use sms_core::message::{Message, MessageFilter, TimelineEntry};
use sms_core::page::{Page, PageRequest};
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::SqliteStore;
use crate::message_list::{Window, list};
use crate::message_row::{message, message_columns, timeline};
use crate::row::id;
use crate::{search, stretch};

#[async_trait]
impl ReadsMessages for SqliteStore {
    async fn message_get(
        &self,
        account: AccountId,
        of: MessageId,
    ) -> Result<Option<(Message, Vec<TimelineEntry>)>, StoreError> {
        self.look("reading a message", move |db| {
            let query = concat!(
                "SELECT ",
                message_columns!(),
                ", m.timeline FROM message m WHERE m.id = ?1"
            );
            let found = db.one(query, [id(of)], |c| {
                Ok((message(db, c)?, c.map(|text: String| timeline(&text))?))
            })?;
            Ok(found.filter(|(message, _)| message.account == account))
        })
        .await
    }

    async fn message_list(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        let filter = filter.clone();
        let rows = self.read("listing messages", move |db| {
            let Some(no) = db.account_no(account)? else { return Ok(Default::default()) };
            if filter.is_contradiction() {
                return Ok(Default::default());
            }
            let window = Window::of(&filter, page);
            match &filter.search {
                Some(Search::Words(words)) => search::find(db, no, &filter, words, window),
                Some(Search::Number(number)) => {
                    Ok((stretch::list(db, no, *number, &filter, window)?, None))
                }
                None => list(db, no, &filter, window),
            }
        });
        let (rows, end) = rows.await?;
        let end = end.map(MessageId::from_u128);
        Ok(Page::of_search(rows, page.limit, end, |message: &Message| message.id))
    }
}

#[async_trait]
impl MessageStore for SqliteStore {
    async fn message_cancel(
        &self,
        plan: CancelPlan,
    ) -> Result<Message, CommitError<CancelRefused>> {
        self.decide("cancelling a message", move |db| {
            let mut plan = plan.clone();
            let found = db.message(plan.message)?.filter(|found| found.account == plan.account);
            let changed = match plan.settle(found.as_ref()) {
                Ok(changed) => changed,
                Err(refused) => return Ok(Err(CommitError::Refused(refused))),
            };
            let message = changed.message().clone();
            let mut changes = Changes::default();
            changes.add([changed], &plan.ids);
            db.write_changes(changes.finish())?;
            Ok(Ok(message))
        })
        .await
    }
}

impl SqliteStore {
    pub(crate) async fn search_prepare(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<usize, StoreError> {
        search::prepare(self, before, limit).await
    }
}
