//! Maps the core's errors to HTTP. Only this module knows the status of each code.

use poem::http::StatusCode;
use sms_core::error::causes;
use sms_core::store::StoreError;
use sms_core::{Error, FieldError};

use crate::web::error::ApiError;
use crate::web::field_error;

/// The `Retry-After` of a 503 when the store is unavailable.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The `Retry-After` when too many large sends and quotes wait.
const PLANS_AFTER_SECONDS: u64 = 5;

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Invalid(fields) => return Self::validation(fields.clone()),
            Error::TestMessagesUsedUp { retry_after } => {
                let whole_seconds = retry_after.as_millis().div_ceil(1_000);
                return Self::rate_limited(u64::try_from(whole_seconds).unwrap_or(u64::MAX));
            }
            Error::TooManyPlans => {
                return Self::rate_limited(PLANS_AFTER_SECONDS).with_message(error.to_string());
            }
            Error::TooManyPlansInAll => {
                return Self::unavailable(PLANS_AFTER_SECONDS).with_message(error.to_string());
            }
            Error::Busy => return Self::unavailable(1),
            Error::Store(store) => return of_store(store),
            Error::NotFound(_) => return Self::not_found(),
            Error::UnknownReference { .. } => StatusCode::NOT_FOUND,
            Error::MayNotSend(_) => StatusCode::FORBIDDEN,
            Error::InsufficientCredit { .. } => StatusCode::PAYMENT_REQUIRED,
            Error::PreconditionFailed(_) => StatusCode::PRECONDITION_FAILED,
            Error::IdempotencyConflict
            | Error::MessageNotCancellable(_)
            | Error::CampaignNotDraft
            | Error::CampaignAlreadyLaunched
            | Error::CampaignNotCancellable(_)
            | Error::ContactExists(_)
            | Error::KeywordExists
            | Error::NumberExists
            | Error::NumberQuarantined { .. }
            | Error::WebhookLimitReached
            | Error::WebhookDisabled
            | Error::ReplayUnderWay
            | Error::NoNumber
            | Error::SenderExists
            | Error::BalanceOutOfRange(_) => StatusCode::CONFLICT,
            Error::ReservedKeyword
            | Error::SenderNotApproved
            | Error::TestLimitExceeded
            | Error::NoRecipients => StatusCode::UNPROCESSABLE_ENTITY,
            _ => return unforeseen(&error),
        };
        let details = error.details();
        Self::new(status, error.code(), error.to_string()).with_details(details)
    }
}

impl From<FieldError> for field_error::FieldError {
    fn from(FieldError { field, code, message }: FieldError) -> Self {
        Self { field, code, message }
    }
}

fn of_store(error: &StoreError) -> ApiError {
    match error {
        StoreError::Unavailable { .. } => {
            tracing::warn!(error = %causes(error), "the store is unavailable");
            ApiError::unavailable(RETRY_AFTER_SECONDS)
        }
        StoreError::Internal { .. } => {
            tracing::error!(error = %causes(error), "the store failed");
            ApiError::internal_error()
        }
    }
}

fn unforeseen(error: &Error) -> ApiError {
    tracing::error!(code = error.code(), "an error code without a status; answered with 500");
    ApiError::internal_error()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use poem::IntoResponse;
    use sms_core::account::status::MayNotSend;
    use sms_core::campaign::CampaignStatus;
    use sms_core::credits::Credits;
    use sms_core::message::MessageStatus;

    use super::*;

    fn answers(error: Error) -> (u16, &'static str, Option<String>) {
        let ours = ApiError::from(error);
        let code = ours.code();
        let response = ours.into_response();
        let wait = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap().into());
        (response.status().as_u16(), code, wait)
    }

    #[test]
    fn every_error_has_its_status() {
        let id = "x".to_owned();
        let (sent, draft) = (MessageStatus::Sent, CampaignStatus::Draft);
        let contact = sms_core::ids::ContactId::from_u128(0);
        let (needed, balance) = (Credits::MAX, Credits::ZERO);
        let until = sms_core::time::Timestamp::from_millis(0);
        for (error, status, code) in [
            (
                Error::Invalid(vec![FieldError::new("to", "required", "x")]),
                422,
                "validation_failed",
            ),
            (Error::NotFound("message"), 404, "not_found"),
            (Error::UnknownReference { resource: "list", id }, 404, "not_found"),
            (Error::MayNotSend(MayNotSend::Pending), 403, "account_pending"),
            (Error::MayNotSend(MayNotSend::Suspended), 403, "account_suspended"),
            (Error::InsufficientCredit { needed, balance }, 402, "insufficient_credit"),
            (Error::IdempotencyConflict, 409, "idempotency_conflict"),
            (Error::MessageNotCancellable(sent), 409, "message_not_cancellable"),
            (Error::CampaignNotDraft, 409, "campaign_not_draft"),
            (Error::CampaignAlreadyLaunched, 409, "campaign_already_launched"),
            (Error::CampaignNotCancellable(draft), 409, "campaign_not_cancellable"),
            (Error::NoRecipients, 422, "no_recipients"),
            (Error::ContactExists(contact), 409, "contact_exists"),
            (Error::NumberExists, 409, "number_exists"),
            (Error::NumberQuarantined { until }, 409, "number_quarantined"),
            (Error::KeywordExists, 409, "keyword_exists"),
            (Error::ReservedKeyword, 422, "reserved_keyword"),
            (Error::WebhookLimitReached, 409, "webhook_limit_reached"),
            (Error::WebhookDisabled, 409, "webhook_disabled"),
            (Error::ReplayUnderWay, 409, "replay_under_way"),
            (Error::SenderExists, 409, "sender_exists"),
            (Error::SenderNotApproved, 422, "sender_not_approved"),
            (Error::TestLimitExceeded, 422, "test_limit_exceeded"),
            (Error::NoNumber, 409, "no_number"),
            (Error::BalanceOutOfRange(String::new()), 409, "balance_out_of_range"),
        ] {
            assert_eq!(answers(error), (status, code, None));
        }
    }

    #[test]
    fn a_temporary_error_says_when_to_retry() {
        let used_up = |millis| {
            answers(Error::TestMessagesUsedUp { retry_after: Duration::from_millis(millis) })
        };
        assert_eq!(used_up(1_001), (429, "rate_limited", Some("2".to_owned())));
        let later = || Some("5".to_owned());
        assert_eq!(answers(Error::TooManyPlans), (429, "rate_limited", later()));
        assert_eq!(answers(Error::TooManyPlansInAll), (503, "unavailable", later()));
        assert_eq!(answers(Error::Busy), (503, "unavailable", Some("1".to_owned())));
        let gone = StoreError::Unavailable { doing: "asking", source: None };
        assert_eq!(answers(gone.into()), (503, "unavailable", Some("5".to_owned())));
        let broken = StoreError::Internal { doing: "asking", source: None };
        assert_eq!(answers(broken.into()), (500, "internal_error", None));
    }
}
