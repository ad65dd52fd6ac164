//! Failures of the domain, as the OpenAPI document describes them, and the codes of each operation.

use poem::http::StatusCode;
use serde_json::{Value, json};

use crate::web::openapi::{ErrorCode, Failure, Failures, no_details};

/// Every kind.
pub(crate) const ALL: &[&Failure] = &[&INSUFFICIENT_CREDIT, &FORBIDDEN, &CONFLICT, &CHANGED];

const INSUFFICIENT_CREDIT: Failure = Failure {
    name: "InsufficientCredit",
    status: StatusCode::PAYMENT_REQUIRED,
    description: "Not enough credit; nothing was sent or charged.",
    headers: &[],
};
const FORBIDDEN: Failure = Failure {
    name: "Forbidden",
    status: StatusCode::FORBIDDEN,
    description: "The account is pending approval, or suspended.",
    headers: &[],
};
const CONFLICT: Failure = Failure {
    name: "Conflict",
    status: StatusCode::CONFLICT,
    description: "The request conflicts with the current state; `code` says how.",
    headers: &[],
};

const CHANGED: Failure = Failure {
    name: "PreconditionFailed",
    status: StatusCode::PRECONDITION_FAILED,
    description: "The `ETag` of the resource is not in `If-Match`; nothing was changed.",
    headers: &[],
};

/// 412: the resource changed after the caller read it.
#[derive(Debug)]
pub(crate) enum Changed {}

impl Failures for Changed {
    const ALL: &'static [&'static Failure] = &[&CHANGED];
}

/// 409 or 412: a change conflicts with the current state, or was made on another version.
#[derive(Debug)]
pub(crate) enum ConflictOrChanged {}

impl Failures for ConflictOrChanged {
    const ALL: &'static [&'static Failure] = &[&CONFLICT, &CHANGED];
}

/// 409: the request conflicts with the current state.
#[derive(Debug)]
pub(crate) enum Conflict {}

impl Failures for Conflict {
    const ALL: &'static [&'static Failure] = &[&CONFLICT];
}

/// 402, 403 or 409: a send was refused.
#[derive(Debug)]
pub(crate) enum Refused {}

impl Failures for Refused {
    const ALL: &'static [&'static Failure] = &[&INSUFFICIENT_CREDIT, &FORBIDDEN, &CONFLICT];
}

/// 403: the account is suspended.
#[derive(Debug)]
pub(crate) enum Suspended {}

impl Failures for Suspended {
    const ALL: &'static [&'static Failure] = &[&FORBIDDEN];
}

const fn code(
    status: StatusCode,
    code: &'static str,
    meaning: &'static str,
    remedy: &'static str,
    message: &'static str,
) -> ErrorCode {
    ErrorCode { code, status, meaning, remedy, message, details: no_details }
}

/// The codes that only some operations answer, in the order of their statuses.
pub(crate) const CODES: &[ErrorCode] = &[
    ErrorCode {
        details: needed_and_balance,
        ..code(
            StatusCode::PAYMENT_REQUIRED,
            "insufficient_credit",
            "The balance does not cover the send. Nothing was sent or charged. `details` has \
             `needed` and `balance`.",
            "Top up, or send to fewer recipients.",
            "this send costs 12 credits, but the balance is 3: top up, or send to fewer recipients",
        )
    },
    code(
        StatusCode::FORBIDDEN,
        "account_pending",
        "The account awaits approval, so a live key cannot send.",
        "Wait for the approval. Test keys work meanwhile.",
        "the account is pending approval; until then, only test keys can send",
    ),
    code(
        StatusCode::FORBIDDEN,
        "account_suspended",
        "The account is suspended, so it can neither send nor follow events.",
        "Ask the operator to reactivate it.",
        "the account is suspended; ask the operator to reactivate it",
    ),
    code(
        StatusCode::CONFLICT,
        "balance_out_of_range",
        "The change would take the balance below zero or above its limit.",
        "Choose another amount.",
        "the balance is 3; a change of -12 credits takes it out of range",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_already_launched",
        "The campaign was launched before.",
        "Read the campaign to see its status.",
        "the campaign has already been launched",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_not_cancellable",
        "Only a scheduled or sending campaign can be cancelled.",
        "Read the campaign to see its status.",
        "only a scheduled or sending campaign can be cancelled; this one is draft",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_not_draft",
        "Only a draft can be changed or deleted.",
        "Create another campaign.",
        "only a draft campaign can be edited or deleted",
    ),
    code(
        StatusCode::CONFLICT,
        "contact_exists",
        "Another contact has the number.",
        "Change that contact instead.",
        "another contact already has this number; change that contact instead",
    ),
    code(
        StatusCode::CONFLICT,
        "idempotency_conflict",
        "The `Idempotency-Key` was used with another request.",
        "Use a new key for a new request, and the same body for a retry.",
        "this idempotency key was used for another request; use a new key",
    ),
    code(
        StatusCode::CONFLICT,
        "keyword_exists",
        "The account has this keyword already.",
        "Change that keyword instead.",
        "the account already has this keyword; change that keyword instead",
    ),
    code(
        StatusCode::CONFLICT,
        "message_not_cancellable",
        "The message is on its way, or has reached its final state.",
        "Nothing can be done: only scheduled and queued messages can be cancelled.",
        "only a scheduled or queued message can be cancelled; this one is sent",
    ),
    code(
        StatusCode::CONFLICT,
        "no_number",
        "No number can send the message.",
        "Ask the operator for a number, or name a sender.",
        "the account has no number to send from, and there is no shared number; ask the operator \
         for a number",
    ),
    code(
        StatusCode::CONFLICT,
        "number_exists",
        "The number is assigned already.",
        "Delete the number first.",
        "this number already exists; delete it before you add it again",
    ),
    code(
        StatusCode::CONFLICT,
        "number_quarantined",
        "The number was released less than 30 days ago and may not go to another account.",
        "Wait, or repeat the request with `force: true`.",
        "another holder released this number less than 30 days ago; it is free from \
         2026-12-01T09:00:00.000Z on, or at once with `force`",
    ),
    code(
        StatusCode::CONFLICT,
        "replay_under_way",
        "A replay to the endpoint is under way.",
        "Wait until it has ended. It sends up to 200 events a second.",
        "a replay to this endpoint is under way; wait until it has ended",
    ),
    code(
        StatusCode::CONFLICT,
        "sender_exists",
        "The account has this sender name already, or its review is pending.",
        "Read the sender names to see its status.",
        "this sender name is already approved or waiting for review",
    ),
    code(
        StatusCode::CONFLICT,
        "webhook_disabled",
        "The endpoint is disabled, so nothing is sent to it.",
        "Enable the endpoint, then replay what it missed.",
        "the endpoint is disabled; enable it, then replay what it missed",
    ),
    code(
        StatusCode::CONFLICT,
        "webhook_limit_reached",
        "The account has 10 endpoints.",
        "Delete an endpoint first.",
        "the account already has 10 webhook endpoints, the most it may have; delete one first",
    ),
    ErrorCode {
        details: what_changed,
        ..code(
            StatusCode::PRECONDITION_FAILED,
            "precondition_failed",
            "The resource changed after you read it: its `ETag` is not in `If-Match`. Nothing was \
             changed. `details` has `resource`.",
            "Read it again, and repeat the change with its new `ETag`.",
            "this contact changed after you read it: read it again and repeat the change",
        )
    },
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "no_recipients",
        "No member of the list can receive a message: it is empty, or all have opted out.",
        "Add contacts who have not opted out.",
        "no contact on the list can be sent a message: add contacts who have not opted out",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "reserved_keyword",
        "The word is reserved for opting out or in.",
        "Choose another word.",
        "this word opts people out or in and cannot be a keyword; choose another",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "sender_not_approved",
        "The sender name is not approved for the account.",
        "Request it with `POST /sender-ids`, or omit `sender`.",
        "the sender name is not approved for this account; request it and wait for approval",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "test_limit_exceeded",
        "A test key sends to at most 50 numbers in a request.",
        "Send to fewer numbers.",
        "a test key can send to at most 50 numbers in one request",
    ),
];

/// The codes of [`CODES`] that each operation of the API answers.
pub(crate) const OF_OPERATIONS: &[(&str, &[&str])] = &[
    (
        "message_send",
        &[
            "insufficient_credit",
            "account_pending",
            "account_suspended",
            "idempotency_conflict",
            "no_number",
            "sender_not_approved",
            "test_limit_exceeded",
        ],
    ),
    ("message_quote", &["no_number", "sender_not_approved", "test_limit_exceeded"]),
    ("message_cancel", &["message_not_cancellable"]),
    ("campaign_create", &["idempotency_conflict", "sender_not_approved"]),
    ("campaign_update", &["campaign_not_draft", "precondition_failed", "sender_not_approved"]),
    ("campaign_delete", &["campaign_not_draft", "precondition_failed"]),
    (
        "campaign_send",
        &[
            "insufficient_credit",
            "account_pending",
            "account_suspended",
            "campaign_already_launched",
            "idempotency_conflict",
            "no_number",
            "no_recipients",
            "sender_not_approved",
            "test_limit_exceeded",
        ],
    ),
    ("campaign_cancel", &["campaign_not_cancellable"]),
    ("contact_create", &["contact_exists", "idempotency_conflict"]),
    ("contact_update", &["contact_exists", "precondition_failed"]),
    ("contact_delete", &["precondition_failed"]),
    ("contact_import", &["idempotency_conflict"]),
    ("event_stream", &["account_suspended"]),
    ("keyword_create", &["idempotency_conflict", "keyword_exists", "reserved_keyword"]),
    ("keyword_update", &["keyword_exists", "precondition_failed", "reserved_keyword"]),
    ("keyword_delete", &["precondition_failed"]),
    ("list_create", &["idempotency_conflict"]),
    ("list_update", &["precondition_failed"]),
    ("list_delete", &["precondition_failed"]),
    ("opt_out_create", &["idempotency_conflict"]),
    ("sender_name_create", &["idempotency_conflict", "sender_exists"]),
    ("template_create", &["idempotency_conflict"]),
    ("template_update", &["precondition_failed"]),
    ("template_delete", &["precondition_failed"]),
    ("webhook_create", &["idempotency_conflict", "webhook_limit_reached"]),
    ("webhook_update", &["precondition_failed"]),
    ("webhook_delete", &["precondition_failed"]),
    ("webhook_replay", &["idempotency_conflict", "replay_under_way", "webhook_disabled"]),
];

/// The codes of [`CODES`] that each operation of the operator's API answers.
pub(crate) const OF_OPERATOR: &[(&str, &[&str])] = &[
    ("account_create", &["balance_out_of_range", "idempotency_conflict"]),
    ("account_update", &["precondition_failed"]),
    ("api_key_create", &["idempotency_conflict"]),
    ("credits_adjust", &["balance_out_of_range", "idempotency_conflict"]),
    ("inbound_take", &["idempotency_conflict"]),
    ("number_create", &["idempotency_conflict", "number_exists", "number_quarantined"]),
    ("sender_name_approve", &["sender_exists"]),
];

fn what_changed() -> Value {
    json!({ "resource": "contact" })
}

fn needed_and_balance() -> Value {
    json!({ "needed": 12, "balance": 3 })
}

#[cfg(test)]
mod tests {
    use sms_core::Error;
    use sms_core::account::status::MayNotSend;
    use sms_core::campaign::CampaignStatus;
    use sms_core::credits::ledger::DoesNotFit;
    use sms_core::credits::{Change, Credits};
    use sms_core::ids::ContactId;
    use sms_core::message::MessageStatus;

    use super::CODES;

    /// The error of each code, with the values of its example.
    fn example_errors() -> Vec<Error> {
        let credits = |amount| Credits::new(amount).unwrap();
        let change = Change::new(-12).unwrap();
        let refused = DoesNotFit { balance: credits(3), change };
        let until = "2026-12-01T09:00:00Z".parse::<chrono::DateTime<chrono::Utc>>().unwrap();
        vec![
            Error::InsufficientCredit { needed: credits(12), balance: credits(3) },
            Error::MayNotSend(MayNotSend::Pending),
            Error::MayNotSend(MayNotSend::Suspended),
            Error::BalanceOutOfRange(refused.to_string()),
            Error::CampaignAlreadyLaunched,
            Error::CampaignNotCancellable(CampaignStatus::Draft),
            Error::CampaignNotDraft,
            Error::ContactExists(ContactId::from_u128(0)),
            Error::IdempotencyConflict,
            Error::KeywordExists,
            Error::MessageNotCancellable(MessageStatus::Sent),
            Error::NoNumber,
            Error::NumberExists,
            Error::NumberQuarantined { until: until.into() },
            Error::ReplayUnderWay,
            Error::SenderExists,
            Error::WebhookDisabled,
            Error::WebhookLimitReached,
            Error::PreconditionFailed("contact"),
            Error::NoRecipients,
            Error::ReservedKeyword,
            Error::SenderNotApproved,
            Error::TestLimitExceeded,
        ]
    }

    #[test]
    fn every_code_has_the_message_of_its_error_as_an_example() {
        let errors = example_errors();
        let is: Vec<_> = CODES.iter().map(|code| (code.code, code.message.to_owned())).collect();
        let must: Vec<_> = errors.iter().map(|error| (error.code(), error.to_string())).collect();
        assert_eq!(is, must);
    }
}
