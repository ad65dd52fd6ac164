//! A server on a loopback socket, and clients that speak HTTP by hand. The tests of `sms-server`
//! use this file, too.

#![allow(dead_code, reason = "each program of tests needs a part")]

use std::net::SocketAddr;
use std::time::Duration;

use poem::{EndpointExt, IntoEndpoint};
use sms_http::web::serve::{ServeLimits, Stopped, listen, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The longest a test waits for anything.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// A server that runs until it is stopped or dropped.
pub(crate) struct Server {
    pub addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Stopped>,
}

impl Server {
    pub(crate) fn start<E>(endpoint: E, limits: ServeLimits) -> Self
    where
        E: IntoEndpoint,
        E::Endpoint: 'static,
    {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let endpoint = endpoint.into_endpoint().map_to_response().boxed();
        let task = tokio::spawn(serve(listener, endpoint, limits, async move {
            let _ = stopped.await;
        }));
        Self { addr, stop: Some(stop), task }
    }

    pub(crate) fn ask_to_stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    pub(crate) async fn stopped(self) -> Stopped {
        bounded(self.task).await.unwrap()
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::of(self.addr).await
    }

    /// Sends bytes on a connection of their own and reads one answer.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut client = self.connect().await;
        client.send(request).await;
        client.answer().await
    }
}

/// A connection and what came on it beyond the answers read so far.
pub(crate) struct Client {
    pub socket: TcpStream,
    unread: Vec<u8>,
}

/// An HTTP/1 answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The code in the error envelope.
    pub(crate) fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).expect("an envelope");
        let error = body["error"].as_object().expect("an error");
        assert!(error["message"].is_string() && error.contains_key("details"));
        error["code"].as_str().expect("a code").to_owned()
    }
}

impl Client {
    pub(crate) async fn of(addr: SocketAddr) -> Self {
        Self::on(TcpStream::connect(addr).await.unwrap())
    }

    pub(crate) fn on(socket: TcpStream) -> Self {
        Self { socket, unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads one answer, whose body has a `Content-Length`.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.head().await;
        let mut answer = Answer { status: head[9..12].parse().unwrap(), head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.unread.len() < length {
            assert_ne!(self.read().await, 0, "closed within the body of an answer");
        }
        let rest = self.unread.split_off(length);
        answer.body = String::from_utf8(std::mem::replace(&mut self.unread, rest)).unwrap();
        answer
    }

    /// Reads the head of an answer.
    pub(crate) async fn head(&mut self) -> String {
        let end = loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                break end;
            }
            assert_ne!(self.read().await, 0, "closed within the head of an answer");
        };
        let rest = self.unread.split_off(end + 4);
        String::from_utf8(std::mem::replace(&mut self.unread, rest)).unwrap()
    }

    /// Waits until the server closes the connection, and gives what came before.
    pub(crate) async fn closed(mut self) -> String {
        while self.read().await > 0 {}
        String::from_utf8(self.unread).unwrap()
    }

    async fn read(&mut self) -> usize {
        // A reset is as good an end as any for a test of being cut off.
        bounded(self.socket.read_buf(&mut self.unread)).await.unwrap_or(0)
    }
}

/// Awaits, but not for ever.
pub(crate) async fn bounded<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(BOUND, future).await.expect("took too long")
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
