//! `/sender-ids`: sender names, which the operator approves before they can be used.

use poem::web::Data;
use poem_openapi::{Object, OpenApi};
use sms_core::Sms;
use sms_core::sender_name::{MAX_REMARK, ReviewStatus, SenderName, SenderValue, VALUE_CHARACTERS};
use sms_core::service::{AccountHandle, Caller};

use super::tag::Tag;
use crate::api::idempotency::{KeyHeader, created};
use crate::failure::Conflict;
use crate::request_body;
use crate::web::body::Body;
use crate::web::choice::Named;
use crate::web::envelope::{Answer, CreatedOrNot, ReplayMeta};
use crate::web::error::ApiError;
use crate::web::failing::Failing;
use crate::web::field_error::checked;
use crate::web::fields::text::{Mistake, Text, text};
use crate::web::moment::Moment;
use crate::web::param::HeaderParam;

const VALUE_PATTERN: &str =
    "^([A-Za-z0-9&._-][A-Za-z0-9 &._-]*)?[A-Za-z]([A-Za-z0-9 &._-]*[A-Za-z0-9&._-])?$";

fn value() -> Text {
    let (least, most) = VALUE_CHARACTERS.into_inner();
    text().min(least).max(most).pattern(VALUE_PATTERN).checked(check_value)
}

fn check_value(value: &str) -> Result<(), Mistake> {
    let parsed = value.parse::<SenderValue>();
    parsed.map(|_| ()).map_err(|reason| (reason.code(), reason.to_string()))
}

request_body! {
    /// A request for a sender name.
    struct SenderNameInput as "SenderNameInput" {
        /// The name: letters, digits, inner spaces and `&._-`, at least one letter.
        required value: String = value(), example "Bistro & Co";
        /// The purpose, for the operator's review.
        optional purpose: String = text().max(MAX_REMARK),
            example "Confirms bookings of our guests";
    }
}

/// A sender name.
#[derive(Debug, Object)]
#[oai(rename = "SenderName")]
pub(crate) struct SenderNameShape {
    /// `snd_` and 26 characters.
    id: String,
    /// The name.
    value: String,
    /// What the name is for; null if it was not given.
    purpose: Option<String>,
    /// The status of the review.
    status: Named<ReviewStatus>,
    /// The operator's reason for the decision; null if there is none.
    reason: Option<String>,
    /// When it was requested.
    created_at: Moment,
    /// When the operator last decided; null before the first decision.
    reviewed_at: Option<Moment>,
}

impl From<SenderName> for SenderNameShape {
    fn from(name: SenderName) -> Self {
        Self {
            id: name.id.to_string(),
            value: name.value.to_string(),
            purpose: name.purpose,
            status: Named(name.status),
            reason: name.reason,
            created_at: name.created_at.into(),
            reviewed_at: name.reviewed_at.map(Into::into),
        }
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

    fn account(&self, caller: &Caller) -> AccountHandle {
        self.sms.account(caller.account, caller.mode)
    }
}

#[OpenApi(prefix_path = "/sender-ids", tag = "Tag::SenderNames")]
impl SenderNameApi {
    /// List sender names
    ///
    /// All names, newest first, with the status of the review.
    #[oai(path = "/", method = "get", operation_id = "sender_name_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<SenderNameShape>>, ApiError> {
        let names = self.account(&caller).sender_name_list().await?;
        Ok(Answer::new(names.into_iter().map(Into::into).collect()))
    }

    /// Request a sender name
    ///
    /// The operator reviews the request. The answer is 409 `sender_exists` if the same name, in any
    /// case, is pending or approved. A rejected name may be requested again.
    #[oai(path = "/", method = "post", operation_id = "sender_name_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        /// Identifies retries of the same request, for 7 days.
        #[oai(name = "Idempotency-Key")]
        key: HeaderParam<KeyHeader>,
        body: Body<SenderNameInput>,
    ) -> Result<CreatedOrNot<SenderNameShape, Option<ReplayMeta>>, Failing<Conflict>> {
        let (KeyHeader(key), input) = checked((key, body))?;
        let account = self.account(&caller).keyed(key);
        let name = account.sender_name_create(&input.value, input.purpose).await?;
        Ok(created(name))
    }
}
