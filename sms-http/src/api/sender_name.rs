//! `/sender-ids`: sender names, which the operator approves before they send.

use poem::web::Data;
use poem_openapi::{Enum, Object, OpenApi};
use sms_core::Sms;
use sms_core::sender_name::{MAX_REMARK, ReviewStatus, SenderName, SenderValue, VALUE_CHARACTERS};
use sms_core::service::{AccountHandle, Caller};

use super::Tag;
use crate::web::body::Body;
use crate::web::envelope::{Answer, Created};
use crate::web::error::ApiError;
use crate::web::field_error::checked;
use crate::web::fields::{Fields, FromFields, rule};
use crate::web::moment::Moment;

/// A request for a sender name.
#[derive(Debug, Object)]
#[oai(example)]
struct SenderNameInput {
    /// The name: letters, digits, inner spaces and `&._-`, at least one letter.
    #[oai(validator(
        min_length = 3,
        max_length = 11,
        pattern = "^([A-Za-z0-9&._-][A-Za-z0-9 &._-]*)?[A-Za-z]([A-Za-z0-9 &._-]*[A-Za-z0-9&._-])?$"
    ))]
    value: String,
    /// What it is for; the operator reads it.
    #[oai(validator(max_length = 500))]
    purpose: Option<String>,
}

impl poem_openapi::types::Example for SenderNameInput {
    fn example() -> Self {
        Self {
            value: "Bistro & Co".to_owned(),
            purpose: Some("Confirms bookings of our guests".to_owned()),
        }
    }
}

impl FromFields for SenderNameInput {
    fn from_fields(fields: &mut Fields<'_>) -> Self {
        let (least, most) = VALUE_CHARACTERS.into_inner();
        let input = Self {
            value: fields.required("value", rule::text().min(least).max(most)),
            purpose: fields.optional("purpose", rule::text().max(MAX_REMARK)),
        };
        if let Err(reason) = input.value.parse::<SenderValue>() {
            fields.note("value", reason.code(), &reason.to_string());
        }
        input
    }
}

/// What the operator decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[oai(rename = "SenderStatus", rename_all = "snake_case")]
pub(crate) enum StatusName {
    /// Nothing yet.
    Pending,
    /// It may send.
    Approved,
    /// It may not; it may be asked for again.
    Rejected,
}

impl From<ReviewStatus> for StatusName {
    fn from(status: ReviewStatus) -> Self {
        match status {
            ReviewStatus::Pending => Self::Pending,
            ReviewStatus::Approved => Self::Approved,
            ReviewStatus::Rejected => Self::Rejected,
        }
    }
}

impl From<StatusName> for ReviewStatus {
    fn from(name: StatusName) -> Self {
        match name {
            StatusName::Pending => Self::Pending,
            StatusName::Approved => Self::Approved,
            StatusName::Rejected => Self::Rejected,
        }
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
    /// What it is for.
    purpose: Option<String>,
    /// What the operator decided.
    status: StatusName,
    /// Why, in the operator's words.
    reason: Option<String>,
    /// When it was asked for.
    created_at: Moment,
    /// When the operator last decided about it.
    reviewed_at: Option<Moment>,
}

impl From<SenderName> for SenderNameShape {
    fn from(name: SenderName) -> Self {
        Self {
            id: name.id.to_string(),
            value: name.value.to_string(),
            purpose: name.purpose,
            status: name.status.into(),
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
    /// All of them, newest first, with what the operator decided.
    #[oai(path = "/", method = "get", operation_id = "sender_name_list")]
    async fn list(&self, caller: Data<&Caller>) -> Result<Answer<Vec<SenderNameShape>>, ApiError> {
        let names = self.account(&caller).sender_name_list().await?;
        Ok(Answer::new(names.into_iter().map(Into::into).collect()))
    }

    /// Ask for a sender name
    ///
    /// It waits for the operator's review. A name that waits or is approved is 409 `sender_exists`,
    /// whatever its case; one that was rejected may be asked for again.
    #[oai(path = "/", method = "post", operation_id = "sender_name_create")]
    async fn create(
        &self,
        caller: Data<&Caller>,
        body: Body<SenderNameInput>,
    ) -> Result<Created<SenderNameShape>, ApiError> {
        let input = checked(body)?;
        let account = self.account(&caller);
        let name = account.sender_name_create(&input.value, input.purpose).await?;
        Ok(Created::new(name.into()))
    }
}
