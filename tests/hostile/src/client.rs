//! An HTTP client whose every byte the rig chooses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How long a client waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Where strangers come from: all of 127.0.0.0/8 is loopback.
const STRANGER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 0));

/// A keep-alive connection.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body, where it is JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(addr: SocketAddr) -> io::Result<Self> {
        let stream = within(TcpStream::connect(addr)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Connects from another address than customers do.
    pub(crate) async fn open_as_stranger(addr: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(STRANGER)?;
        let stream = within(socket.connect(addr)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        within(self.stream.write_all(bytes)).await
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.write(request).await?;
        within(self.answer()).await
    }

    /// Reads a whole answer, whose length the server tells.
    pub(crate) async fn answer(&mut self) -> io::Result<Answer> {
        loop {
            if let Some((answer, length)) = whole(&self.buffer) {
                self.buffer.drain(..length);
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads up to so many bytes that came; 0 at the end.
    pub(crate) async fn read_some(&mut self, most: usize) -> io::Result<usize> {
        let mut bytes = vec![0; most];
        self.stream.read(&mut bytes).await
    }
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn whole(buffer: &[u8]) -> Option<(Answer, usize)> {
    let head_end = buffer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer { status, head, body: Vec::new() };
    let length = answer.header("content-length").and_then(|length| length.parse().ok());
    let start = head_end + 4;
    let end = start + length.unwrap_or(0);
    let body = buffer.get(start..end)?;
    answer.body = body.to_vec();
    Some((answer, end))
}

/// The bytes of a request with a key and, unless it is null, a JSON body.
pub(crate) fn request(method: &str, path: &str, key: &str, body: &Value) -> Vec<u8> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    request_with(method, path, key, &body)
}

/// The bytes of a request whose body is text already.
pub(crate) fn request_with(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let mut bytes = head(method, path, key, body.len());
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// The head of a request whose body has so many bytes.
pub(crate) fn head(method: &str, path: &str, key: &str, length: usize) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes()
}
