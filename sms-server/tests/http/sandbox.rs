//! The sandbox: months of a tester's life in moments. What can be told to the millisecond is tested
//! with the application, over a clock that stands beneath the movable one; what its users meet,
//! with the server as a process and a receiver on a socket.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use poem::http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use sms_core::clock::{Clock, SystemClock};
use sms_core::time::Timestamp;
use sms_http::web::serve::ServeLimits;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::process::{Process, TOKEN, ask, run};
use crate::rig::{Rig, START_MILLIS};
use crate::socket::{Answer, Server, bounded};
use crate::webhook::endpoint;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

/// So many seconds after the rig's beginning, as the API writes it.
fn moment(seconds: u64) -> String {
    Timestamp::from_millis(START_MILLIS).plus(Duration::from_secs(seconds)).to_string()
}

/// Moves the rig's clock; what it shows then.
async fn advance(rig: &Rig, seconds: u64) -> Value {
    rig.operator().post("/clock", json!({ "advance_seconds": seconds })).await.ok()
}

#[tokio::test]
async fn the_clock_shows_the_time_of_the_service_and_how_far_it_was_advanced() {
    let rig = Rig::new().await;
    let shown = |seconds| json!({ "now": moment(seconds), "moved_seconds": seconds });
    assert_eq!(rig.operator().get("/clock").await.ok(), shown(0));
    assert_eq!(advance(&rig, 1).await, shown(1));
    assert_eq!(advance(&rig, 34_560_000).await, shown(34_560_001));
    // It also runs in real time, which is not an advance.
    rig.clock.advance(Duration::from_secs(5));
    let now = json!({ "now": moment(34_560_006), "moved_seconds": 34_560_001 });
    assert_eq!(rig.operator().get("/clock").await.ok(), now);
    let account = rig.account(0).await;
    let contact = json!({ "phone": "07700 900123" });
    let made = account.live.post("/contacts", contact).await.created();
    assert_eq!(text(&made, "created_at"), moment(34_560_006));
}

#[tokio::test]
async fn a_move_is_1_to_34_560_000_seconds() {
    let rig = Rig::new().await;
    for (seconds, code) in [
        (json!(0), "out_of_range"),
        (json!(34_560_001), "out_of_range"),
        (json!(-1), "out_of_range"),
        (json!(1.5), "wrong_type"),
        (json!("60"), "wrong_type"),
        (Value::Null, "required"),
    ] {
        let body = json!({ "advance_seconds": seconds });
        let reply = rig.operator().post("/clock", body).await;
        reply.mistake("advance_seconds", code);
    }
    rig.operator().post("/clock", json!({})).await.mistake("advance_seconds", "required");
    rig.operator().call("/clock").await.mistake("", "required");
    assert_eq!(rig.operator().get("/clock").await.ok()["moved_seconds"], 0);
    rig.client(None).ask_at(Method::GET, "/admin/v1/clock").send().await.assert(401);
}

#[tokio::test]
async fn messages_months_ahead_leave_at_their_times_in_their_order() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    endpoint(&account, &["message.sent", "message.delivered"]).await;
    // Accepted in another order than they are due.
    for days in [200, 300, 100] {
        let at = moment(days * DAY);
        let request = json!({ "to": "07700 900123", "body": format!("{days}"), "schedule_at": at });
        account.live.post("/messages", request).await.assert(201);
    }
    advance(&rig, 300 * DAY - 1).await;
    let messages = account.live.get("/messages").await.ok();
    let messages = messages.as_array().unwrap();
    let of = |body: &str| messages.iter().find(|message| message["body"] == body).unwrap();
    for days in [100, 200] {
        let message = of(&format!("{days}"));
        assert_eq!(text(message, "status"), "delivered");
        assert_eq!(text(message, "sent_at"), moment(days * DAY));
        assert_eq!(text(message, "delivered_at"), moment(days * DAY + 2));
    }
    assert_eq!(of("300")["status"], "scheduled");
    let told = rig.hooks.take_events();
    let told: Vec<(&str, &str)> =
        told.iter().map(|event| (text(event, "type"), text(&event["data"], "body"))).collect();
    let in_order = [
        ("message.sent", "100"),
        ("message.delivered", "100"),
        ("message.sent", "200"),
        ("message.delivered", "200"),
    ];
    assert_eq!(told, in_order);
    advance(&rig, 1).await;
    let sent = rig.hooks.take_events();
    assert_eq!((sent.len(), text(&sent[0]["data"], "body")), (1, "300"), "what is due at the end");
}

#[tokio::test]
async fn a_message_that_nobody_takes_expires_after_24_hours() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let sent = account.send("07700 900911", "x").await;
    let path = format!("/messages/{}", text(&sent["messages"][0], "id"));
    advance(&rig, DAY - 1).await;
    assert_eq!(account.live.get(&path).await.ok()["status"], "sending");
    assert_eq!(account.balance().await, 9);
    advance(&rig, 1).await;
    let failed = account.live.get(&path).await.ok();
    assert_eq!((text(&failed, "status"), text(&failed, "error_code")), ("failed", "expired"));
    assert_eq!(text(&failed, "failed_at"), moment(DAY));
    assert_eq!(account.balance().await, 10);
}

#[tokio::test]
async fn an_idempotency_key_ends_after_seven_days() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let send = async || {
        let ask = account.live.ask(Method::POST, "/messages");
        let ask = ask.json(&json!({ "to": "07700 900123", "body": "x" }));
        ask.header("Idempotency-Key", "booking-42").send().await
    };
    let first = send().await.created();
    advance(&rig, 7 * DAY - 1).await;
    assert_eq!(send().await.ok(), first);
    advance(&rig, 1).await;
    let second = send().await.created();
    assert_ne!(first["batch_id"], second["batch_id"]);
    assert_eq!(account.balance().await, 8);
}

#[tokio::test]
async fn expired_data_is_gone_after_an_advance() {
    let rig = Rig::new().await;
    let account = rig.account(10).await;
    let (path, _) = endpoint(&account, &["message.sent"]).await;
    account.send("07700 900904", "x").await;
    rig.work().await;
    let deliveries = format!("{path}/deliveries");
    advance(&rig, 30 * DAY).await;
    assert_eq!(account.live.get(&deliveries).await.ok().as_array().unwrap().len(), 1);
    advance(&rig, 1).await;
    assert_eq!(account.live.get(&deliveries).await.ok(), json!([]));
}

#[tokio::test]
async fn keys_and_rate_limits_stay_on_real_time() {
    let rig = Rig::with_rate(1, 2).await;
    let account = rig.account(10).await;
    for _ in 0..2 {
        account.live.get("/balance").await.assert(200);
    }
    advance(&rig, DAY).await;
    account.live.get("/balance").await.refused(429, "rate_limited");
    rig.pass_real(Duration::from_secs(1));
    account.live.get("/balance").await.assert(200);
}

/// What an endpoint was sent, and what the sandbox's clock showed then.
type Seen = (String, HeaderMap, Vec<u8>);

/// An endpoint that refuses whatever comes, asks the server behind `addr` what its clock shows, and
/// passes both on.
fn refusing(addr: Arc<OnceLock<std::net::SocketAddr>>) -> (Server, UnboundedReceiver<Seen>) {
    let (sender, seen) = unbounded_channel();
    let endpoint = poem::endpoint::make(move |mut request: poem::Request| {
        let (sender, addr) = (sender.clone(), addr.clone());
        async move {
            let body = request.take_body().into_vec().await.unwrap();
            let clock = ask(*addr.get().unwrap(), "GET", "/admin/v1/clock", Some(TOKEN), "").await;
            let now = text(&data(&clock), "now").to_owned();
            sender.send((now, request.headers().clone(), body)).unwrap();
            Ok::<_, poem::Error>(StatusCode::INTERNAL_SERVER_ERROR)
        }
    });
    (Server::start(endpoint, ServeLimits::default()), seen)
}

fn data(answer: &Answer) -> Value {
    assert!(answer.status < 300, "{}", answer.body);
    serde_json::from_str::<Value>(&answer.body).unwrap()["data"].take()
}

fn sandbox() -> Process {
    Process::start(&[
        ("SMS_SANDBOX", "true"),
        ("SMS_ADMIN_TOKEN", TOKEN),
        ("SMS_WEBHOOK_ALLOW_PRIVATE", "true"),
    ])
}

async fn move_on(server: &Process, seconds: u64) -> Value {
    let body = json!({ "advance_seconds": seconds });
    data(&bounded(server.call("POST", "/admin/v1/clock", TOKEN, &body)).await)
}

fn millis(moment: &str) -> i64 {
    moment.parse::<Timestamp>().unwrap().as_millis()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tester_lives_through_the_retries_of_a_webhook_in_moments() {
    let server = sandbox();
    server.wait_for_log("a sandbox");
    let key = server.said("Live key");
    let addr = Arc::new(OnceLock::new());
    addr.set(server.addr()).unwrap();
    let (receiver, mut seen) = refusing(addr);
    let url = format!("http://{}/hook", receiver.addr);
    let hook = json!({ "url": url, "events": ["message.sent"] });
    let hook = data(&server.call("POST", "/api/v1/webhooks", &key, &hook).await);
    let request = json!({ "to": "07700 900904", "body": "x" });
    assert_eq!(server.call("POST", "/api/v1/messages", &key, &request).await.status, 201);
    // Half of the schedule, in moves that end between attempts and on none.
    let (first, ..) = bounded(seen.recv()).await.unwrap();
    for seconds in [30, 40, 5 * MINUTE, HOUR, 20 * HOUR + 55 * MINUTE] {
        move_on(&server, seconds).await;
    }
    let mut attempts = vec![millis(&first)];
    let mut delivery = None;
    while let Ok((now, headers, body)) = seen.try_recv() {
        attempts.push(millis(&now));
        // A receiver checks against its own clock, which is not advanced.
        let real = SystemClock.now().as_unix_seconds();
        let signature = headers["x-connect-signature"].to_str().unwrap();
        let secret = text(&hook, "secret");
        assert_eq!(sms_webhooks::verify(secret, signature, &body, real), Ok(()));
        let id = headers["x-connect-delivery"].to_str().unwrap().to_owned();
        assert_eq!(*delivery.get_or_insert(id.clone()), id);
    }
    assert_eq!(attempts.len(), 7, "{attempts:?}");
    for (pair, minutes) in attempts.windows(2).zip([1, 5, 30, 120, 360, 720]) {
        let delay = minutes * 60_000;
        // A tenth of jitter, a minute at most, and the real time that attempts take.
        let most = delay + (delay / 10).min(60_000) + 5_000;
        let took = pair[1] - pair[0];
        assert!((delay..=most).contains(&took), "{took} ms instead of {minutes} minutes");
    }
    let list = format!("/api/v1/webhooks/{}/deliveries", text(&hook, "id"));
    let listed = data(&server.call("GET", &list, &key, &json!({})).await);
    assert_eq!((text(&listed[0], "status"), &listed[0]["attempts"]), ("given_up", &json!(7)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_advance_waits_for_a_running_attempt_and_does_not_repeat_it() {
    let server = sandbox();
    let key = server.said("Live key");
    let (came, mut seen) = unbounded_channel();
    let again = Arc::new(tokio::sync::Notify::new());
    // Its answer comes when another attempt does, which must not, or else after half a second.
    let endpoint = poem::endpoint::make(move |_| {
        let (came, again) = (came.clone(), again.clone());
        async move {
            again.notify_waiters();
            came.send(()).unwrap();
            let _ = tokio::time::timeout(Duration::from_millis(500), again.notified()).await;
            Ok::<_, poem::Error>(StatusCode::INTERNAL_SERVER_ERROR)
        }
    });
    let receiver = Server::start(endpoint, ServeLimits::default());
    let url = format!("http://{}/hook", receiver.addr);
    let hook = json!({ "url": url, "events": ["message.sent"] });
    let hook = data(&server.call("POST", "/api/v1/webhooks", &key, &hook).await);
    let request = json!({ "to": "07700 900904", "body": "x" });
    assert_eq!(server.call("POST", "/api/v1/messages", &key, &request).await.status, 201);
    bounded(seen.recv()).await.unwrap();
    // Longer than a worker holds a delivery, and shorter than it takes to try it again.
    move_on(&server, 45).await;
    assert!(seen.try_recv().is_err(), "it came once");
    let list = format!("/api/v1/webhooks/{}/deliveries", text(&hook, "id"));
    let listed = data(&server.call("GET", &list, &key, &json!({})).await);
    assert_eq!((text(&listed[0], "status"), &listed[0]["attempts"]), ("pending", &json!(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_goes_on_in_real_time_between_advances() {
    let server = sandbox();
    let key = server.said("Live key");
    let clock = async || data(&server.call("GET", "/admin/v1/clock", TOKEN, &json!({})).await);
    let before = clock().await;
    assert_eq!(before["moved_seconds"], 0);
    let schedule_at = millis(text(&before, "now")) + 90 * i64::try_from(DAY).unwrap() * 1_000;
    let at = Timestamp::from_millis(schedule_at).to_string();
    let later = json!({ "to": "07700 900123", "body": "later", "schedule_at": at });
    let later = data(&server.call("POST", "/api/v1/messages", &key, &later).await);
    let moved = move_on(&server, 90 * DAY + HOUR).await;
    assert_eq!(moved["moved_seconds"], 90 * DAY + HOUR);
    assert!(millis(text(&moved, "now")) >= schedule_at + 3_600_000);
    let path = format!("/api/v1/messages/{}", text(&later["messages"][0], "id"));
    let message = data(&server.call("GET", &path, &key, &json!({})).await);
    assert_eq!(text(&message, "status"), "delivered");
    let late = millis(text(&message, "sent_at")) - schedule_at;
    assert!((0..60_000).contains(&late), "it left at its time: {late}");
    assert_eq!(text(&message, "from"), "+447700900001");
    // The demo's own number is online after the move, and messages leave and arrive without one.
    let request = json!({ "to": "07700 900123", "body": "now" });
    let sent = data(&server.call("POST", "/api/v1/messages", &key, &request).await);
    assert_eq!(text(&sent["messages"][0], "from"), "+447700900001");
    let path = format!("/api/v1/messages/{}", text(&sent["messages"][0], "id"));
    let arrived = async {
        loop {
            let message = data(&server.call("GET", &path, &key, &json!({})).await);
            if text(&message, "status") == "delivered" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    bounded(arrived).await;
    assert_eq!(clock().await["moved_seconds"], moved["moved_seconds"]);
}

#[tokio::test]
async fn there_is_no_clock_to_move_outside_a_sandbox() {
    let server = Process::start(&[("SMS_ADMIN_TOKEN", TOKEN)]);
    for (method, body) in [("GET", json!({})), ("POST", json!({ "advance_seconds": 1 }))] {
        let answer = server.call(method, "/admin/v1/clock", TOKEN, &body).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{method}");
    }
}

#[test]
fn a_sandbox_with_a_database_or_a_real_route_does_not_start() {
    for (settings, reason) in [
        (
            [("DATABASE_URL", "postgres://example.com/sms"), ("SMS_ADMIN_TOKEN", TOKEN)],
            "a sandbox runs in memory only",
        ),
        ([("SMS_ROUTES", "main"), ("SMS_ADMIN_TOKEN", TOKEN)], "supports only the route simulator"),
    ] {
        let settings = [&settings[..], &[("SMS_SANDBOX", "true")]].concat();
        let output = run(&[], &settings);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(reason) && output.stdout.is_empty(), "{told}");
    }
}

#[test]
fn the_clock_is_read_and_moved_by_commands() {
    let server = sandbox();
    let addr = server.addr().to_string();
    let told = |arguments: &[&str]| {
        run(arguments, &[("SMS_ADMIN_TOKEN", TOKEN), ("SMS_ADDR", addr.as_str())])
    };
    let json =
        |output: std::process::Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    assert_eq!(json(told(&["clock", "show"]))["moved_seconds"], 0);
    assert_eq!(json(told(&["clock", "advance", "86400"]))["moved_seconds"], 86_400);
    assert_eq!(json(told(&["clock", "show"]))["moved_seconds"], 86_400);
    let refused = told(&["clock", "advance", "0"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("advance_seconds"));
}
