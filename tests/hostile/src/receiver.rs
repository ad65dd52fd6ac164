//! A receiver of webhooks that counts, and may say that it has enough.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::failed::Failed;

/// Listens until its runtime ends.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) addr: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    accepted: AtomicU64,
    refused: AtomicU64,
    refuses: AtomicBool,
}

impl Receiver {
    /// Starts to listen, and accepts everything.
    pub(crate) async fn start() -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(converse(socket, Arc::clone(&shared)));
            }
        });
        Ok(Self { addr, state })
    }

    /// From now on answers 429, or accepts again.
    pub(crate) fn refuse(&self, refuses: Refuses) {
        self.state.refuses.store(refuses == Refuses::Everything, Ordering::Relaxed);
    }

    /// How many deliveries it accepted.
    pub(crate) fn accepted(&self) -> u64 {
        self.state.accepted.load(Ordering::Relaxed)
    }

    /// How many deliveries it refused.
    pub(crate) fn refused(&self) -> u64 {
        self.state.refused.load(Ordering::Relaxed)
    }
}

/// What a receiver refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refuses {
    Everything,
    Nothing,
}

async fn converse(mut socket: TcpStream, state: Arc<State>) {
    let mut buffer = Vec::new();
    loop {
        let Some(length) = request_length(&buffer) else {
            match socket.read_buf(&mut buffer).await {
                Ok(1..) => continue,
                _ => return,
            }
        };
        buffer.drain(..length);
        let (count, answer): (_, &[u8]) = if state.refuses.load(Ordering::Relaxed) {
            (&state.refused, b"HTTP/1.1 429 Enough\r\nContent-Length: 0\r\n\r\n")
        } else {
            (&state.accepted, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        };
        count.fetch_add(1, Ordering::Relaxed);
        if socket.write_all(answer).await.is_err() {
            return;
        }
    }
}

/// The length of the first request in the buffer, if it is there whole.
fn request_length(buffer: &[u8]) -> Option<usize> {
    let head_end = buffer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&buffer[..head_end]);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    let end = head_end + length.unwrap_or(0);
    (buffer.len() >= end).then_some(end)
}
