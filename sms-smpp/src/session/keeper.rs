//! The task that owns a bound connection.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::handshake::FIRST;
use super::window::Window;
use super::{Answer, Arrival, Ended, Request, Settings, Submitted};
use crate::pdu::{self, Body, Pdu, Status};

/// Octets that may wait to be written before no more texts are taken up.
const UNWRITTEN: usize = 64 * 1024;

/// What the task has.
pub(super) struct Keeper<S> {
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    settings: Settings,
    window: Window,
    /// Read and not yet understood.
    unread: BytesMut,
    /// To be written.
    unwritten: BytesMut,
    /// Octets written since the bind.
    written: u64,
    arrivals: mpsc::Sender<Arrival>,
    answers: mpsc::UnboundedSender<(u32, Status)>,
    answered: mpsc::UnboundedReceiver<(u32, Status)>,
    /// When something last came.
    heard_at: Instant,
    /// When the sign of life that was asked for has to be there.
    sign_due: Option<Instant>,
    stage: Stage,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not begun.
    Open,
    /// No more texts; those on their way are waited for.
    Draining {
        /// For no longer than this.
        until: Instant,
    },
    /// `unbind` was sent.
    Unbinding {
        /// Its answer has to be there by then.
        until: Instant,
    },
}

/// Waits until the end is asked for, or nobody is left who could.
async fn asked(unbinding: &mut watch::Receiver<bool>) {
    let _ = unbinding.wait_for(|asked| *asked).await;
}

impl<S: AsyncRead + AsyncWrite + Unpin> Keeper<S> {
    pub(super) fn new(
        stream: S,
        settings: Settings,
        unread: BytesMut,
        arrivals: mpsc::Sender<Arrival>,
    ) -> Self {
        let (reader, writer) = split(stream);
        let (answers, answered) = mpsc::unbounded_channel();
        let window = Window::after(FIRST, settings.window);
        Self {
            reader,
            writer,
            settings,
            window,
            unread,
            unwritten: BytesMut::new(),
            written: 0,
            arrivals,
            answers,
            answered,
            heard_at: Instant::now(),
            sign_due: None,
            stage: Stage::Open,
        }
    }

    /// Keeps the session until it is over, and tells all that wait what became of their texts.
    pub(super) async fn keep(
        mut self,
        mut requests: mpsc::Receiver<Request>,
        mut unbinding: watch::Receiver<bool>,
    ) -> Ended {
        let end = self.turns(&mut requests, &mut unbinding).await;
        // What was not taken up has certainly not left.
        requests.close();
        while let Ok(request) = requests.try_recv() {
            let _ = request.tell.send(Submitted::NotWritten);
        }
        self.window.give_up(self.written);
        end
    }

    async fn turns(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        unbinding: &mut watch::Receiver<bool>,
    ) -> Ended {
        let mut taken = Vec::new();
        // What came together with the answer to the bind.
        if let Err(end) = self.understand() {
            return end;
        }
        loop {
            if let Some(end) = self.advance() {
                return end;
            }
            let room = if self.unwritten.len() < UNWRITTEN { self.window.free() } else { 0 };
            let is_open = self.stage == Stage::Open;
            let alarm = self.alarm();
            tokio::select! {
                read = self.reader.read_buf(&mut self.unread) => match read {
                    Ok(1..) => {
                        self.heard_at = Instant::now();
                        self.sign_due = None;
                        if let Err(end) = self.understand() {
                            self.flush().await;
                            return end;
                        }
                    }
                    _ => return Ended::Lost,
                },
                wrote = self.writer.write_buf(&mut self.unwritten), if !self.unwritten.is_empty() =>
                    match wrote {
                        Ok(count @ 1..) => self.written += count as u64,
                        _ => return Ended::Lost,
                    },
                count = requests.recv_many(&mut taken, room), if is_open && room > 0 => {
                    if count == 0 {
                        self.begin_to_end();
                    }
                    self.submit(&mut taken);
                }
                Some((sequence, status)) = self.answered.recv() => {
                    self.write(&Pdu { status, sequence, body: Body::DeliverSmResp });
                }
                () = asked(unbinding), if is_open => {
                    self.begin_to_end();
                    requests.close();
                    while let Ok(request) = requests.try_recv() {
                        let _ = request.tell.send(Submitted::NotWritten);
                    }
                }
                () = sleep_until(alarm) => {}
            }
        }
    }

    /// The next moment at which something has to be done although nothing happens.
    fn alarm(&mut self) -> Instant {
        let end = match self.stage {
            Stage::Open => None,
            Stage::Draining { until } | Stage::Unbinding { until } => Some(until),
        };
        let life = self.sign_due.unwrap_or(self.heard_at + self.settings.idle);
        [self.window.deadline(), end].into_iter().flatten().fold(life, Instant::min)
    }

    /// Does what is due; says if it is over.
    fn advance(&mut self) -> Option<Ended> {
        let now = Instant::now();
        if self.window.deadline().is_some_and(|deadline| deadline <= now)
            || self.sign_due.is_some_and(|due| due <= now)
        {
            return Some(Ended::Silent);
        }
        match self.stage {
            Stage::Draining { until } if self.window.is_empty() || until <= now => {
                let sequence = self.window.number();
                self.write(&Pdu::request(sequence, Body::Unbind));
                self.stage = Stage::Unbinding { until: now + self.settings.patience };
            }
            Stage::Unbinding { until } if until <= now => return Some(Ended::Silent),
            _ => {}
        }
        if self.sign_due.is_none() && self.heard_at + self.settings.idle <= now {
            let sequence = self.window.number();
            self.write(&Pdu::request(sequence, Body::EnquireLink));
            self.sign_due = Some(now + self.settings.patience);
        }
        None
    }

    fn begin_to_end(&mut self) {
        let until = Instant::now() + self.settings.patience;
        self.stage = Stage::Draining { until };
    }

    fn submit(&mut self, taken: &mut Vec<Request>) {
        let deadline = Instant::now() + self.settings.patience;
        for Request { message, tell } in taken.drain(..) {
            let sequence = self.window.number();
            let begins_at = self.written + self.unwritten.len() as u64;
            self.write(&Pdu::request(sequence, Body::SubmitSm(message)));
            self.window.wait(sequence, tell, begins_at, deadline);
        }
    }

    fn write(&mut self, pdu: &Pdu) {
        pdu::write(pdu, &mut self.unwritten);
    }

    /// Last words, if the peer takes them at once.
    async fn flush(&mut self) {
        let last = self.writer.write_all_buf(&mut self.unwritten);
        let _ = tokio::time::timeout(Duration::from_secs(1), last).await;
    }

    /// Reads every whole unit that has come.
    fn understand(&mut self) -> Result<(), Ended> {
        loop {
            let length = pdu::length(&self.unread).map_err(|_| Ended::OutOfStep)?;
            let Some(length) = length.filter(|length| *length <= self.unread.len()) else {
                return Ok(());
            };
            let frame: Bytes = self.unread.split_to(length).freeze();
            match pdu::read(frame) {
                Ok(pdu) => self.heed(pdu)?,
                Err(malformed) => {
                    // An answer for what can be named: the peer need not wait for one.
                    let body = match malformed.command {
                        pdu::CommandId::DELIVER_SM => Body::DeliverSmResp,
                        _ => Body::GenericNack,
                    };
                    tracing::warn!(command = ?malformed.command, "a PDU that cannot be read");
                    let sequence = malformed.sequence;
                    self.write(&Pdu::refusal(Status::INVALID_LENGTH, sequence, body));
                }
            }
        }
    }

    fn heed(&mut self, pdu: Pdu) -> Result<(), Ended> {
        let Pdu { status, sequence, body } = pdu;
        match body {
            Body::SubmitSmResp { message_id } if status.is_ok() => {
                self.window.answer(sequence, Submitted::Accepted { id: message_id });
            }
            Body::SubmitSmResp { .. } | Body::GenericNack => {
                self.window.answer(sequence, Submitted::Refused(status));
            }
            Body::DeliverSm(message) => self.arrived(sequence, *message),
            Body::EnquireLink => self.write(&Pdu::answer(sequence, Body::EnquireLinkResp)),
            Body::Unbind => {
                self.write(&Pdu::answer(sequence, Body::UnbindResp));
                return Err(Ended::ByPeer);
            }
            Body::UnbindResp => return Err(Ended::ByUs),
            // Any answer is a sign of life.
            Body::EnquireLinkResp | Body::DeliverSmResp | Body::BindResp(..) => {}
            Body::Other(command) if command.is_answer() => {}
            Body::Bind(..) | Body::SubmitSm(_) | Body::Other(_) => {
                let refusal = Pdu::refusal(Status::INVALID_COMMAND, sequence, Body::GenericNack);
                self.write(&refusal);
            }
        }
        Ok(())
    }

    fn arrived(&mut self, sequence: u32, message: crate::pdu::ShortMessage) {
        let answer = Answer { sequence, answers: self.answers.clone(), is_given: false };
        match self.arrivals.try_send(Arrival { message, answer }) {
            Ok(()) => {}
            // Dropped, its answer asks for it again later.
            Err(TrySendError::Full(arrival) | TrySendError::Closed(arrival)) => drop(arrival),
        }
    }
}
