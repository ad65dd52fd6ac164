//! Failures of the domain, as the OpenAPI document describes them.

use poem::http::StatusCode;
use serde_json::{Value, json};

use crate::web::openapi::failure::no_details;
use crate::web::openapi::{Failure, Failures};

/// Every kind.
pub(crate) const ALL: &[&Failure] = &[&INSUFFICIENT_CREDIT, &FORBIDDEN, &CONFLICT];

const INSUFFICIENT_CREDIT: Failure = Failure {
    name: "InsufficientCredit",
    status: StatusCode::PAYMENT_REQUIRED,
    description: "Not enough credit; nothing was sent or charged.",
    code: "insufficient_credit",
    message: "this send costs 12 credits, but the balance is 3",
    details: needed_and_balance,
    headers: &[],
};
const FORBIDDEN: Failure = Failure {
    name: "Forbidden",
    status: StatusCode::FORBIDDEN,
    description: "The account is pending approval, or suspended.",
    code: "account_pending",
    message: "the account awaits approval",
    details: no_details,
    headers: &[],
};
const CONFLICT: Failure = Failure {
    name: "Conflict",
    status: StatusCode::CONFLICT,
    description: "The request conflicts with the current state; `code` says how.",
    code: "idempotency_conflict",
    message: "the Idempotency-Key was used with another request",
    details: no_details,
    headers: &[],
};

fn needed_and_balance() -> Value {
    json!({ "needed": 12, "balance": 3 })
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
