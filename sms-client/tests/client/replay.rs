//! What a request for a replay looks like.

use serde_json::{Value, json};
use sms_client::event::EventType;
use sms_client::webhook::{ReplayFrom, WebhookReplay, WebhookReplayInput};
use sms_client::{ApiKey, Client, ErrorCode, Retries, Timestamp};

use crate::script::{Script, Turn};

fn client(script: &Script) -> Client {
    Client::with_retries(&script.url, &ApiKey::from("cc_test_1"), Retries::none()).unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_replay_request_has_its_beginning_and_only_the_options_that_were_given() {
    let answer = json!({ "events": 2, "position": "pos9", "has_more": true });
    let after = WebhookReplayInput::new(ReplayFrom::After("pos1".into()));
    let event = "evt_00000000000000000000000001";
    let after_event = WebhookReplayInput::new(ReplayFrom::AfterEvent(event.parse().unwrap()));
    let from = WebhookReplayInput {
        begin: ReplayFrom::From(time("2026-11-21T07:00:00Z")),
        to: Some(time("2026-11-21T09:00:00Z")),
        types: Some(vec![EventType::MessageFailed]),
    };
    let bodies = [
        json!({ "after": "pos1" }),
        json!({ "after": event }),
        json!({
            "from": "2026-11-21T07:00:00.000Z", "to": "2026-11-21T09:00:00.000Z",
            "types": ["message.failed"],
        }),
    ];
    for (input, body) in [after, after_event, from].into_iter().zip(bodies) {
        let data = json!({ "data": answer, "meta": null }).to_string();
        let script = Script::start(vec![Turn::Answer(200, "", data)]).await;
        let begun =
            client(&script).webhook_replay(&"whk_1".parse().unwrap(), &input).await.unwrap();
        let expected = WebhookReplay { events: 2, position: Some("pos9".into()), has_more: true };
        assert_eq!(begun, expected);
        let asked = script.asked().remove(0);
        assert_eq!(asked.line(), "POST /api/v1/webhooks/whk_1/replay HTTP/1.1");
        assert!(asked.header("idempotency-key").is_some());
        assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap(), body);
    }
}

#[tokio::test]
async fn a_replay_that_is_refused_says_why() {
    for (code, expected) in [
        ("webhook_disabled", ErrorCode::WebhookDisabled),
        ("replay_under_way", ErrorCode::ReplayUnderWay),
    ] {
        let error = json!({ "error": { "code": code, "message": "no" } }).to_string();
        let script = Script::start(vec![Turn::Answer(409, "", error)]).await;
        let input = WebhookReplayInput::new(ReplayFrom::After("pos1".into()));
        let refused =
            client(&script).webhook_replay(&"whk_1".parse().unwrap(), &input).await.unwrap_err();
        assert_eq!(refused.code(), Some(&expected));
    }
}
