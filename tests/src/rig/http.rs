//! Requests as bytes, so that they can be cut off anywhere, and the reading of heads.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How long a client waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(6);
/// How long the rig waits where an answer has to come, however busy the machine is.
const LONG_PATIENCE: Duration = Duration::from_mins(1);

/// A whole answer.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// In how many seconds to try again, as the answer says.
    pub(super) retry_after: Option<u64>,
    pub(super) body: Value,
    /// The body as it came, for what is no JSON.
    pub(super) text: String,
}

/// The bytes of a request on a connection of its own.
pub(super) fn request(
    (method, path): (&str, &str),
    token: &str,
    more_headers: &str,
    body: &Value,
) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: rig\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n{more_headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends a request; `None` when no whole answer came.
pub(super) async fn ask(addr: SocketAddr, request: &[u8]) -> Option<Answer> {
    timeout(PATIENCE, answered(addr, request)).await.ok()?
}

/// The answer that has to come; `None` when no whole one did.
pub(super) async fn ask_patiently(addr: SocketAddr, request: &[u8]) -> Option<Answer> {
    timeout(LONG_PATIENCE, answered(addr, request)).await.ok()?
}

async fn answered(addr: SocketAddr, request: &[u8]) -> Option<Answer> {
    let mut socket = TcpStream::connect(addr).await.ok()?;
    socket.write_all(request).await.ok()?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes).await.ok()?;
    let head = Head::read(&bytes)?;
    let body = &bytes[head.length..];
    // An answer that broke off is none. Pages of text may come in pieces of unknown length.
    let is_whole = head.body_length().is_none_or(|length| body.len() == length);
    let status = head.text.split(' ').nth(1)?.parse().ok()?;
    let text = String::from_utf8_lossy(body).into_owned();
    let retry_after = head.header("retry-after").and_then(|seconds| seconds.parse().ok());
    let body = serde_json::from_str(&text).unwrap_or_default();
    is_whole.then_some(Answer { status, retry_after, body, text })
}

/// Sends the first `bytes` of a request, waits a while, and hangs up without reading.
pub(super) async fn hang_up(addr: SocketAddr, request: &[u8], bytes: usize, wait: Duration) {
    let Ok(mut socket) = TcpStream::connect(addr).await else { return };
    let sent = socket.write_all(&request[..bytes.min(request.len())]).await;
    if sent.is_ok() {
        sleep(wait).await;
    }
}

/// The head of a request or an answer, and how many bytes it took.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) text: String,
    pub(super) length: usize,
}

impl Head {
    /// The head at the start of `bytes`, if it is whole.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        Some(Self { text, length: end + 4 })
    }

    /// The value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The length of what follows, if it is told.
    pub(super) fn body_length(&self) -> Option<usize> {
        self.header("content-length")?.parse().ok()
    }
}
