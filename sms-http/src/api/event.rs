//! The webhooks of the document: each event with its schema. The examples are recorded ones.

use serde_json::{Map, Value, json};
use sms_core::event::EventType;
use sms_core::keyword::reply_limit::PauseReason;

use crate::web::openapi::Events;

/// Every event, in the order of the specification.
const ALL: [EventType; 8] = [
    EventType::MessageSent,
    EventType::MessageDelivered,
    EventType::MessageFailed,
    EventType::MessageReceived,
    EventType::OptOutCreated,
    EventType::LinkClicked,
    EventType::RepliesPaused,
    EventType::WebhookTest,
];

/// The name of the schema of an event's data in the account's log.
pub(super) const DATA_SCHEMA: &str = "EventData";

/// What the server sends to endpoints.
pub(crate) fn events() -> Events {
    let mut webhooks = Map::new();
    let mut schemas = data_schemas();
    for kind in ALL {
        let About { schema, data, summary, description } = about(kind);
        webhooks.insert(kind.as_str().to_owned(), item(kind, schema, summary, description));
        schemas.insert(schema.to_owned(), event_schema(kind, data, summary));
    }
    Events { webhooks, schemas }
}

struct About {
    /// The name of the event's schema.
    schema: &'static str,
    /// The name of the schema of its data.
    data: &'static str,
    summary: &'static str,
    description: &'static str,
}

fn about(kind: EventType) -> About {
    let (schema, data, summary, description) = match kind {
        EventType::MessageSent => (
            "MessageSentEvent",
            "Message",
            "A message was handed over to the network",
            "Test messages too, about a second after they were sent.",
        ),
        EventType::MessageDelivered => (
            "MessageDeliveredEvent",
            "Message",
            "The handset received a message",
            "The network confirmed it.",
        ),
        EventType::MessageFailed => (
            "MessageFailedEvent",
            "Message",
            "A message failed or could not be delivered",
            "See `data.status` and `data.error_code`. A message with the status `failed` was never \
             sent and was refunded. One with `undelivered` stays charged.",
        ),
        EventType::MessageReceived => (
            "MessageReceivedEvent",
            "Message",
            "A person sent a message to one of your numbers",
            "`data.from` is the person's number, `data.body` the text.",
        ),
        EventType::OptOutCreated => (
            "OptOutCreatedEvent",
            "OptOut",
            "A number opted out by sending STOP or a similar word",
            "Messages to the number are rejected from now on.",
        ),
        EventType::LinkClicked => (
            "LinkClickedEvent",
            "LinkClick",
            "A person followed a tracked link",
            "Every click raises the event.",
        ),
        EventType::RepliesPaused => (
            "RepliesPausedEvent",
            "RepliesPause",
            "Automatic replies reached a bound and pause",
            "Raised once for each pause. Keywords still match, people still join lists and opt \
             out; only the replies are left out until `data.paused_until`.",
        ),
        EventType::WebhookTest => (
            "WebhookTestEvent",
            "WebhookTestData",
            "You asked for a test of an endpoint",
            "Sent by `POST /webhooks/{id}/test`, signed like every delivery. It is not retried, \
             and endpoints cannot subscribe to it.",
        ),
    };
    About { schema, data, summary, description }
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn event_schema(kind: EventType, data: &str, summary: &str) -> Value {
    json!({
        "type": "object",
        "description": format!("{summary}."),
        "required": ["id", "type", "created_at", "data"],
        "properties": {
            "id": {
                "type": "string",
                "description": "`evt_` and 26 characters. The same on every retry and for every \
                                endpoint: remember it, and ignore an event that you know.",
            },
            "type": {
                "type": "string",
                "enum": [kind.as_str()],
                "description": "The type of the event.",
            },
            "created_at": {
                "type": "string",
                "format": "date-time",
                "description": "When the event happened.",
            },
            "data": {
                "description": "What the event is about.",
                "$ref": format!("#/components/schemas/{data}"),
            },
        },
    })
}

fn item(kind: EventType, schema: &str, summary: &str, description: &str) -> Value {
    let operation_id = format!("event_{}", kind.as_str().replace('.', "_"));
    json!({ "post": {
        "tags": ["Webhooks"],
        "summary": summary,
        "description": description,
        "operationId": operation_id,
        "security": [],
        "parameters": headers(),
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": reference(schema) } },
        },
        "responses": {
            "2XX": {
                "description": "You have received the event. Answer within 8 seconds. Otherwise \
                                the delivery is retried after 1, 5, 30, 120, 360 and 720 minutes.",
            },
        },
    } })
}

/// The headers of every delivery.
fn headers() -> Value {
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": { "type": "string" },
        })
    };
    json!([
        header("webhook-id", "The delivery's id, the same on every retry (Standard Webhooks)."),
        header("webhook-timestamp", "When this attempt was sent, in Unix seconds."),
        header(
            "webhook-signature",
            "`v1,` and the Base64 HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`. After \
             a rotation there are two, with a space between.",
        ),
        header(
            "X-Connect-Signature",
            "`t=`, Unix seconds, `,v1=` and the hexadecimal HMAC-SHA256 of `{t}.{body}`. After a \
             rotation there are two `v1`.",
        ),
        header("X-Connect-Event", "The type of the event."),
        header("X-Connect-Delivery", "The delivery's id, the same on every retry."),
    ])
}

/// The schemas of data that no operation returns by itself.
fn data_schemas() -> Map<String, Value> {
    let id_or_null =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    let click = json!({
        "type": "object",
        "description": "One click on a tracked link.",
        "required": [
            "link_id", "code", "url", "message_id", "campaign_id", "contact_number", "clicks",
            "clicked_at",
        ],
        "properties": {
            "link_id": { "type": "string", "description": "`lnk_` and 26 characters." },
            "code": { "type": "string", "description": "The short code, 10 characters." },
            "url": { "type": "string", "description": "The destination." },
            "message_id": id_or_null("The message that contains the link."),
            "campaign_id": id_or_null("The campaign of that message; null if there is none."),
            "contact_number": id_or_null("The recipient's number, in E.164."),
            "clicks": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "description": "How many clicks the link has had, including this one.",
            },
            "clicked_at": {
                "type": "string",
                "format": "date-time",
                "description": "When the click happened.",
            },
        },
    });
    let test = json!({
        "type": "object",
        "description": "The data of a test.",
        "required": ["message"],
        "properties": {
            "message": {
                "type": "string",
                "description": "A sentence for people who read the receiver's log.",
            },
        },
    });
    let choices = ["Message", "OptOut", "LinkClick", "RepliesPause"].map(reference);
    let any = json!({
        "description": "The subject of an event, by its type: a message, an opt-out, a click or a \
                        pause of replies.",
        "anyOf": choices,
    });
    let schemas = [
        ("LinkClick", click),
        ("RepliesPause", pause_schema()),
        ("WebhookTestData", test),
        (DATA_SCHEMA, any),
    ];
    schemas.map(|(name, schema)| (name.to_owned(), schema)).into_iter().collect()
}

fn pause_schema() -> Value {
    json!({
        "type": "object",
        "description": "A pause of the automatic replies of an account or of one keyword.",
        "required": ["keyword_id", "keyword", "reason", "limit", "paused_until"],
        "properties": {
            "keyword_id": {
                "type": ["string", "null"],
                "description": "The keyword whose replies pause; null for all keywords.",
            },
            "keyword": { "type": ["string", "null"], "description": "The word of that keyword." },
            "reason": {
                "type": "string",
                "enum": PauseReason::ALL.map(PauseReason::as_str),
                "description": "The bound that was reached: the replies of a minute or of an \
                                hour, or the share of the balance that replies may spend in an \
                                hour.",
            },
            "limit": {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "description": "The bound: a number of replies, or of credits for `balance`.",
            },
            "paused_until": {
                "type": "string",
                "format": "date-time",
                "description": "When replies go on. With `balance` at the latest: they go on as \
                                soon as the balance is large enough.",
            },
        },
    })
}
