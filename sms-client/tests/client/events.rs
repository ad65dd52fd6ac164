//! Events as a stream.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use serde_json::json;
use sms_client::event::{Event, EventFilter, EventType};
use sms_client::{ApiKey, Client, Error, Retries};

use crate::script::{Script, Turn};

fn body(n: u32) -> String {
    let data = json!({ "phone": "+447700900123", "source": "sms", "note": null });
    format!(
        "{{\"id\":\"evt_{n}\",\"type\":\"opt_out.created\",\
         \"created_at\":\"2026-11-21T07:07:10.000Z\",\"data\":{data}}}"
    )
}

fn frame(n: u32) -> String {
    format!("id: pos{n}\nevent: opt_out.created\ndata: {}\n\n", body(n))
}

fn stream(text: String) -> Turn {
    Turn::Answer(200, "Content-Type: text/event-stream\r\n", text)
}

fn client(script: &Script) -> Client {
    let retries = Retries { first_wait: Duration::from_millis(1), ..Retries::none() };
    Client::with_retries(&script.url, &ApiKey::from("cc_test_1"), retries).unwrap()
}

fn opening(id: &str) -> String {
    format!("retry: 1000\nid: {id}\n\n")
}

fn ended(id: &str) -> String {
    format!("id: {id}\nevent: stream.ended\ndata: {{\"reason\":\"server_stopping\"}}\n\n")
}

async fn positions(events: impl Stream<Item = Result<Event, Error>>, count: usize) -> Vec<String> {
    let events = events.take(count).map(|event| event.unwrap().position.unwrap());
    events.map(|position| position.as_str().to_owned()).collect().await
}

#[tokio::test]
async fn a_stream_goes_on_after_the_last_id_when_its_connection_ends() {
    let script = Script::start(vec![
        stream(opening("pos0") + &frame(1) + ": still here\n\n" + &frame(2) + &ended("pos2")),
        // It breaks, after a comment behind events of other types.
        stream(opening("pos2") + ": still here\nid: pos5\n\nid: pos6\ndata: cut"),
        Turn::Break,
        Turn::Answer(
            503,
            "",
            json!({ "error": { "code": "unavailable", "message": "" } }).to_string(),
        ),
        stream(opening("pos5") + "event: stream.news\ndata: {}\n\n" + &frame(7)),
    ])
    .await;
    let filter = EventFilter { types: vec![EventType::OptOutCreated], after: Some("pos0".into()) };
    let events = client(&script).event_stream(&filter).await.unwrap();
    assert_eq!(positions(events, 3).await, ["pos1", "pos2", "pos7"]);
    let asked = script.asked();
    for one in &asked {
        assert_eq!(
            one.line(),
            "GET /api/v1/events/stream?types=opt_out.created&after=pos0 HTTP/1.1"
        );
    }
    let last_ids: Vec<Option<&str>> = asked.iter().map(|one| one.header("last-event-id")).collect();
    assert_eq!(last_ids, [None, Some("pos2"), Some("pos5"), Some("pos5"), Some("pos5")]);
}

#[tokio::test]
async fn an_event_is_byte_for_byte_what_endpoints_get() {
    let script = Script::start(vec![stream(opening("pos0") + &frame(1))]).await;
    let mut events = client(&script).event_stream(&EventFilter::default()).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().body().unwrap(), body(1));
}

#[tokio::test]
async fn a_stream_that_lost_its_connection_before_its_first_event_misses_none() {
    let script = Script::start(vec![stream(opening("pos7")), stream(frame(8))]).await;
    let events = client(&script).event_stream(&EventFilter::default()).await.unwrap();
    assert_eq!(positions(events, 1).await, ["pos8"]);
    let asked = script.asked();
    assert_eq!(asked[0].line(), "GET /api/v1/events/stream HTTP/1.1");
    assert_eq!(asked[1].header("last-event-id"), Some("pos7"));
}

#[tokio::test]
async fn an_event_without_a_position_does_not_lose_the_place() {
    let without = format!("event: opt_out.created\ndata: {}\n\n", body(2));
    let script = Script::start(vec![stream(frame(1) + &without), stream(frame(3))]).await;
    let events = client(&script).event_stream(&EventFilter::default()).await.unwrap();
    let events: Vec<Event> = events.take(3).map(Result::unwrap).collect().await;
    assert_eq!(events[1].position, None);
    assert_eq!(script.asked()[1].header("last-event-id"), Some("pos1"));
}

#[tokio::test]
async fn a_server_that_refuses_the_stream_is_heard_at_once_and_later() {
    let error = || {
        let error = json!({ "error": { "code": "forbidden", "message": "not with this key" } });
        Turn::Answer(403, "", error.to_string())
    };
    let script = Script::start(vec![error(), stream(frame(1) + &ended("pos1")), error()]).await;
    let filter = EventFilter::default();
    let refused = client(&script).event_stream(&filter).await.err().unwrap();
    assert_eq!(refused.to_string(), "not with this key");
    let mut events = client(&script).event_stream(&filter).await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    assert_eq!(events.next().await.unwrap().unwrap_err().to_string(), "not with this key");
    assert!(events.next().await.is_none());
}
