//! Events as a stream.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::json;
use sms_client::event::{Event, EventFilter, EventType};
use sms_client::{ApiKey, Client, Retries};

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

#[tokio::test]
async fn a_stream_goes_on_after_the_last_event_when_its_connection_ends() {
    let closed = "event: closed\ndata: {\"reason\":\"stopping\"}\n\n";
    let script = Script::start(vec![
        stream(frame(1) + ": still here\n\n" + &frame(2) + closed),
        stream(frame(3)),
    ])
    .await;
    let filter = EventFilter { types: vec![EventType::OptOutCreated], after: Some("pos0".into()) };
    let events = client(&script).event_stream(&filter).await.unwrap();
    let events: Vec<Event> = events.take(3).map(Result::unwrap).collect().await;
    let positions = events.iter().map(|event| event.position.as_ref().unwrap().as_str());
    assert_eq!(positions.collect::<Vec<_>>(), ["pos1", "pos2", "pos3"]);
    assert_eq!(events[0].body().unwrap(), body(1), "byte for byte what endpoints get");
    let asked = script.asked();
    let line = "GET /api/v1/events/stream?types=opt_out.created&after=pos0 HTTP/1.1";
    assert_eq!(asked[0].line(), line);
    assert_eq!(asked[1].line(), line.replace("pos0", "pos2"));
}

#[tokio::test]
async fn a_stream_from_now_on_begins_after_the_newest_event() {
    let mut newest: serde_json::Value = serde_json::from_str(&body(7)).unwrap();
    newest["position"] = json!("pos7");
    let page = json!({ "data": [newest], "meta": { "next_cursor": "pos7" } }).to_string();
    let script = Script::start(vec![Turn::Answer(200, "", page), stream(frame(8))]).await;
    let mut events = client(&script).event_stream(&EventFilter::default()).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().id.as_str(), "evt_8");
    let asked = script.asked();
    assert_eq!(asked[0].line(), "GET /api/v1/events?limit=1 HTTP/1.1");
    assert_eq!(asked[1].line(), "GET /api/v1/events/stream?after=pos7 HTTP/1.1");
}

#[tokio::test]
async fn a_server_that_refuses_the_stream_is_heard() {
    let error = json!({ "error": { "code": "forbidden", "message": "not with this key" } });
    let script = Script::start(vec![Turn::Answer(403, "", error.to_string())]).await;
    let filter = EventFilter { after: Some("pos0".into()), ..EventFilter::default() };
    let refused = client(&script).event_stream(&filter).await.err().unwrap();
    assert_eq!(refused.to_string(), "not with this key");
}

#[tokio::test]
async fn a_server_that_only_lists_events_is_asked_again_and_again() {
    let page = |numbers: &[u32]| {
        let event = |n: &u32| {
            let mut event: serde_json::Value = serde_json::from_str(&body(*n)).unwrap();
            event["position"] = json!(format!("pos{n}"));
            event
        };
        let events: Vec<serde_json::Value> = numbers.iter().map(event).collect();
        let page = json!({ "data": events, "meta": { "next_cursor": null } });
        Turn::Answer(200, "", page.to_string())
    };
    let error = json!({ "error": { "code": "not_found", "message": "no such path" } });
    let none = Turn::Answer(404, "", error.to_string());
    let script = Script::start(vec![page(&[]), none, page(&[1, 2]), page(&[]), page(&[3])]).await;
    let events = client(&script).event_stream(&EventFilter::default()).await.unwrap();
    let events: Vec<Event> = events.take(3).map(Result::unwrap).collect().await;
    let ids: Vec<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids, ["evt_1", "evt_2", "evt_3"]);
    let asked: Vec<String> = script.asked().iter().map(|one| one.line().to_owned()).collect();
    let start = "0".repeat(26);
    assert_eq!(
        asked,
        [
            "GET /api/v1/events?limit=1 HTTP/1.1".to_owned(),
            format!("GET /api/v1/events/stream?after={start} HTTP/1.1"),
            format!("GET /api/v1/events?after={start}&limit=100 HTTP/1.1"),
            "GET /api/v1/events?after=pos2&limit=100 HTTP/1.1".to_owned(),
            "GET /api/v1/events?after=pos2&limit=100 HTTP/1.1".to_owned(),
        ]
    );
}
