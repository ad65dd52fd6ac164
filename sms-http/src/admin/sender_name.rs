//! `/sender-ids`: the review of sender names.

use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::sender_name::review::Decision;
use sms_core::sender_name::{MAX_REMARK, ReviewStatus, SenderName};

use super::tag::Tag;
use crate::api::page::{CursorText, page_answer, page_request};
use crate::api::path_id::path_id;
use crate::api::sender_name::SenderNameShape;
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::OptionalBody;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, PageMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::{FieldErrors, checked};
use crate::web::param::{Limit, QueryParam};
use crate::web::path_param::PathParam;

request_body! {
    /// A remark on a decision.
    struct DecisionInput as "DecisionInput" {
        /// The reason, shown to the account.
        optional reason: String = text().max(MAX_REMARK);
    }
}

/// A sender name with its account.
#[derive(Debug, Object)]
struct ReviewedName {
    /// The account that requested it.
    account_id: String,
    #[oai(flatten)]
    name: SenderNameShape,
}

impl From<SenderName> for ReviewedName {
    fn from(name: SenderName) -> Self {
        Self { account_id: name.account.to_string(), name: name.into() }
    }
}

/// The handlers of `/sender-ids`.
#[derive(Debug)]
pub struct SenderNameApi {
    sms: Sms,
}

impl SenderNameApi {
    pub(super) fn new(sms: Sms) -> Self {
        Self { sms }
    }

    async fn decide(
        &self,
        id: &str,
        decision: Decision,
        body: OptionalBody<DecisionInput>,
    ) -> Result<Answer<ReviewedName>, ApiError> {
        let id = path_id(id)?;
        let reason = checked(body)?.and_then(|input| input.reason);
        let name = self.sms.operator().sender_name_review(id, decision, reason).await?;
        Ok(Answer::new(name.into()))
    }
}

#[OpenApi(prefix_path = "/sender-ids", tag = "Tag::SenderNames")]
impl SenderNameApi {
    /// List sender names
    ///
    /// The names of all accounts, newest first; with `status`, only names with that status.
    #[oai(path = "/", method = "get", operation_id = "sender_name_list")]
    async fn list(
        &self,
        /// The most names per page.
        limit: QueryParam<Limit>,
        /// `meta.next_cursor` of the previous page.
        cursor: QueryParam<Option<CursorText>>,
        /// The status of the names.
        status: QueryParam<Option<Named<ReviewStatus>>>,
    ) -> Result<Answer<Vec<ReviewedName>, PageMeta>, ApiError> {
        let mut errors = FieldErrors::new();
        let page = page_request(limit, cursor, &mut errors);
        let status = errors.take(status).map(|choice| choice.0);
        errors.finish()?;
        Ok(page_answer(self.sms.operator().sender_name_list(status, page).await?))
    }

    /// Approve a sender name
    ///
    /// The last decision counts. If the account has requested a rejected name again, the answer is
    /// 409 `sender_exists`: approve the newer request instead.
    #[oai(path = "/:id/approve", method = "post", operation_id = "sender_name_approve")]
    async fn approve(
        &self,
        /// The sender name's id.
        id: PathParam,
        body: OptionalBody<DecisionInput>,
    ) -> Result<Answer<ReviewedName>, Failing<Conflict>> {
        Ok(self.decide(&id, Decision::Approve, body).await?)
    }

    /// Reject a sender name
    ///
    /// The last decision counts: an approved name can be rejected and is then no longer usable.
    /// Messages that still wait with it fail with `sender_not_approved` and are refunded.
    #[oai(path = "/:id/reject", method = "post", operation_id = "sender_name_reject")]
    async fn reject(
        &self,
        /// The sender name's id.
        id: PathParam,
        body: OptionalBody<DecisionInput>,
    ) -> Result<Answer<ReviewedName>, ApiError> {
        self.decide(&id, Decision::Reject, body).await
    }
}
