//! What can go wrong, as a caller sees it: one error type with stable codes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::account::status::MayNotSend;
use crate::campaign::CampaignStatus;
use crate::credits::Credits;
use crate::idempotency::NotRepeated;
use crate::ids::ContactId;
use crate::message::status::MessageStatus;
use crate::sending::settle::{TEST_MESSAGES_PER_HOUR, TEST_NUMBERS_PER_REQUEST};
use crate::store_error::{CommitError, StoreError};
use crate::time::Timestamp;
use crate::webhook::endpoint::MAX_PER_ACCOUNT;
use crate::webhook::sealing::SealError;

mod causes;
mod parsed;
mod refused;

pub use causes::causes;

pub use crate::field_error::FieldError;

/// Why the service did not execute a request. The request had no effect.
///
/// What cannot be parsed becomes [`Error::Invalid`], so `?` works on every `parse` of this crate:
///
/// ```
/// use sms_core::prelude::*;
///
/// fn read(list: &str, number: &str) -> Result<(ListId, E164), Error> {
///     Ok((list.parse()?, parse_uk_mobile(number)?))
/// }
///
/// let error = read("7", "07700 900123").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the request is not valid: list_id: not a valid list id: expected lst_ and 26 characters"
/// );
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Fields break rules; every one of them is listed.
    #[error("the request is not valid: {}", listed(.0))]
    Invalid(Vec<FieldError>),
    /// The account has no such resource. Carries its kind, such as `message`.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// The request names a resource that the account does not have.
    #[error("no such {resource}: {id}")]
    UnknownReference {
        /// The kind of resource, such as `contact`.
        resource: &'static str,
        /// The id or name that the request gave.
        id: String,
    },
    /// The account's status forbids sending.
    #[error(transparent)]
    MayNotSend(#[from] MayNotSend),
    /// The send costs more than the balance.
    #[error(
        "this send costs {}, but the balance is {balance}: top up, or send to fewer recipients",
        .needed.with_unit()
    )]
    InsufficientCredit {
        /// The price of the send.
        needed: Credits,
        /// The balance of the account.
        balance: Credits,
    },
    /// The idempotency key belongs to an earlier request with a different meaning.
    #[error("this idempotency key was used for another request; use a new key")]
    IdempotencyConflict,
    /// The message is being handed over, or is in a later state. Carries its status.
    #[error("only a scheduled or queued message can be cancelled; this one is {0}")]
    MessageNotCancellable(MessageStatus),
    /// The campaign is no longer a draft, so it cannot be edited or deleted.
    #[error("only a draft campaign can be edited or deleted")]
    CampaignNotDraft,
    /// The campaign was launched before.
    #[error("the campaign has already been launched")]
    CampaignAlreadyLaunched,
    /// The campaign is neither scheduled nor sending. Carries its status.
    #[error("only a scheduled or sending campaign can be cancelled; this one is {0}")]
    CampaignNotCancellable(CampaignStatus),
    /// No contact on the campaign's list can be sent a message.
    #[error("no contact on the list can be sent a message: add contacts who have not opted out")]
    NoRecipients,
    /// The resource has another version than the change or removal was made on. Carries its kind,
    /// such as `contact`.
    #[error("this {0} changed after you read it: read it again and repeat the change")]
    PreconditionFailed(&'static str),
    /// Another contact of the account has this number.
    #[error("another contact already has this number; change that contact instead")]
    ContactExists(ContactId),
    /// The operator already has this number.
    #[error("this number already exists; delete it before you add it again")]
    NumberExists,
    /// Another holder has released this number, and it is kept from others until then.
    #[error(
        "another holder released this number less than 30 days ago; it is free from {until} on, \
         or at once with `force`"
    )]
    NumberQuarantined {
        /// When another holder may have it.
        until: Timestamp,
    },
    /// Another keyword of the account has this word.
    #[error("the account already has this keyword; change that keyword instead")]
    KeywordExists,
    /// The word opts people out or in, so no account can have it as a keyword.
    #[error("this word opts people out or in and cannot be a keyword; choose another")]
    ReservedKeyword,
    /// The account has the most webhook endpoints that it may have.
    #[error(
        "the account already has {MAX_PER_ACCOUNT} webhook endpoints, the most it may have; \
         delete one first"
    )]
    WebhookLimitReached,
    /// The endpoint is disabled, so nothing can be replayed to it.
    #[error("the endpoint is disabled; enable it, then replay what it missed")]
    WebhookDisabled,
    /// A replay to this endpoint is under way.
    #[error("a replay to this endpoint is under way; wait until it has ended")]
    ReplayUnderWay,
    /// The account already has this sender name, or has requested it.
    #[error("this sender name is already approved or waiting for review")]
    SenderExists,
    /// The sender name is not approved for the account.
    #[error("the sender name is not approved for this account; request it and wait for approval")]
    SenderNotApproved,
    /// A request with a test key has more than 50 recipients.
    #[error("a test key can send to at most {TEST_NUMBERS_PER_REQUEST} numbers in one request")]
    TestLimitExceeded,
    /// The account has sent its 300 test messages of this hour.
    #[error(
        "the account has sent its {TEST_MESSAGES_PER_HOUR} test messages of this hour; retry later"
    )]
    TestMessagesUsedUp {
        /// How long to wait before a retry.
        retry_after: Duration,
    },
    /// The account has no number to send from, and the operator has no shared one.
    #[error(
        "the account has no number to send from, and there is no shared number; \
         ask the operator for a number"
    )]
    NoNumber,
    /// The balance would leave the range that an account can hold. Carries the reason.
    #[error("{0}")]
    BalanceOutOfRange(String),
    /// Too many large requests of this account wait for each other: sends, quotes and launches to
    /// many recipients, and replays.
    #[error(
        "too many large sends, quotes, launches or replays of this account are waiting; retry \
         later, one after another"
    )]
    TooManyPlans,
    /// Too many large requests of all accounts wait for each other.
    #[error("too many large sends, quotes, launches or replays are waiting; retry later")]
    TooManyPlansInAll,
    /// Concurrent requests changed the account in every attempt; a retry may succeed.
    #[error("the account is being changed by other requests; retry")]
    Busy,
    /// A webhook secret could not be sealed or opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The store failed; [`StoreError`] says whether a retry may succeed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Each field and what to do about it. The messages do not repeat what was given.
fn listed(fields: &[FieldError]) -> String {
    let shown = |FieldError { field, code: _, message }: &FieldError| format!("{field}: {message}");
    fields.iter().map(shown).collect::<Vec<_>>().join("; ")
}

impl Error {
    /// An error of one field.
    pub fn invalid(field: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(field, code, message)])
    }

    /// The stable code that clients branch on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "validation_failed",
            Self::NotFound(_) | Self::UnknownReference { .. } => "not_found",
            Self::MayNotSend(MayNotSend::Pending) => "account_pending",
            Self::MayNotSend(MayNotSend::Suspended) => "account_suspended",
            Self::InsufficientCredit { .. } => "insufficient_credit",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::MessageNotCancellable(_) => "message_not_cancellable",
            Self::CampaignNotDraft => "campaign_not_draft",
            Self::CampaignAlreadyLaunched => "campaign_already_launched",
            Self::CampaignNotCancellable(_) => "campaign_not_cancellable",
            Self::NoRecipients => "no_recipients",
            Self::PreconditionFailed(_) => "precondition_failed",
            Self::ContactExists(_) => "contact_exists",
            Self::NumberExists => "number_exists",
            Self::NumberQuarantined { .. } => "number_quarantined",
            Self::KeywordExists => "keyword_exists",
            Self::ReservedKeyword => "reserved_keyword",
            Self::WebhookLimitReached => "webhook_limit_reached",
            Self::WebhookDisabled => "webhook_disabled",
            Self::ReplayUnderWay => "replay_under_way",
            Self::SenderExists => "sender_exists",
            Self::SenderNotApproved => "sender_not_approved",
            Self::TestLimitExceeded => "test_limit_exceeded",
            Self::TestMessagesUsedUp { .. } | Self::TooManyPlans => "rate_limited",
            Self::NoNumber => "no_number",
            Self::BalanceOutOfRange(_) => "balance_out_of_range",
            Self::TooManyPlansInAll | Self::Busy | Self::Store(StoreError::Unavailable { .. }) => {
                "unavailable"
            }
            Self::Seal(_) | Self::Store(StoreError::Internal { .. }) => "internal_error",
        }
    }

    /// Specifics, as the API's `details` show them; null when there are none.
    pub fn details(&self) -> Value {
        match self {
            Self::Invalid(fields) => json!(fields),
            Self::UnknownReference { resource, id } => json!({ "resource": resource, "id": id }),
            Self::InsufficientCredit { needed, balance } => {
                json!({ "needed": needed, "balance": balance })
            }
            Self::MessageNotCancellable(status) => json!({ "status": status }),
            Self::CampaignNotCancellable(status) => json!({ "status": status.as_str() }),
            Self::NoRecipients => {
                json!([FieldError::new("list_id", "no_recipients", self.to_string())])
            }
            Self::ContactExists(id) => json!({ "resource": "contact", "id": id }),
            Self::PreconditionFailed(kind) => json!({ "resource": kind }),
            Self::NumberQuarantined { until } => json!({ "until": until }),
            _ => Value::Null,
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.code(), "unavailable" | "rate_limited")
    }
}

impl From<NotRepeated> for Error {
    fn from(reason: NotRepeated) -> Self {
        match reason {
            NotRepeated::Conflict => Self::IdempotencyConflict,
            NotRepeated::Store(error) => Self::Store(error),
        }
    }
}

impl<R: Into<Error>> From<CommitError<R>> for Error {
    fn from(error: CommitError<R>) -> Self {
        match error {
            CommitError::Refused(refused) => refused.into(),
            CommitError::Stale => Self::Busy,
            CommitError::Store(error) => Self::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::credits;

    /// Every error with its code, its details, and whether trying again may help.
    fn every_error() -> Vec<(Error, &'static str, Value, bool)> {
        let (store, doing) = (Error::Store, "counting");
        let retry_after = Duration::from_secs(9);
        let field = FieldError::new("to", "required", "give a number");
        let fields = json!([{ "field": "to", "code": "required", "message": "give a number" }]);
        let unknown = Error::UnknownReference { resource: "list", id: "lst_1".to_owned() };
        let poor = Error::InsufficientCredit { needed: credits(3), balance: credits(2) };
        let sent = Error::MessageNotCancellable(MessageStatus::Sent);
        let contact = ContactId::from_u128(0);
        let taken = json!({ "resource": "contact", "id": contact });
        let unreachable =
            "no contact on the list can be sent a message: add contacts who have not opted out";
        let nobody = json!([{ "field": "list_id", "code": "no_recipients",
                              "message": unreachable }]);
        let null = || Value::Null;
        vec![
            (Error::Invalid(vec![field]), "validation_failed", fields, false),
            (Error::NotFound("message"), "not_found", null(), false),
            (unknown, "not_found", json!({ "resource": "list", "id": "lst_1" }), false),
            (MayNotSend::Pending.into(), "account_pending", null(), false),
            (MayNotSend::Suspended.into(), "account_suspended", null(), false),
            (poor, "insufficient_credit", json!({ "needed": 3, "balance": 2 }), false),
            (Error::IdempotencyConflict, "idempotency_conflict", null(), false),
            (sent, "message_not_cancellable", json!({ "status": "sent" }), false),
            (Error::CampaignNotDraft, "campaign_not_draft", null(), false),
            (Error::CampaignAlreadyLaunched, "campaign_already_launched", null(), false),
            (
                Error::CampaignNotCancellable(CampaignStatus::Sent),
                "campaign_not_cancellable",
                json!({ "status": "sent" }),
                false,
            ),
            (Error::NoRecipients, "no_recipients", nobody, false),
            (Error::ContactExists(contact), "contact_exists", taken, false),
            (
                Error::PreconditionFailed("contact"),
                "precondition_failed",
                json!({ "resource": "contact" }),
                false,
            ),
            (Error::NumberExists, "number_exists", null(), false),
            (
                Error::NumberQuarantined { until: Timestamp::from_millis(0) },
                "number_quarantined",
                json!({ "until": "1970-01-01T00:00:00.000Z" }),
                false,
            ),
            (Error::KeywordExists, "keyword_exists", null(), false),
            (Error::ReservedKeyword, "reserved_keyword", null(), false),
            (Error::WebhookLimitReached, "webhook_limit_reached", null(), false),
            (Error::WebhookDisabled, "webhook_disabled", null(), false),
            (Error::ReplayUnderWay, "replay_under_way", null(), false),
            (Error::SenderExists, "sender_exists", null(), false),
            (Error::SenderNotApproved, "sender_not_approved", null(), false),
            (Error::TestLimitExceeded, "test_limit_exceeded", null(), false),
            (Error::TestMessagesUsedUp { retry_after }, "rate_limited", null(), true),
            (Error::NoNumber, "no_number", null(), false),
            (Error::BalanceOutOfRange(String::new()), "balance_out_of_range", null(), false),
            (Error::TooManyPlans, "rate_limited", null(), true),
            (Error::TooManyPlansInAll, "unavailable", null(), true),
            (Error::Busy, "unavailable", null(), true),
            (store(StoreError::Unavailable { doing, source: None }), "unavailable", null(), true),
            (store(StoreError::Internal { doing, source: None }), "internal_error", null(), false),
        ]
    }

    #[test]
    fn every_error_has_the_documented_code_and_details() {
        for (error, code, details, is_retryable) in every_error() {
            assert_eq!(error.code(), code, "{error:?}");
            assert_eq!(error.details(), details, "{error:?}");
            assert_eq!(error.is_retryable(), is_retryable, "{error:?}");
        }
    }

    #[test]
    fn messages_are_lower_case_name_the_thing_and_have_no_full_stop() {
        for (error, ..) in every_error() {
            let message = error.to_string();
            assert!(
                !message.ends_with('.') && !message.starts_with(char::is_uppercase),
                "{message}"
            );
        }
    }

    #[test]
    fn an_insufficient_balance_is_reported_with_both_amounts_and_a_singular() {
        let poor = |needed| Error::InsufficientCredit { needed, balance: credits(3) }.to_string();
        let remedy = "top up, or send to fewer recipients";
        for (needed, price) in [(12, "12 credits"), (1, "1 credit")] {
            let message = format!("this send costs {price}, but the balance is 3: {remedy}");
            assert_eq!(poor(credits(needed)), message);
        }
    }
}
