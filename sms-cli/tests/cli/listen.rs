//! Events: shown, and forwarded to a local program.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::home::Home;
use crate::receiver::{Receiver, read};

/// An event's body, as endpoints get it.
fn body(n: u32) -> String {
    let at = "2026-11-21T07:07:10.000Z";
    let data = format!(
        "{{\"phone\":\"+447700900123\",\"source\":\"sms\",\"note\":null,\"created_at\":\"{at}\"}}"
    );
    format!(
        "{{\"id\":\"evt_{n}\",\"type\":\"opt_out.created\",\"created_at\":\"{at}\",\
         \"data\":{data}}}"
    )
}

/// A server with two events to come. It ends the stream after the first.
fn events() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for socket in listener.incoming() {
            answer(socket.unwrap());
        }
    });
    url
}

fn answer(mut socket: TcpStream) {
    let request = read(&socket);
    let path = request.head.split_whitespace().nth(1).unwrap();
    assert_eq!(path, "/api/v1/events/stream");
    assert_eq!(request.header("authorization"), "Bearer cc_test_1");
    let frame = |n: u32| {
        let body = body(n);
        format!(": still here\n\nid: pos{n}\nevent: opt_out.created\ndata: {body}\n\n")
    };
    let text = if request.head.to_lowercase().contains("\r\nlast-event-id: pos1\r\n") {
        frame(2)
    } else {
        let ended = "event: stream.ended\ndata: {\"reason\":\"server_stopping\"}\n\n";
        format!("retry: 1000\nid: pos0\n\n{}{ended}", frame(1))
    };
    let length = text.len();
    let head = format!("Content-Length: {length}\r\nConnection: close");
    let kind = "Content-Type: text/event-stream";
    write!(socket, "HTTP/1.1 200 OK\r\n{kind}\r\n{head}\r\n\r\n{text}").unwrap();
}

#[test]
fn listen_posts_each_event_once_signed_as_webhooks_are() {
    let receiver = Receiver::start();
    let home = Home::with_key("cc_test_1").with("SMS_API_URL", &events());
    let secret = "whsec_4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=";
    let home = home.with("SMS_WEBHOOK_SECRET", secret);
    let ran = home.run(&["listen", "--forward-to", &receiver.url, "--limit", "2"]).assert(0);
    assert!(ran.out.contains(&format!("signed with {secret}")), "{ran:?}");
    assert!(ran.out.contains("opt_out.created    +447700900123 by sms\n  → 200 in"), "{ran:?}");
    for n in [1, 2] {
        let request = receiver.next();
        assert_eq!(request.body, body(n), "byte for byte what an endpoint gets");
        assert_eq!(request.header("webhook-id"), format!("whd_{n}"));
        request.verify(secret);
    }
}

#[test]
fn a_program_that_does_not_answer_is_shown_and_the_next_event_comes() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}/hooks", free.local_addr().unwrap());
    drop(free);
    let home = Home::with_key("cc_test_1").with("SMS_API_URL", &events());
    let ran = home.run(&["listen", "--forward-to", &target, "--limit", "2", "--json"]).assert(0);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(
        (&lines[1]["error"], &lines[2]["error"]),
        (&"connect_failed".into(), &"connect_failed".into())
    );
    assert_eq!(lines[2]["event"]["position"], "pos2");
}

#[test]
fn tail_shows_events_and_goes_on_after_a_lost_connection() {
    let home = Home::with_key("cc_test_1").with("SMS_API_URL", &events());
    let ran = home.run(&["tail", "--limit", "2"]).assert(0);
    let line = "2026-11-21 07:07:10  opt_out.created    +447700900123 by sms";
    assert_eq!(ran.out, format!("{line}\n{line}\n"));
    let ran = home.run(&["tail", "--limit", "2", "--json"]).assert(0);
    let last: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["id"], &last["position"]), (&"evt_2".into(), &"pos2".into()));
}

#[test]
fn the_secret_of_a_profile_stays_the_same() {
    let keys = crate::server::account(1);
    let home = Home::new();
    home.run_with(&["login", "--url", &crate::server::url()], &keys.live).assert(0);
    let secret = home.run(&["listen", "--print-secret"]).assert(0).out;
    assert!(secret.starts_with("whsec_") && secret.len() > 40, "{secret}");
    assert_eq!(home.run(&["listen", "--print-secret"]).assert(0).out, secret);
    home.run_with(&["login", "--url", &crate::server::url()], &keys.test).assert(0);
    assert_eq!(home.run(&["listen", "--print-secret"]).assert(0).out, secret);
}

#[test]
fn listen_forwards_what_happens_on_the_server() {
    let keys = crate::server::account(5);
    let receiver = Receiver::start();
    let home = Home::with_key(&keys.live).with("SMS_API_URL", &crate::server::url());
    let send = ["send", "07700 900123", "--body", "our table is ready", "--yes"];
    home.run(&send).assert(0);
    crate::server::pass(60);
    let after = "0".repeat(26);
    let listen = ["listen", "--forward-to", &receiver.url, "--after", &after, "--limit", "2"];
    home.run(&listen).assert(0);
    for kind in ["message.sent", "message.delivered"] {
        let request = receiver.next();
        assert!(request.body.contains(&format!("\"type\":\"{kind}\"")), "{}", request.body);
    }
    let home = Home::with_key(&keys.live).with("SMS_API_URL", &crate::server::url());
    let ran = home.run(&["tail", "--after", &after, "--limit", "2"]).assert(0);
    assert!(ran.out.contains("message.sent") && ran.out.contains("delivered"), "{ran:?}");
}
