//! Failures of the domain, as the OpenAPI document describes them, and the codes of each operation.

use poem::http::StatusCode;
use serde_json::{Value, json};

use crate::web::openapi::{ErrorCode, Failure, Failures, no_details};

/// Every kind.
pub(crate) const ALL: &[&Failure] = &[&INSUFFICIENT_CREDIT, &FORBIDDEN, &CONFLICT];

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
        "the account awaits approval",
    ),
    code(
        StatusCode::FORBIDDEN,
        "account_suspended",
        "The account is suspended, so it can neither send nor follow events.",
        "Ask the operator to reactivate it.",
        "the account is suspended",
    ),
    code(
        StatusCode::CONFLICT,
        "balance_out_of_range",
        "The change would take the balance below zero or above its limit.",
        "Choose another amount.",
        "the balance would be below zero",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_already_launched",
        "The campaign was launched before.",
        "Read the campaign to see its status.",
        "the campaign was launched already",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_not_cancellable",
        "Only a scheduled or sending campaign can be cancelled.",
        "Read the campaign to see its status.",
        "a draft campaign cannot be cancelled",
    ),
    code(
        StatusCode::CONFLICT,
        "campaign_not_draft",
        "Only a draft can be changed or deleted.",
        "Create another campaign.",
        "only a draft can be changed or deleted",
    ),
    code(
        StatusCode::CONFLICT,
        "contact_exists",
        "Another contact has the number.",
        "Change that contact instead.",
        "a contact with this number exists",
    ),
    code(
        StatusCode::CONFLICT,
        "idempotency_conflict",
        "The `Idempotency-Key` was used with another request.",
        "Use a new key for a new request, and the same body for a retry.",
        "the Idempotency-Key was used with another request",
    ),
    code(
        StatusCode::CONFLICT,
        "keyword_exists",
        "The account has this keyword already.",
        "Change that keyword instead.",
        "the keyword exists already",
    ),
    code(
        StatusCode::CONFLICT,
        "message_not_cancellable",
        "The message is on its way, or has reached its final state.",
        "Nothing can be done: only scheduled and queued messages can be cancelled.",
        "a sent message cannot be cancelled",
    ),
    code(
        StatusCode::CONFLICT,
        "no_number",
        "No number can send the message.",
        "Ask the operator for a number, or name a sender.",
        "there is no number to send from",
    ),
    code(
        StatusCode::CONFLICT,
        "number_exists",
        "The number is assigned already.",
        "Delete the number first.",
        "the number exists already",
    ),
    code(
        StatusCode::CONFLICT,
        "number_quarantined",
        "The number was released less than 30 days ago and may not go to another account.",
        "Wait, or repeat the request with `force: true`.",
        "the number was released recently",
    ),
    code(
        StatusCode::CONFLICT,
        "replay_under_way",
        "A replay to the endpoint is under way.",
        "Wait until it has ended. It sends about 200 events a second.",
        "a replay to this endpoint is under way",
    ),
    code(
        StatusCode::CONFLICT,
        "sender_exists",
        "The account has this sender name already, or its review is pending.",
        "Read the sender names to see its status.",
        "the sender name exists already",
    ),
    code(
        StatusCode::CONFLICT,
        "webhook_disabled",
        "The endpoint is disabled, so nothing is sent to it.",
        "Enable the endpoint, then replay what it missed.",
        "the endpoint is disabled",
    ),
    code(
        StatusCode::CONFLICT,
        "webhook_limit_reached",
        "The account has 10 endpoints.",
        "Delete an endpoint first.",
        "an account has at most 10 endpoints",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "no_recipients",
        "No member of the list can receive a message: it is empty, or all have opted out.",
        "Add contacts who have not opted out.",
        "the list has no recipients",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "reserved_keyword",
        "The word is reserved for opting out or in.",
        "Choose another word.",
        "the keyword is reserved",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "sender_not_approved",
        "The sender name is not approved for the account.",
        "Request it with `POST /sender-ids`, or omit `sender`.",
        "the sender name is not approved",
    ),
    code(
        StatusCode::UNPROCESSABLE_ENTITY,
        "test_limit_exceeded",
        "A test key sends to at most 50 numbers in a request.",
        "Send to fewer numbers.",
        "a test key sends to at most 50 numbers in a request",
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
    ("campaign_update", &["campaign_not_draft", "sender_not_approved"]),
    ("campaign_delete", &["campaign_not_draft"]),
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
    ("contact_update", &["contact_exists"]),
    ("contact_import", &["idempotency_conflict"]),
    ("event_stream", &["account_suspended"]),
    ("keyword_create", &["idempotency_conflict", "keyword_exists", "reserved_keyword"]),
    ("keyword_update", &["keyword_exists", "reserved_keyword"]),
    ("list_create", &["idempotency_conflict"]),
    ("opt_out_create", &["idempotency_conflict"]),
    ("sender_name_create", &["idempotency_conflict", "sender_exists"]),
    ("template_create", &["idempotency_conflict"]),
    ("webhook_create", &["idempotency_conflict", "webhook_limit_reached"]),
    ("webhook_replay", &["idempotency_conflict", "replay_under_way", "webhook_disabled"]),
];

/// The codes of [`CODES`] that each operation of the operator's API answers.
pub(crate) const OF_OPERATOR: &[(&str, &[&str])] = &[
    ("account_create", &["balance_out_of_range", "idempotency_conflict"]),
    ("api_key_create", &["idempotency_conflict"]),
    ("credits_adjust", &["balance_out_of_range", "idempotency_conflict"]),
    ("inbound_take", &["idempotency_conflict"]),
    ("number_create", &["idempotency_conflict", "number_exists", "number_quarantined"]),
    ("sender_name_approve", &["sender_exists"]),
];

fn needed_and_balance() -> Value {
    json!({ "needed": 12, "balance": 3 })
}
