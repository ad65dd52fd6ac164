//! Load over HTTP: keep-alive connections in a closed loop, each with one request under way.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Failed;

/// What a load saw.
pub(crate) struct Driven {
    /// Requests answered as they should be.
    pub(crate) answered: usize,
    /// From the first request to the last answer.
    pub(crate) took: Duration,
    /// The time of each answer, sorted.
    pub(crate) latencies: Vec<Duration>,
}

impl Driven {
    /// Answers a second.
    pub(crate) fn per_second(&self) -> f64 {
        self.answered as f64 / self.took.as_secs_f64()
    }

    /// The time that this share of answers stayed within.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        self.latencies.get(index).copied().unwrap_or_default()
    }
}

/// One connection's requests: the same bytes again and again, but for their keys.
pub(crate) struct Load {
    /// Head and body.
    pub(crate) request: Vec<u8>,
    /// The status that is right.
    pub(crate) status: &'static str,
    pub(crate) keys: Keys,
    /// The beginning of each key: no other connection of the measurement has it.
    pub(crate) name: String,
}

/// Which requests carry an `Idempotency-Key`, each one of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    Each,
    OneInTen,
}

impl Load {
    /// Requests without keys.
    pub(crate) fn keyless(request: Vec<u8>, status: &'static str) -> Self {
        Self { request, status, keys: Keys::None, name: String::new() }
    }

    /// The request of this place.
    fn at(&self, place: usize) -> Cow<'_, [u8]> {
        let is_keyed = match self.keys {
            Keys::None => false,
            Keys::Each => true,
            Keys::OneInTen => place.is_multiple_of(10),
        };
        let Some(head_end) = find(&self.request, b"\r\n\r\n").filter(|_| is_keyed) else {
            return Cow::Borrowed(&self.request);
        };
        let key = format!("\r\nIdempotency-Key: {}-{place}", self.name);
        let (head, rest) = self.request.split_at(head_end);
        Cow::Owned([head, key.as_bytes(), rest].concat())
    }
}

/// A `POST` with a key and a JSON body.
pub(crate) fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    request("POST", path, key, body)
}

/// A request with a key and a JSON body.
pub(crate) fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Drives every load over a connection of its own for some time.
pub(crate) async fn drive(
    addr: SocketAddr,
    loads: Vec<Load>,
    during: Duration,
) -> Result<Driven, Failed> {
    let started = Instant::now();
    let until = started + during;
    let mut clients = JoinSet::new();
    for load in loads {
        clients.spawn(client(addr, load, until));
    }
    let mut latencies = Vec::new();
    while let Some(done) = clients.join_next().await {
        latencies.extend(done??);
    }
    let took = started.elapsed();
    latencies.sort_unstable();
    Ok(Driven { answered: latencies.len(), took, latencies })
}

async fn client(addr: SocketAddr, load: Load, until: Instant) -> Result<Vec<Duration>, Failed> {
    let mut connection = Connection::open(addr).await?;
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let asked = Instant::now();
        let answer = connection.ask(&load.at(latencies.len())).await?;
        if answer.status != load.status {
            return Err(format!("answer {}: {}", answer.status, answer.body).into());
        }
        latencies.push(asked.elapsed());
    }
    Ok(latencies)
}

/// One keep-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer, whole.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) async fn open(addr: SocketAddr) -> Result<Self, Failed> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and reads its answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Answer, Failed> {
        self.stream.write_all(request).await?;
        loop {
            if let Some((answer, used)) = whole_answer(&self.buffer)? {
                self.buffer.drain(..used);
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed a connection".into());
            }
        }
    }
}

/// The first answer in the buffer, if it is there whole, and its length.
fn whole_answer(buffer: &[u8]) -> Result<Option<(Answer, usize)>, Failed> {
    let Some(head_end) = find(buffer, b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&buffer[..head_end])?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
    });
    let length = length.ok_or("an answer without Content-Length")??;
    let end = head_end + 4 + length;
    if buffer.len() < end {
        return Ok(None);
    }
    let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = String::from_utf8_lossy(&buffer[head_end + 4..end]).into_owned();
    Ok(Some((Answer { status, body }, end)))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
