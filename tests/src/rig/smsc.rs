//! An SMSC in the rig's own process: it accepts everything, after a set time, and counts what it
//! got.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sms_core::phone::E164;
use sms_smpp::pdu::{self, BindResp, Body, Pdu, ShortMessage};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// The SMSC. Dropping it closes its connections.
#[derive(Debug)]
pub(super) struct CountingSmsc {
    pub(super) addr: SocketAddr,
    counts: Arc<Mutex<Counts>>,
    _listening: JoinSet<()>,
}

/// A recipient and a body: each message of the rig has others.
pub(super) type Words = (u64, String);

/// What arrived.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// How often each message arrived.
    pub(super) times: HashMap<Words, usize>,
    /// How many `submit_sm`s arrived in all.
    pub(super) submits: usize,
    /// When the last one did.
    pub(super) last: Option<Instant>,
}

impl Counts {
    fn add(&mut self, message: &ShortMessage) {
        let to = message.destination.to_number().map_or(0, E164::digits);
        let body = String::from_utf8_lossy(message.octets()).into_owned();
        *self.times.entry((to, body)).or_default() += 1;
        self.submits += 1;
        self.last = Some(Instant::now());
    }
}

impl CountingSmsc {
    /// Listens on a free port, and answers each `submit_sm` after this time.
    pub(super) async fn start(answers_after: Duration) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let counts: Arc<Mutex<Counts>> = Arc::default();
        let shared = Arc::clone(&counts);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (reader, writer) = stream.into_split();
                let (tell, told) = mpsc::unbounded_channel();
                connections.spawn(answer(writer, told));
                connections.spawn(serve(reader, Arc::clone(&shared), tell, answers_after));
            }
        });
        Ok(Self { addr, counts, _listening: listening })
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads requests until the connection ends.
async fn serve(
    mut reader: OwnedReadHalf,
    counts: Arc<Mutex<Counts>>,
    tell: mpsc::UnboundedSender<(Instant, Pdu)>,
    answers_after: Duration,
) {
    let mut unread = bytes::BytesMut::new();
    loop {
        while let Ok(Some(length)) = pdu::length(&unread)
            && length <= unread.len()
        {
            let Ok(Pdu { sequence, body, .. }) = pdu::read(unread.split_to(length).freeze()) else {
                return;
            };
            let now = Instant::now();
            let (at, answer) = match body {
                Body::SubmitSm(message) => {
                    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                    counts.add(&message);
                    let message_id = format!("{:x}", counts.submits);
                    (now + answers_after, Body::SubmitSmResp { message_id })
                }
                Body::Bind(mode, _) => (now, Body::BindResp(mode, BindResp::default())),
                Body::EnquireLink => (now, Body::EnquireLinkResp),
                Body::Unbind => (now, Body::UnbindResp),
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

/// Writes answers when they are due, all that are due together.
async fn answer(mut writer: OwnedWriteHalf, mut told: mpsc::UnboundedReceiver<(Instant, Pdu)>) {
    let mut taken = Vec::new();
    while told.recv_many(&mut taken, 64).await > 0 {
        let mut octets = bytes::BytesMut::new();
        for (at, answer) in taken.drain(..) {
            if at > Instant::now() {
                if writer.write_all(&octets.split()).await.is_err() {
                    return;
                }
                sleep_until(at).await;
            }
            pdu::write(&answer, &mut octets);
        }
        if writer.write_all(&octets).await.is_err() {
            return;
        }
    }
}
