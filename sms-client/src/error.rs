//! What can go wrong with a call.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::choice::open_choice;

/// Why a call failed. Shows no key, number or body.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API refused the request.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The server could not be reached, or the connection broke.
    #[error("{server} did not answer: {reason}")]
    NoAnswer {
        /// The server's base URL.
        server: String,
        /// The cause at the bottom.
        reason: String,
        /// Whether the server may have taken the request.
        arrival: Arrival,
    },
    /// Something answered with an error that is not the API's, such as a proxy.
    #[error("{server} answered {status} without a reason: does the URL lead to the API?")]
    NotTheApi {
        /// The server's base URL.
        server: String,
        /// The HTTP status.
        status: u16,
    },
    /// The answer does not have the form that the API promises.
    #[error("the answer cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Whether a request that got no answer may have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// No connection was made: the server knows nothing of the request.
    Never,
    /// The connection broke: the request may have taken effect.
    Perhaps,
}

/// A request that the API refused, as its answer says it.
#[derive(Debug, Clone, PartialEq, Serialize, thiserror::Error)]
#[error("{message}{}", lines_of(.details))]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// Which error it is; stable, for programs to branch on.
    pub code: ErrorCode,
    /// What happened, for people.
    pub message: String,
    /// The invalid fields, or facts such as `needed` and `balance`; null if there are none.
    pub details: Value,
    /// Where the code is explained.
    pub doc_url: Option<String>,
    /// Names the request when you ask the operator for help.
    pub request_id: Option<String>,
    /// How long the server asked to wait.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
}

/// A field or parameter that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// The path of the field, such as `to` or `rows[3].phone`.
    pub field: String,
    /// Which rule it breaks.
    pub code: String,
    /// What is wrong, for people.
    pub message: String,
}

impl Refusal {
    /// The invalid fields that the answer names.
    pub fn fields(&self) -> Vec<FieldError> {
        fields_of(&self.details)
    }
}

fn fields_of(details: &Value) -> Vec<FieldError> {
    serde_json::from_value(details.clone()).unwrap_or_default()
}

fn lines_of(details: &Value) -> String {
    let line = |field: FieldError| format!("\n  {}: {}", field.field, field.message);
    fields_of(details).into_iter().map(line).collect()
}

impl Error {
    /// The API's refusal, if that is what the error is.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The code of the API's refusal.
    pub fn code(&self) -> Option<&ErrorCode> {
        self.refusal().map(|refusal| &refusal.code)
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            Self::NotTheApi { status, .. } => Some(*status),
            Self::NoAnswer { .. } | Self::Unreadable(_) => None,
        }
    }
}

open_choice! {
    /// Which error it is. `docs/errors.md` explains every code.
    ErrorCode {
        /// The key is missing, malformed, unknown or revoked.
        Unauthorized = "unauthorized",
        /// The path or the resource does not exist in this account.
        NotFound = "not_found",
        /// The path does not support the method.
        MethodNotAllowed = "method_not_allowed",
        /// The body did not arrive in time.
        RequestTimeout = "request_timeout",
        /// The body is too large.
        PayloadTooLarge = "payload_too_large",
        /// Path and query are too long.
        UriTooLong = "uri_too_long",
        /// The body is not declared as JSON.
        UnsupportedMediaType = "unsupported_media_type",
        /// Fields or parameters are invalid.
        ValidationFailed = "validation_failed",
        /// A list does not have this query parameter.
        UnknownParameter = "unknown_parameter",
        /// Too many requests.
        RateLimited = "rate_limited",
        /// The head of the request is too large.
        HeadersTooLarge = "headers_too_large",
        /// The server failed.
        InternalError = "internal_error",
        /// The server cannot serve the request now.
        Unavailable = "unavailable",
        /// The balance does not cover the send.
        InsufficientCredit = "insufficient_credit",
        /// The account awaits approval.
        AccountPending = "account_pending",
        /// The account is suspended.
        AccountSuspended = "account_suspended",
        /// The change would take the balance out of its range.
        BalanceOutOfRange = "balance_out_of_range",
        /// The campaign was launched before.
        CampaignAlreadyLaunched = "campaign_already_launched",
        /// Only a scheduled or sending campaign can be cancelled.
        CampaignNotCancellable = "campaign_not_cancellable",
        /// Only a draft can be changed or deleted.
        CampaignNotDraft = "campaign_not_draft",
        /// Another contact has the number.
        ContactExists = "contact_exists",
        /// The idempotency key was used with another request.
        IdempotencyConflict = "idempotency_conflict",
        /// The account has this keyword already.
        KeywordExists = "keyword_exists",
        /// The message is on its way, or has reached its final state.
        MessageNotCancellable = "message_not_cancellable",
        /// No number can send the message.
        NoNumber = "no_number",
        /// The number is assigned already.
        NumberExists = "number_exists",
        /// The number was released a short time ago.
        NumberQuarantined = "number_quarantined",
        /// The account has this sender name already, or its review is pending.
        SenderExists = "sender_exists",
        /// A replay to the endpoint is under way.
        ReplayUnderWay = "replay_under_way",
        /// The endpoint is disabled.
        WebhookDisabled = "webhook_disabled",
        /// The account has as many endpoints as it may have.
        WebhookLimitReached = "webhook_limit_reached",
        /// The resource changed after it was read.
        PreconditionFailed = "precondition_failed",
        /// Nobody on the list can get a message.
        NoRecipients = "no_recipients",
        /// The word is reserved for opting out or in.
        ReservedKeyword = "reserved_keyword",
        /// The sender name is not approved.
        SenderNotApproved = "sender_not_approved",
        /// A test key sends to few numbers.
        TestLimitExceeded = "test_limit_exceeded",
    }
}
