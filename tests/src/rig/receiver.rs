//! The receiver of webhooks: endpoints that always, sometimes or never answer.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::http::Head;
use crate::simulation::dice::Dice;

/// How long an endpoint delays an answer: longer than the sender waits.
const HANG: Duration = Duration::from_millis(1_500);

/// How an endpoint answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temper {
    /// Accepts everything.
    Steady,
    /// Sometimes refuses, hangs up or does not answer.
    Moody,
    /// Refuses everything.
    Dead,
}

impl Temper {
    /// The name in the endpoint's path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Moody => "moody",
            Self::Dead => "dead",
        }
    }
}

/// How often each delivery was accepted, by its id.
type Taken = Arc<Mutex<BTreeMap<String, u32>>>;

/// Listens until it is dropped with its runtime.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) addr: SocketAddr,
    taken: Taken,
}

#[derive(Debug, Clone, Copy)]
enum Reaction {
    Take,
    Refuse,
    HangUp,
    Hang,
}

impl Receiver {
    /// Starts to listen.
    pub(super) async fn start(mut dice: Dice) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let taken = Taken::default();
        let shared = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(converse(socket, Arc::clone(&shared), dice.fork()));
            }
        });
        Ok(Self { addr, taken })
    }

    /// How often each delivery was accepted so far.
    pub(super) fn taken(&self) -> BTreeMap<String, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(mut socket: TcpStream, taken: Taken, mut dice: Dice) {
    let mut bytes = Vec::new();
    loop {
        let head = loop {
            if let Some(head) = Head::read(&bytes) {
                break head;
            }
            if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        };
        let end = head.length + head.body_length().unwrap_or_default();
        while bytes.len() < end {
            if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        }
        bytes.drain(..end);
        let reaction = react(&head.text, &mut dice);
        let answer: &[u8] = match reaction {
            Reaction::Take => {
                // Recorded before the answer, so that every acceptance that a server saw is here.
                if let Some(id) = head.header("x-connect-delivery") {
                    let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                    *taken.entry(id.to_owned()).or_default() += 1;
                }
                b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            }
            Reaction::Refuse => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            Reaction::HangUp => return,
            Reaction::Hang => {
                sleep(HANG).await;
                return;
            }
        };
        if socket.write_all(answer).await.is_err() {
            return;
        }
    }
}

fn react(head: &str, dice: &mut Dice) -> Reaction {
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.ends_with(Temper::Dead.name()) {
        return Reaction::Refuse;
    }
    if path.ends_with(Temper::Moody.name()) {
        return dice.weighted(&[
            (85, Reaction::Take),
            (8, Reaction::Refuse),
            (4, Reaction::HangUp),
            (3, Reaction::Hang),
        ]);
    }
    Reaction::Take
}
