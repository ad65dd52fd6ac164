//! A scripted SMSC for tests over real sockets.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use rustls::ServerConfig;
use sms_test_smsc::password;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::pdu::{self, BindMode, BindResp, Body, Pdu, ShortMessage, Status};
use crate::settings::RouteSettings;

/// How the peer answers the next `submit_sm`s, in order. After the script it accepts all.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Say {
    Accept,
    /// Accepts it with this message id.
    As(&'static str),
    Refuse(Status),
    /// Accepts it when it is [told to](Peer::answer_next).
    Wait,
    /// Closes the connection instead.
    HangUp,
}

/// A peer that listens on a free port.
pub(crate) struct Peer {
    pub(crate) port: u16,
    known: Arc<Known>,
    delivers: broadcast::Sender<Pdu>,
    _listening: JoinSet<()>,
}

#[derive(Default)]
struct Known {
    script: Mutex<VecDeque<Say>>,
    messages: Mutex<Vec<ShortMessage>>,
    /// How many `submit_sm`s each connection sent, in the order of the connections.
    shares: Mutex<Vec<Arc<AtomicUsize>>>,
    binds: Mutex<Vec<BindMode>>,
    answers: Mutex<Vec<(u32, Status)>>,
    /// The `submit_sm`s that wait for an answer.
    unanswered: Mutex<VecDeque<u32>>,
}

impl Peer {
    pub(crate) async fn start(script: &[Say]) -> Self {
        Self::start_with(script, None).await
    }

    /// A peer that accepts TLS connections.
    pub(crate) async fn start_over_tls(config: Arc<ServerConfig>) -> Self {
        Self::start_with(&[], Some(TlsAcceptor::from(config))).await
    }

    async fn start_with(script: &[Say], tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let known = Arc::new(Known::default());
        known.script.lock().unwrap().extend(script);
        let delivers = broadcast::Sender::new(100);
        let mut listening = JoinSet::new();
        let (shared, all) = (Arc::clone(&known), delivers.clone());
        listening.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let share = Arc::new(AtomicUsize::new(0));
                shared.shares.lock().unwrap().push(Arc::clone(&share));
                let (shared, delivers) = (Arc::clone(&shared), all.subscribe());
                let tls = tls.clone();
                connections.spawn(async move {
                    match tls {
                        None => serve(stream, shared, share, delivers).await,
                        Some(tls) => {
                            // The other side asserts how a handshake fails.
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, shared, share, delivers).await;
                            }
                        }
                    }
                });
            }
        });
        Self { port, known, delivers, _listening: listening }
    }

    /// The settings of a route to it.
    pub(crate) fn settings(&self) -> RouteSettings {
        settings_of(self.port)
    }

    /// The `submit_sm`s that it received.
    pub(crate) fn messages(&self) -> Vec<ShortMessage> {
        self.known.messages.lock().unwrap().clone()
    }

    /// How many `submit_sm`s each connection sent.
    pub(crate) fn shares(&self) -> Vec<usize> {
        let shares = self.known.shares.lock().unwrap();
        shares.iter().map(|share| share.load(Ordering::SeqCst)).collect()
    }

    pub(crate) fn binds(&self) -> Vec<BindMode> {
        self.known.binds.lock().unwrap().clone()
    }

    /// Sends a `deliver_sm` with this sequence number on every connection.
    pub(crate) fn deliver(&self, sequence: u32, message: ShortMessage) {
        self.delivers.send(Pdu::request(sequence, Body::DeliverSm(Box::new(message)))).unwrap();
    }

    /// Accepts the first `submit_sm` that waits for an answer.
    pub(crate) fn answer_next(&self) {
        let sequence = self.known.unanswered.lock().unwrap().pop_front().unwrap();
        let message_id = sequence.to_string();
        self.delivers.send(Pdu::answer(sequence, Body::SubmitSmResp { message_id })).unwrap();
    }

    /// Waits for the response to the `deliver_sm` with this sequence number.
    pub(crate) async fn answer_to(&self, sequence: u32) -> Status {
        let mut answer = None;
        until(|| {
            let answers = self.known.answers.lock().unwrap();
            let found = answers.iter().find(|(number, _)| *number == sequence);
            answer = found.map(|(_, status)| *status);
            answer.is_some()
        })
        .await;
        answer.unwrap()
    }
}

/// Waits until a condition holds; fails after a while.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    sms_test_smsc::until("something to hold", async || holds().then_some(())).await;
}

/// The settings of a route to a port of this machine.
pub(crate) fn settings_of(port: u16) -> RouteSettings {
    settings_at(&format!("smpp://example@127.0.0.1:{port}"))
}

/// The settings of a route to this address.
pub(crate) fn settings_at(url: &str) -> RouteSettings {
    RouteSettings::new(url, password()).unwrap()
}

/// The next PDU; `None` at the end of the stream. Cancel-safe.
pub(crate) async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    unread: &mut BytesMut,
) -> Option<Pdu> {
    loop {
        let length = pdu::length(unread).unwrap();
        if let Some(length) = length.filter(|length| *length <= unread.len()) {
            return Some(pdu::read(unread.split_to(length).freeze()).unwrap());
        }
        if stream.read_buf(unread).await.unwrap_or(0) == 0 {
            return None;
        }
    }
}

pub(crate) async fn write<S: AsyncWrite + Unpin>(stream: &mut S, pdu: &Pdu) -> std::io::Result<()> {
    let mut octets = BytesMut::new();
    pdu::write(pdu, &mut octets);
    stream.write_all(&octets).await?;
    stream.flush().await
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    known: Arc<Known>,
    share: Arc<AtomicUsize>,
    mut delivers: broadcast::Receiver<Pdu>,
) {
    let mut unread = BytesMut::new();
    loop {
        let Pdu { sequence, status, body } = tokio::select! {
            asked = read(&mut stream, &mut unread) => match asked {
                Some(asked) => asked,
                None => return,
            },
            Ok(deliver) = delivers.recv() => {
                if write(&mut stream, &deliver).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let answer = match body {
            Body::Bind(mode, _) => {
                known.binds.lock().unwrap().push(mode);
                Pdu::answer(sequence, Body::BindResp(mode, BindResp::default()))
            }
            Body::SubmitSm(text) => {
                share.fetch_add(1, Ordering::SeqCst);
                let number = {
                    let mut messages = known.messages.lock().unwrap();
                    messages.push(*text);
                    messages.len() - 1
                };
                let accepted = |message_id| Body::SubmitSmResp { message_id };
                match known.script.lock().unwrap().pop_front().unwrap_or(Say::Accept) {
                    Say::Accept => Pdu::answer(sequence, accepted(number.to_string())),
                    Say::As(id) => Pdu::answer(sequence, accepted(id.to_owned())),
                    Say::Refuse(status) => Pdu::refusal(status, sequence, accepted(String::new())),
                    Say::Wait => {
                        known.unanswered.lock().unwrap().push_back(sequence);
                        continue;
                    }
                    Say::HangUp => return,
                }
            }
            Body::DeliverSmResp => {
                known.answers.lock().unwrap().push((sequence, status));
                continue;
            }
            Body::EnquireLink => Pdu::answer(sequence, Body::EnquireLinkResp),
            Body::Unbind => Pdu::answer(sequence, Body::UnbindResp),
            _ => continue,
        };
        if write(&mut stream, &answer).await.is_err() {
            return;
        }
    }
}
