//! The operator API under `/admin/v1`: what the specification leaves to "the dashboard".
//!
//! Envelope and errors are the same as in the API. The bearer token is the operator's. The commands
//! of the server binary call this API.

use std::sync::Arc;
use std::time::Duration;

use poem::http::Method;
use poem_openapi::OpenApiService;
use serde_json::Value;
use sms_core::Sms;
use sms_core::service::sandbox::SandboxClock;

use crate::failure;
use crate::web::intake::IntakeLimits;
use crate::web::openapi::{DocumentRules, OwnPath, Rate, document};

pub mod account;
mod amount;
pub mod api_key;
pub mod clock;
pub mod credits;
pub mod gate;
pub mod inbound;
pub mod number;
pub mod route;
pub mod sender_name;
mod tag;

pub use tag::Tag;

/// The path prefix of the operator API.
pub const PREFIX: &str = "/admin/v1";

/// The handlers of the operator API.
pub type Apis = (
    account::AccountApi,
    api_key::ApiKeyApi,
    credits::CreditsApi,
    number::NumberApi,
    sender_name::SenderNameApi,
    inbound::InboundApi,
    route::RouteApi,
    clock::ClockApi,
);

/// The handlers of a service, and of the clock of its sandbox, if it is one.
pub fn apis(sms: &Sms, clock: Option<&Arc<dyn SandboxClock>>) -> Apis {
    (
        account::AccountApi::new(sms.clone()),
        api_key::ApiKeyApi::new(sms.clone()),
        credits::CreditsApi::new(sms.clone()),
        number::NumberApi::new(sms.clone()),
        sender_name::SenderNameApi::new(sms.clone()),
        inbound::InboundApi::new(sms.clone()),
        route::RouteApi::new(sms.clone()),
        clock::ClockApi::new(sms.clone(), clock.cloned()),
    )
}

/// The operator API of a service, for its document.
pub fn service(sms: &Sms, clock: Option<&Arc<dyn SandboxClock>>) -> OpenApiService<Apis, ()> {
    let apis = apis(sms, clock);
    OpenApiService::new(apis, "SMS Messaging Service operator API", "1.0.0").server(PREFIX)
}

/// Adds the limits of single paths: an advance of the sandbox's clock may take 10 minutes.
pub fn with_path_limits(limits: IntakeLimits) -> IntakeLimits {
    limits.with_handler_timeout(Method::POST, format!("{PREFIX}/clock"), Duration::from_mins(10))
}

/// The OpenAPI 3.1 document of the operator API.
pub fn openapi_document(service: &OpenApiService<Apis, ()>) -> Value {
    document(service, &RULES)
}

const RULES: DocumentRules = DocumentRules {
    key_name: "OperatorToken",
    key_description: "The operator's token, `SMS_ADMIN_TOKEN`.",
    without_key: &[],
    rate: Rate::Unlimited,
    own_path: Some(OwnPath { tag: "Document" }),
    failures: failure::ALL,
    codes: failure::CODES,
    codes_of: failure::OF_OPERATOR,
    guide: include_str!("admin/guide.md"),
    tags: &[
        "Accounts",
        "Keys",
        "Credits",
        "Numbers",
        "SenderNames",
        "Network",
        "Sandbox",
        "Document",
    ],
    examples: include_str!("admin/examples.json"),
    events: None,
};
