//! A program that receives webhooks, and a server of events.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver as Channel, Sender, channel};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sms_webhooks::{sign_standard, verify};

use crate::server::BOUND;

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Request {
    pub head: String,
    pub body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        });
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Both signatures were made now with this secret.
    pub(crate) fn verify(&self, secret: &str) {
        #[expect(clippy::disallowed_methods, reason = "the program under test has the real time")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
        let body = self.body.as_bytes();
        assert_eq!(verify(secret, self.header("X-Connect-Signature"), body, now), Ok(()));
        let at: i64 = self.header("webhook-timestamp").parse().unwrap();
        assert!((now - at).abs() < 300);
        let expected = sign_standard(&[secret], self.header("webhook-id"), at, body);
        assert_eq!(self.header("webhook-signature"), expected);
        assert_eq!(self.header("X-Connect-Delivery"), self.header("webhook-id"));
        assert_eq!(self.header("X-Connect-Event"), self.json()["type"].as_str().unwrap());
    }
}

/// Answers every request with 200, and keeps it.
pub(crate) struct Receiver {
    pub url: String,
    requests: Channel<Request>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || serve(&listener, &sender));
        Self { url: format!("http://localhost:{port}/hooks"), requests }
    }

    pub(crate) fn next(&self) -> Request {
        self.requests.recv_timeout(BOUND).expect("a delivery")
    }
}

fn serve(listener: &TcpListener, sender: &Sender<Request>) {
    for socket in listener.incoming() {
        let mut socket = socket.unwrap();
        let request = read(&socket);
        socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        if sender.send(request).is_err() {
            return;
        }
    }
}

/// Reads one request.
pub(crate) fn read(socket: &TcpStream) -> Request {
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "closed within a head");
    }
    let mut request = Request { head, body: String::new() };
    let lower = request.head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    request.body = String::from_utf8(body).unwrap();
    request
}
