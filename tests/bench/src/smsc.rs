//! A network that takes so many messages a second, and notes when it was given those of interest.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use sms_smpp::pdu::{self, BindResp, Body, Pdu};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::Failed;

/// An SMSC on loopback. Dropping it closes its connections.
pub(crate) struct Smsc {
    pub(crate) addr: SocketAddr,
    taken: Arc<Mutex<Taken>>,
    _listening: JoinSet<()>,
}

/// What arrived.
pub(crate) struct Taken {
    /// All messages.
    pub(crate) count: usize,
    /// When messages whose body starts with the mark arrived first, by the number that follows it.
    pub(crate) marked: HashMap<usize, Instant>,
    mark: &'static str,
    /// The pause between the answers to two messages, and when the next one is given.
    pause: Duration,
    next_answer: Instant,
}

impl Taken {
    /// Notes a message that arrives now; when it is answered.
    fn add(&mut self, octets: &[u8]) -> Instant {
        let now = Instant::now();
        self.count += 1;
        let body = std::str::from_utf8(octets).unwrap_or_default();
        let number = body.strip_prefix(self.mark).and_then(|rest| rest.split(' ').next());
        if let Some(Ok(number)) = number.map(str::parse) {
            self.marked.entry(number).or_insert(now);
        }
        self.next_answer = now.max(self.next_answer + self.pause);
        self.next_answer
    }
}

impl Smsc {
    /// Answers `per_second` messages a second over all connections, in turn. Notes those whose body
    /// is `mark`, a number, a space and more.
    pub(crate) async fn start(per_second: u32, mark: &'static str) -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let taken = Arc::new(Mutex::new(Taken {
            count: 0,
            marked: HashMap::new(),
            mark,
            pause: Duration::from_secs(1) / per_second,
            next_answer: Instant::now(),
        }));
        let shared = Arc::clone(&taken);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (reader, writer) = stream.into_split();
                let (tell, told) = mpsc::unbounded_channel();
                connections.spawn(answer(writer, told));
                connections.spawn(serve(reader, Arc::clone(&shared), tell));
            }
        });
        Ok(Self { addr, taken, _listening: listening })
    }

    pub(crate) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads requests until the connection ends.
async fn serve(
    mut reader: OwnedReadHalf,
    taken: Arc<Mutex<Taken>>,
    tell: mpsc::UnboundedSender<(Instant, Pdu)>,
) {
    let mut unread = BytesMut::new();
    loop {
        while let Ok(Some(length)) = pdu::length(&unread)
            && length <= unread.len()
        {
            let Ok(Pdu { sequence, body, .. }) = pdu::read(unread.split_to(length).freeze()) else {
                return;
            };
            let (at, answer) = match body {
                Body::SubmitSm(message) => {
                    let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                    let at = taken.add(message.octets());
                    (at, Body::SubmitSmResp { message_id: format!("{:x}", taken.count) })
                }
                Body::Bind(mode, _) => (Instant::now(), Body::BindResp(mode, BindResp::default())),
                Body::EnquireLink => (Instant::now(), Body::EnquireLinkResp),
                Body::Unbind => (Instant::now(), Body::UnbindResp),
                _ => continue,
            };
            if tell.send((at, Pdu::answer(sequence, answer))).is_err() {
                return;
            }
        }
        if reader.read_buf(&mut unread).await.unwrap_or(0) == 0 {
            return;
        }
    }
}

/// Writes each answer when it is due.
async fn answer(mut writer: OwnedWriteHalf, mut told: mpsc::UnboundedReceiver<(Instant, Pdu)>) {
    while let Some((at, answer)) = told.recv().await {
        sleep_until(at).await;
        let mut octets = BytesMut::new();
        pdu::write(&answer, &mut octets);
        if writer.write_all(&octets).await.is_err() {
            return;
        }
    }
}
