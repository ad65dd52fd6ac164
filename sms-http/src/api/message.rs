//! `/messages`: reading, listing, exporting and cancelling messages. Sending is in
//! [`super::send`].

use chrono::{DateTime, Utc};
use poem::web::Data;
use poem_openapi::OpenApi;
use sms_core::Sms;
use sms_core::message::{Direction, MessageFilter, MessageStatus};
use sms_core::service::{AccountHandle, Caller};

use super::export::{Beginning, CsvExport, Exports, export};
use super::message_shape::{MessageShape, MessageWithEvents};
use super::page::{CursorText, page_answer, page_request};
use super::path_id::path_id;
use super::tag::Tag;
use crate::failure::Conflict;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::FieldErrors;
use crate::web::param::{Limit, QueryParam, Text};
use crate::web::path_param::PathParam;

/// The handlers of `/messages`, except sending.
#[derive(Debug)]
pub struct MessageApi {
    sms: Sms,
    exports: Exports,
}

impl MessageApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms, exports: Exports::default() }
    }

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

/// The filters of the list and the export, as given.
pub(crate) struct FilterParams {
    pub(crate) direction: QueryParam<Option<Named<Direction>>>,
    pub(crate) status: QueryParam<Option<Named<MessageStatus>>>,
    pub(crate) q: QueryParam<Option<Text<200>>>,
    pub(crate) campaign_id: QueryParam<Option<Text<200>>>,
    pub(crate) batch_id: QueryParam<Option<Text<200>>>,
    pub(crate) client_ref: QueryParam<Option<Text<200>>>,
    pub(crate) since: QueryParam<Option<DateTime<Utc>>>,
    pub(crate) until: QueryParam<Option<DateTime<Utc>>>,
}

/// What a filter selects: messages, or none if it names something that cannot exist.
pub(crate) enum Wanted {
    /// These, among which to search for `q`.
    Some(Box<MessageFilter>, Option<Text<200>>),
    Nothing,
}

impl Wanted {
    /// The filter with its search; `None` if no message can match.
    async fn filter(self, account: &AccountHandle) -> Result<Option<MessageFilter>, ApiError> {
        let Self::Some(filter, q) = self else { return Ok(None) };
        let search = match q {
            Some(q) => account.message_search(&q.0, &filter).await?,
            None => None,
        };
        Ok(Some(MessageFilter { search, ..*filter }))
    }
}

impl FilterParams {
    pub(crate) fn read(self, errors: &mut FieldErrors) -> Wanted {
        let direction = errors.take(self.direction);
        let status = errors.take(self.status);
        let q = errors.take(self.q);
        let campaign_id = errors.take(self.campaign_id).map(|text| text.0.parse());
        let batch_id = errors.take(self.batch_id).map(|text| text.0.parse());
        let client_ref = errors.take(self.client_ref).map(|text| text.0);
        let since = errors.take(self.since).map(Into::into);
        let until = errors.take(self.until).map(Into::into);
        // A malformed id names no batch and no campaign, so no message matches.
        let (Ok(campaign_id), Ok(batch_id)) = (campaign_id.transpose(), batch_id.transpose())
        else {
            return Wanted::Nothing;
        };
        let filter = MessageFilter {
            direction: direction.map(|choice| choice.0),
            status: status.map(|choice| choice.0),
            search: None,
            campaign_id,
            batch_id,
            client_ref,
            since,
            until,
        };
        Wanted::Some(Box::new(filter), q)
    }
}

#[OpenApi(prefix_path = "/messages", tag = "Tag::Messages")]
impl MessageApi {
    /// List messages
    ///
    /// Newest first. A message must match all filters; an unknown id matches none. Where matches
    /// are few among many, a page may end early, even without items: go on while `next_cursor` is
    /// not null.
    #[oai(path = "/", method = "get", operation_id = "message_list")]
    #[expect(clippy::too_many_arguments, reason = "one argument is one parameter of the API")]
    async fn list(
        &self,
        caller: Data<&Caller>,
        /// The most messages per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// The direction: sent or received.
        direction: QueryParam<Option<Named<Direction>>>,
        /// The status of a message.
        status: QueryParam<Option<Named<MessageStatus>>>,
        /// A phone number in any format, a short code or a name exactly as it is shown, or text to
        /// find in the body.
        q: QueryParam<Option<Text<200>>>,
        /// The campaign it came from.
        campaign_id: QueryParam<Option<Text<200>>>,
        /// The send request it came from.
        batch_id: QueryParam<Option<Text<200>>>,
        /// Your reference, matched exactly.
        client_ref: QueryParam<Option<Text<200>>>,
        /// Created at this time or later.
        since: QueryParam<Option<DateTime<Utc>>>,
        /// Created before this time.
        until: QueryParam<Option<DateTime<Utc>>>,
    ) -> Result<Answer<Vec<MessageShape>, PageMeta>, ApiError> {
        let filters =
            FilterParams { direction, status, q, campaign_id, batch_id, client_ref, since, until };
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let wanted = filters.read(&mut errors);
        errors.finish()?;
        let account = self.account(&caller);
        let filter = wanted.filter(&account).await?;
        let Some(filter) = filter else { return Ok(Answer::page(Vec::new(), None)) };
        Ok(page_answer(account.message_list(&filter, page).await?))
    }

    /// Export messages
    ///
    /// With the filters of the list. Streams up to 50,000 rows of CSV, newest first. An account may
    /// have 3 exports at once.
    #[oai(path = "/export", method = "get", operation_id = "message_export")]
    #[expect(clippy::too_many_arguments, reason = "one argument is one parameter of the API")]
    async fn export(
        &self,
        caller: Data<&Caller>,
        /// The direction: sent or received.
        direction: QueryParam<Option<Named<Direction>>>,
        /// The status of a message.
        status: QueryParam<Option<Named<MessageStatus>>>,
        /// A phone number in any format, a short code or a name exactly as it is shown, or text to
        /// find in the body.
        q: QueryParam<Option<Text<200>>>,
        /// The campaign it came from.
        campaign_id: QueryParam<Option<Text<200>>>,
        /// The send request it came from.
        batch_id: QueryParam<Option<Text<200>>>,
        /// Your reference, matched exactly.
        client_ref: QueryParam<Option<Text<200>>>,
        /// Created at this time or later.
        since: QueryParam<Option<DateTime<Utc>>>,
        /// Created before this time.
        until: QueryParam<Option<DateTime<Utc>>>,
        /// Whether the file begins with the mark by which spreadsheets know UTF-8: true by default.
        bom: QueryParam<Option<bool>>,
    ) -> Result<CsvExport, ApiError> {
        let filters =
            FilterParams { direction, status, q, campaign_id, batch_id, client_ref, since, until };
        let mut errors = FieldErrors::new();
        let wanted = filters.read(&mut errors);
        let beginning = match errors.take(bom) {
            Some(false) => Beginning::Columns,
            Some(true) | None => Beginning::Mark,
        };
        errors.finish()?;
        let account = self.account(&caller);
        let filter = wanted.filter(&account).await?;
        export(&self.exports, account, filter, beginning).await
    }

    /// Read a message
    ///
    /// With `events`, its history.
    #[oai(path = "/:id", method = "get", operation_id = "message_get")]
    async fn get(
        &self,
        caller: Data<&Caller>,
        /// The message's id.
        id: PathParam,
    ) -> Result<Answer<MessageWithEvents>, ApiError> {
        let found = self.account(&caller).message_get(path_id(&id)?).await?;
        Ok(Answer::new(MessageWithEvents(found.message, found.timeline)))
    }

    /// Cancel a message
    ///
    /// Only while it is `scheduled` or `queued`; its credits are refunded.
    #[oai(path = "/:id/cancel", method = "post", operation_id = "message_cancel")]
    async fn cancel(
        &self,
        caller: Data<&Caller>,
        /// The message's id.
        id: PathParam,
    ) -> Result<Answer<MessageShape>, Failing<Conflict>> {
        let message = self.account(&caller).message_cancel(path_id(&id)?).await?;
        Ok(Answer::new(MessageShape(message)))
    }
}
