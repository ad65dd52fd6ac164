//! From the core's errors to HTTP: the one place that knows which status a code has.

use poem::http::StatusCode;
use sms_core::Error;
use sms_core::store::StoreError;

use crate::error::ApiError;

/// What a client is told to wait when the store cannot serve.
const RETRY_AFTER_SECONDS: u64 = 5;

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Invalid(fields) => return Self::validation(fields.clone()),
            Error::TestTextsUsedUp { retry_after } => {
                let whole_seconds = retry_after.as_millis().div_ceil(1_000);
                return Self::rate_limited(u64::try_from(whole_seconds).unwrap_or(u64::MAX));
            }
            Error::Busy => return Self::unavailable(1),
            Error::Store(store) => return of_store(store),
            Error::NotFound(_) => return Self::not_found(),
            Error::UnknownReference { .. } => StatusCode::NOT_FOUND,
            Error::MayNotSend(_) => StatusCode::FORBIDDEN,
            Error::InsufficientCredit { .. } => StatusCode::PAYMENT_REQUIRED,
            Error::IdempotencyConflict
            | Error::MessageNotCancellable(_)
            | Error::NumberExists
            | Error::WebhookLimitReached
            | Error::NoNumber
            | Error::BalanceOutOfRange(_) => StatusCode::CONFLICT,
            Error::SenderNotApproved | Error::TestLimitExceeded => StatusCode::UNPROCESSABLE_ENTITY,
            _ => return unforeseen(&error),
        };
        let details = error.details();
        Self::new(status, error.code(), error.to_string()).with_details(details)
    }
}

fn of_store(error: &StoreError) -> ApiError {
    match error {
        StoreError::Unavailable { .. } => {
            tracing::warn!(%error, "the store is unavailable");
            ApiError::unavailable(RETRY_AFTER_SECONDS)
        }
        StoreError::Internal { .. } => {
            tracing::error!(%error, "the store failed");
            ApiError::internal_error()
        }
    }
}

fn unforeseen(error: &Error) -> ApiError {
    tracing::error!(code = error.code(), "an error that has no status yet");
    ApiError::internal_error()
}
