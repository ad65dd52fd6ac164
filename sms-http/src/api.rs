//! The API under `/api/v1`: one file per noun. Handlers check the request, call the core, and wrap
//! the result.
//!
//! Every request passes [`gate`], which verifies the key and counts its requests. The core's
//! account handle decides what a key may see.

use poem::http::Method;
use poem_openapi::OpenApiService;
use serde_json::Value;
use sms_core::Sms;

use crate::failure;
use crate::web::intake::IntakeLimits;
use crate::web::openapi::{DocumentRules, OwnPath, Rate, document};

pub mod api_key;
pub mod balance;
pub mod campaign;
pub(crate) mod campaign_shape;
mod choices;
pub mod contact;
pub mod contact_import;
pub(crate) mod contact_shape;
pub mod conversation;
mod event;
pub mod event_log;
mod event_shape;
pub mod event_stream;
pub mod export;
pub mod gate;
pub mod idempotency;
pub mod key_standing;
pub mod keyword;
pub mod link;
pub mod list;
pub mod message;
pub mod message_shape;
mod moment;
pub mod number;
pub mod opt_out;
pub mod opt_out_import;
pub mod page;
pub mod path_id;
pub mod send;
pub mod sender_name;
pub mod statistics;
mod tag;
pub mod template;
pub(crate) mod version;
pub mod webhook;
pub mod webhook_replay;
mod whole_read;

pub use event_stream::{EventStreams, StreamLimits};
pub use tag::Tag;

/// The path prefix of the API.
pub const PREFIX: &str = "/api/v1";

/// The handlers of the API, in groups: the framework takes tuples of up to 16.
pub type Apis = (Sending, AddressBook, Inbox, Account);

/// Messages and campaigns.
pub type Sending = (message::MessageApi, send::SendApi, campaign::CampaignApi);

/// Contacts and their import.
pub type AddressBook = (contact::ContactApi, contact_import::ContactImportApi);

/// Links, conversations, keywords and lists.
pub type Inbox = (link::LinkApi, conversation::ConversationApi, keyword::KeywordApi, list::ListApi);

/// The account's settings and statistics.
pub type Account = (
    api_key::ApiKeyApi,
    balance::BalanceApi,
    event_log::EventApi,
    number::NumberApi,
    (opt_out::OptOutApi, opt_out_import::OptOutImportApi),
    sender_name::SenderNameApi,
    statistics::StatisticsApi,
    template::TemplateApi,
    webhook::WebhookApi,
    webhook_replay::WebhookReplayApi,
);

/// The handlers of a service.
pub fn apis(sms: &Sms, streams: &EventStreams) -> Apis {
    let sending = (
        message::MessageApi::new(sms.clone()),
        send::SendApi::new(sms.clone()),
        campaign::CampaignApi::new(sms.clone()),
    );
    let address_book =
        (contact::ContactApi::new(sms.clone()), contact_import::ContactImportApi::new(sms.clone()));
    let inbox = (
        link::LinkApi::new(sms.clone()),
        conversation::ConversationApi::new(sms.clone()),
        keyword::KeywordApi::new(sms.clone()),
        list::ListApi::new(sms.clone()),
    );
    let account = (
        api_key::ApiKeyApi::new(sms.clone()),
        balance::BalanceApi::new(sms.clone()),
        event_log::EventApi::new(sms.clone(), streams.clone()),
        number::NumberApi::new(sms.clone()),
        (opt_out::OptOutApi::new(sms.clone()), opt_out_import::OptOutImportApi::new(sms.clone())),
        sender_name::SenderNameApi::new(sms.clone()),
        statistics::StatisticsApi::new(sms.clone()),
        template::TemplateApi::new(sms.clone()),
        webhook::WebhookApi::new(sms.clone()),
        webhook_replay::WebhookReplayApi::new(sms.clone()),
    );
    (sending, address_book, inbox, account)
}

/// The API of a service, for its document.
pub fn service(sms: &Sms, public_url: &str) -> OpenApiService<Apis, ()> {
    let streams = EventStreams::new(sms.clone());
    OpenApiService::new(apis(sms, &streams), "SMS Messaging Service API", "1.0.0")
        .server(format!("{public_url}{PREFIX}"))
}

/// Adds the limits of single paths: an import may have 8 MB.
pub fn with_path_limits(limits: IntakeLimits) -> IntakeLimits {
    limits.with_body_bytes(Method::POST, format!("{PREFIX}/contacts/import"), 8 * 1_048_576)
}

/// The OpenAPI 3.1 document of the API.
pub fn openapi_document(service: &OpenApiService<Apis, ()>) -> Value {
    document(service, &RULES)
}

const RULES: DocumentRules = DocumentRules {
    key_name: "ApiKey",
    key_description: "A key of the account: `cc_live_…` sends real messages, `cc_test_…` \
                      simulates them free of charge.",
    without_key: &[OwnPath::OPERATION_ID, OwnPath::OPERATION_ID_3_0],
    rate: Rate::Limited,
    own_path: Some(OwnPath { tag: "Account" }),
    failures: failure::ALL,
    codes: failure::CODES,
    codes_of: failure::OF_OPERATIONS,
    guide: include_str!("api/guide.md"),
    tags: &[
        "Messages",
        "Contacts",
        "Lists",
        "Templates",
        "Campaigns",
        "Conversations",
        "Keywords",
        "OptOuts",
        "SenderNames",
        "Links",
        "Webhooks",
        "Events",
        "Statistics",
        "Account",
    ],
    examples: include_str!("api/examples.json"),
    events: Some(event::events),
};
