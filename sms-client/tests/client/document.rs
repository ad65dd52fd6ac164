//! The client beside the API's document.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sms_client::account::{
    AccountStatus, Balance, DedicatedNumber, StatisticsDay, StatisticsSummary,
};
use sms_client::api_key::{ApiKeyRecord, KeyKind};
use sms_client::campaign::{Campaign, CampaignStatus, CancelMeta, LaunchMeta};
use sms_client::contact::{Contact, ContactWithLists, ImportOutcome, ImportResult};
use sms_client::conversation::{Conversation, ConversationRead, InboxMeta, Thread};
use sms_client::event::{Event, EventType};
use sms_client::keyword::Keyword;
use sms_client::link::Link;
use sms_client::list::{ContactList, ListContactsAdded};
use sms_client::message::{Direction, Encoding, Message, MessageStatus, MessageWithEvents};
use sms_client::opt_out::{
    OptOut, OptOutImportOutcome, OptOutImportResult, OptOutSource, TotalMeta,
};
use sms_client::send::{Batch, BatchMeta, Priority, Quote, RejectionReason};
use sms_client::sender_name::{SenderName, SenderStatus};
use sms_client::template::Template;
use sms_client::webhook::{
    Delivery, DeliveryStatus, DisabledReason, Webhook, WebhookCreated, WebhookReplay,
    WebhookTested, WebhookUpdated,
};
use sms_client::{ErrorCode, PageMeta};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn document() -> Value {
    let path = root().join("../sms-server/tests/golden/openapi.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Every operation by its name.
fn operations() -> BTreeMap<String, Value> {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|path| path.as_object().unwrap().values());
    let named = operations.filter(|operation| operation["operationId"].is_string());
    named.map(|one| (one["operationId"].as_str().unwrap().to_owned(), one.clone())).collect()
}

/// The documents themselves, which are for generators.
const NOT_CALLED: [&str; 2] = ["openapi_get", "openapi_3_0_get"];

/// What stands between the name of a method and its body.
fn signature(source: &str, operation: &str) -> Option<String> {
    let (_, rest) = source.split_once(&format!("fn {operation}("))?;
    Some(rest.split('{').next().unwrap().to_owned())
}

#[test]
fn every_operation_is_a_method_with_its_name_and_makers_have_a_key() {
    let files = fs::read_dir(root().join("src")).unwrap();
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let source: String = texts.collect();
    for (operation, about) in operations() {
        if NOT_CALLED.contains(&operation.as_str()) {
            continue;
        }
        let signature = signature(&source, &operation);
        let signature = signature.unwrap_or_else(|| panic!("no method for {operation}"));
        let parameters = about["parameters"].as_array();
        let has_key = parameters.is_some_and(|parameters| {
            parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key")
        });
        assert_eq!(signature.contains("KeyedCall<"), has_key, "{operation}: {signature}");
    }
}

type Check = fn(&Value) -> Value;

/// The value after it went through this type.
fn through<T: DeserializeOwned + Serialize>(value: &Value) -> Value {
    let read: T = serde_json::from_str(&value.to_string()).unwrap_or_else(|error| {
        panic!("{}: {error}: {value}", std::any::type_name::<T>());
    });
    serde_json::to_value(read).unwrap()
}

fn data_and_meta<T, M>(answer: &Value) -> Value
where
    T: DeserializeOwned + Serialize,
    M: DeserializeOwned + Serialize,
{
    let (data, meta) = (through::<T>(&answer["data"]), through::<M>(&answer["meta"]));
    serde_json::json!({ "data": data, "meta": meta })
}

fn data<T: DeserializeOwned + Serialize>(answer: &Value) -> Value {
    serde_json::json!({ "data": through::<T>(&answer["data"]), "meta": answer["meta"] })
}

fn page<T: DeserializeOwned + Serialize>(answer: &Value) -> Value {
    data_and_meta::<Vec<T>, PageMeta>(answer)
}

/// What each answer is read as.
const ANSWERS: &[(&str, Check)] = &[
    ("api_key_list", data::<Vec<ApiKeyRecord>>),
    ("balance_get", data::<Balance>),
    ("campaign_cancel", data_and_meta::<Campaign, CancelMeta>),
    ("campaign_create", data::<Campaign>),
    ("campaign_get", data::<Campaign>),
    ("campaign_list", page::<Campaign>),
    ("campaign_send", data_and_meta::<Campaign, LaunchMeta>),
    ("campaign_update", data::<Campaign>),
    ("contact_create", data::<Contact>),
    ("contact_fields", data::<Vec<String>>),
    ("contact_get", data::<ContactWithLists>),
    ("contact_import", data::<ImportResult>),
    ("contact_list", page::<Contact>),
    ("contact_update", data::<Contact>),
    ("conversation_get", data::<Thread>),
    ("conversation_list", data_and_meta::<Vec<Conversation>, InboxMeta>),
    ("conversation_read", data::<ConversationRead>),
    ("dedicated_number_list", data::<Vec<DedicatedNumber>>),
    ("delivery_list", page::<Delivery>),
    ("delivery_retry", data::<Delivery>),
    ("event_get", data::<Event>),
    ("event_list", page::<Event>),
    ("keyword_create", data::<Keyword>),
    ("keyword_get", data::<Keyword>),
    ("keyword_list", page::<Keyword>),
    ("keyword_update", data::<Keyword>),
    ("link_get", data::<Link>),
    ("link_list", page::<Link>),
    ("list_add", data::<ListContactsAdded>),
    ("list_contacts", page::<Contact>),
    ("list_create", data::<ContactList>),
    ("list_get", data::<ContactList>),
    ("list_list", page::<ContactList>),
    ("list_update", data::<ContactList>),
    ("message_cancel", data::<Message>),
    ("message_get", data::<MessageWithEvents>),
    ("message_list", page::<Message>),
    ("message_quote", data::<Quote>),
    ("message_send", data_and_meta::<Batch, BatchMeta>),
    ("opt_out_create", data::<OptOut>),
    ("opt_out_import", data::<OptOutImportResult>),
    ("opt_out_list", data_and_meta::<Vec<OptOut>, TotalMeta>),
    ("sender_name_create", data::<SenderName>),
    ("sender_name_list", data::<Vec<SenderName>>),
    ("statistics_summary", data::<StatisticsSummary>),
    ("statistics_timeseries", data::<Vec<StatisticsDay>>),
    ("template_create", data::<Template>),
    ("template_get", data::<Template>),
    ("template_list", page::<Template>),
    ("template_update", data::<Template>),
    ("webhook_create", data::<WebhookCreated>),
    ("webhook_list", data::<Vec<Webhook>>),
    ("webhook_replay", data::<WebhookReplay>),
    ("webhook_test", data::<WebhookTested>),
    ("webhook_update", data::<WebhookUpdated>),
];

#[test]
fn every_recorded_answer_is_read_without_losing_a_field() {
    let checks: BTreeMap<&str, Check> = ANSWERS.iter().copied().collect();
    for (operation, about) in operations() {
        for (status, answer) in about["responses"].as_object().unwrap() {
            let example = &answer["content"]["application/json"]["example"];
            if !status.starts_with('2') || example.is_null() {
                continue;
            }
            let check = checks.get(operation.as_str());
            let check = check.unwrap_or_else(|| panic!("{operation} is not in the table"));
            assert_eq!(&check(example), example, "{operation}");
        }
    }
}

#[test]
fn the_words_of_every_choice_are_those_of_the_document() {
    let schemas = &document()["components"]["schemas"];
    let words = |name: &str| -> Vec<String> {
        serde_json::from_value(schemas[name]["enum"].clone()).unwrap_or_else(|_| panic!("{name}"))
    };
    let table = [
        ("AccountStatus", AccountStatus::WORDS),
        ("CampaignStatus", CampaignStatus::WORDS),
        ("DeliveryStatus", DeliveryStatus::WORDS),
        ("Direction", Direction::WORDS),
        ("DisabledReason", DisabledReason::WORDS),
        ("Encoding", Encoding::WORDS),
        ("EventType", EventType::WORDS),
        ("ImportOutcome", ImportOutcome::WORDS),
        ("KeyKind", KeyKind::WORDS),
        ("MessageStatus", MessageStatus::WORDS),
        ("OptOutImportOutcome", OptOutImportOutcome::WORDS),
        ("OptOutSource", OptOutSource::WORDS),
        ("Priority", Priority::WORDS),
        ("RejectionReason", RejectionReason::WORDS),
        ("SenderStatus", SenderStatus::WORDS),
    ];
    for (name, known) in table {
        assert_eq!(known, words(name), "{name}");
    }
    let codes = &schemas["ApiErrorBody"]["properties"]["code"]["anyOf"][0]["enum"];
    let codes: Vec<String> = serde_json::from_value(codes.clone()).unwrap();
    let unknown: Vec<&String> =
        codes.iter().filter(|code| !ErrorCode::WORDS.contains(&code.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_value_of_a_newer_server_is_kept() {
    let status: MessageStatus = serde_json::from_str("\"teleported\"").unwrap();
    assert_eq!(status, MessageStatus::Other("teleported".to_owned()));
    assert_eq!(serde_json::to_string(&status).unwrap(), "\"teleported\"");
}
