//! The task that owns a bound connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::arrival::{Answer, Arrival};
use super::ended::Ended;
use super::handshake::FIRST;
use super::request::{Request, Submitted};
use super::settings::Settings;
use super::window::Window;
use crate::pdu::{self, Body, CommandId, Pdu, ShortMessage, Status};

/// How many octets to reserve before each read.
const READ: usize = 16 * 1024;
/// How many requests are accepted at a time.
const TAKEN: usize = 64;
/// The patience, divided by this, is how long a `deliver_sm` waits for room in the queue.
const ROOM: u32 = 3;
/// How long to keep writing or reading once the session is over.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The state of the task.
pub(super) struct Keeper<S> {
    reader: ReadHalf<S>,
    writer: WriteHalf<S>,
    settings: Settings,
    window: Window,
    slots: Arc<Semaphore>,
    /// Octets read, but not yet parsed.
    unread: BytesMut,
    /// Octets to be written.
    unwritten: BytesMut,
    /// How many octets were written since the bind.
    written: u64,
    /// Whether the stream may still buffer what was written, as TLS does.
    is_unflushed: bool,
    arrivals: mpsc::Sender<Arrival>,
    answers: mpsc::UnboundedSender<Pdu>,
    answered: mpsc::UnboundedReceiver<Pdu>,
    /// How many `deliver_sm`s are not answered yet.
    held: usize,
    /// The `deliver_sm` that the queue has no room for. Nothing is read meanwhile, so that the SMSC
    /// sends no faster than it is stored.
    waiting: Option<Arrival>,
    /// Since when the queue has had no room for one.
    full_since: Option<Instant>,
    /// When the SMSC last sent anything.
    heard_at: Instant,
    /// When the response to our `enquire_link` is due, if one was sent.
    sign_due: Option<Instant>,
    stage: Stage,
}

/// How far the session has come towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Neither side has asked to end it.
    Open,
    /// Accepts no more messages, and waits for outstanding responses in both directions.
    Draining {
        /// When to stop waiting.
        until: Instant,
        /// The sequence number of the SMSC's `unbind`, if the SMSC unbinds.
        asked_by_peer: Option<u32>,
    },
    /// `unbind` was sent, and nothing else will be.
    Unbinding {
        /// When to stop waiting for `unbind_resp`.
        until: Instant,
    },
}

/// Waits until the session is to end, or its last handle is dropped.
async fn asked(unbinding: &mut watch::Receiver<bool>) {
    let _ = unbinding.wait_for(|asked| *asked).await;
}

/// Waits until the queue has room, or its receiver is gone.
async fn room(arrivals: &mpsc::Sender<Arrival>) {
    let _ = arrivals.reserve().await;
}

/// What a call of [`push`] did.
enum Pushed {
    /// The stream accepted this many octets.
    Written(usize),
    /// The stream was flushed.
    Flushed,
}

/// Writes some octets, or flushes when there are none. Cancel-safe.
async fn push<W: AsyncWrite + Unpin>(
    writer: &mut W,
    unwritten: &mut BytesMut,
) -> std::io::Result<Pushed> {
    if unwritten.is_empty() {
        writer.flush().await.map(|()| Pushed::Flushed)
    } else {
        writer.write_buf(unwritten).await.map(Pushed::Written)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Keeper<S> {
    pub(super) fn new(
        stream: S,
        settings: Settings,
        unread: BytesMut,
        arrivals: mpsc::Sender<Arrival>,
        slots: Arc<Semaphore>,
    ) -> Self {
        let (reader, writer) = split(stream);
        let (answers, answered) = mpsc::unbounded_channel();
        Self {
            reader,
            writer,
            settings,
            window: Window::after(FIRST),
            slots,
            unread,
            unwritten: BytesMut::new(),
            written: 0,
            is_unflushed: false,
            arrivals,
            answers,
            answered,
            held: 0,
            waiting: None,
            full_since: None,
            heard_at: Instant::now(),
            sign_due: None,
            stage: Stage::Open,
        }
    }

    /// Drives the session until it is over, then answers every caller that still waits.
    pub(super) async fn keep(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut unbinding: watch::Receiver<bool>,
    ) -> Ended {
        let end = self.turns(&mut requests, &mut unbinding).await;
        // Requests still queued were certainly not sent.
        self.slots.close();
        requests.close();
        while let Some(request) = requests.recv().await {
            let _ = request.tell.send(Submitted::NotWritten);
        }
        self.window.give_up(self.written);
        end
    }

    async fn turns(
        &mut self,
        requests: &mut mpsc::UnboundedReceiver<Request>,
        unbinding: &mut watch::Receiver<bool>,
    ) -> Ended {
        let mut taken = Vec::new();
        loop {
            // Some PDUs came together with the bind response, others waited for room.
            if let Err(end) = self.understand() {
                self.say_last_words().await;
                return end;
            }
            if let Some(end) = self.advance() {
                self.say_last_words().await;
                return end;
            }
            let is_open = self.stage == Stage::Open;
            let is_reading = self.waiting.is_none();
            let is_written = self.unwritten.is_empty();
            let has_words = self.is_unflushed || !is_written;
            let alarm = self.alarm();
            self.unread.reserve(READ);
            tokio::select! {
                read = self.reader.read_buf(&mut self.unread), if is_reading => match read {
                    Ok(1..) => {
                        self.heard_at = Instant::now();
                        self.sign_due = None;
                    }
                    _ => return Ended::Lost,
                },
                () = room(&self.arrivals), if !is_reading => {}
                pushed = push(&mut self.writer, &mut self.unwritten), if has_words => match pushed {
                    Ok(Pushed::Written(count @ 1..)) => {
                        self.written += count as u64;
                        self.is_unflushed = true;
                    }
                    Ok(Pushed::Flushed) => self.is_unflushed = false,
                    _ => {
                        self.hear_last_words().await;
                        return Ended::Lost;
                    }
                },
                // What the stream does not take yet may become too old to be written.
                count = requests.recv_many(&mut taken, TAKEN), if is_open && is_written => {
                    if count == 0 {
                        self.begin_to_end(None);
                    }
                    self.submit(&mut taken);
                }
                Some(response) = self.answered.recv() => {
                    self.held = self.held.saturating_sub(1);
                    self.write(&response);
                }
                () = asked(unbinding), if is_open => self.begin_to_end(None),
                () = sleep_until(alarm) => {}
            }
            if self.stage != Stage::Open {
                while let Ok(request) = requests.try_recv() {
                    let _ = request.tell.send(Submitted::NotWritten);
                }
            }
        }
    }

    /// When the next timeout is due.
    fn alarm(&mut self) -> Instant {
        let end = match self.stage {
            Stage::Open => None,
            Stage::Draining { until, .. } | Stage::Unbinding { until } => Some(until),
        };
        let life = self.sign_due.unwrap_or(self.heard_at + self.settings.idle);
        let room = self.waiting.is_some().then(|| self.room_due()).flatten();
        [self.window.deadline(), end, room].into_iter().flatten().fold(life, Instant::min)
    }

    /// Until when a `deliver_sm` may wait for room, if the queue has none. A response to one of our
    /// requests may be behind it, and must be read in time.
    fn room_due(&mut self) -> Option<Instant> {
        let Settings { patience, .. } = self.settings;
        let due = self.full_since? + patience / ROOM;
        let rest = patience / ROOM * (ROOM - 1);
        let of_response = self.window.deadline().and_then(|deadline| deadline.checked_sub(rest));
        Some(of_response.map_or(due, |of_response| of_response.min(due)))
    }

    /// Does what is due now; returns how the session ended, if it has.
    fn advance(&mut self) -> Option<Ended> {
        let now = Instant::now();
        self.window.expire(now);
        if self.waiting.is_some() {
            // It is not the SMSC that is silent.
            self.heard_at = now;
        }
        if self.sign_due.is_some_and(|due| due <= now) {
            return Some(Ended::Silent);
        }
        match self.stage {
            Stage::Draining { until, asked_by_peer } => {
                if until <= now || (self.window.is_empty() && self.held == 0) {
                    if let Some(sequence) = asked_by_peer {
                        self.write(&Pdu::answer(sequence, Body::UnbindResp));
                        return Some(Ended::ByPeer);
                    }
                    let sequence = self.window.number();
                    self.write(&Pdu::request(sequence, Body::Unbind));
                    self.stage = Stage::Unbinding { until: now + self.settings.patience };
                }
            }
            Stage::Unbinding { until } if until <= now => return Some(Ended::Silent),
            Stage::Open | Stage::Unbinding { .. } => {}
        }
        if self.sign_due.is_none() && self.heard_at + self.settings.idle <= now {
            let sequence = self.window.number();
            self.write(&Pdu::request(sequence, Body::EnquireLink));
            self.sign_due = Some(now + self.settings.patience);
        }
        None
    }

    fn begin_to_end(&mut self, asked_by_peer: Option<u32>) {
        self.slots.close();
        let until = Instant::now() + self.settings.patience;
        self.stage = Stage::Draining { until, asked_by_peer };
    }

    fn submit(&mut self, taken: &mut Vec<Request>) {
        let deadline = Instant::now() + self.settings.patience;
        for Request { message, tell, heard, leave, place } in taken.drain(..) {
            if leave.is_over() {
                let _ = tell.send(Submitted::Withheld);
                continue;
            }
            let sequence = self.window.number();
            let begins_at = self.written + self.unwritten.len() as u64;
            self.write(&Pdu::request(sequence, Body::SubmitSm(message)));
            self.window.wait(sequence, (tell, heard, place), begins_at, deadline);
        }
    }

    fn write(&mut self, pdu: &Pdu) {
        pdu::write(pdu, &mut self.unwritten);
    }

    /// Tries to write what is left. From then on its messages may have been sent, so `written`
    /// counts it.
    async fn say_last_words(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.unwritten.is_empty() {
            match timeout_at(until, self.writer.write_buf(&mut self.unwritten)).await {
                Ok(Ok(count @ 1..)) => self.written += count as u64,
                _ => return,
            }
        }
        let _ = timeout_at(until, self.writer.flush()).await;
    }

    /// Reads what the SMSC sent before the connection broke: it may contain responses.
    async fn hear_last_words(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        loop {
            if self.understand().is_err() {
                return;
            }
            if self.waiting.take().is_some() {
                // It cannot be answered any more, and what follows it counts.
                continue;
            }
            self.unread.reserve(READ);
            let read = timeout_at(until, self.reader.read_buf(&mut self.unread)).await;
            if !matches!(read, Ok(Ok(1..))) {
                return;
            }
        }
    }

    /// Parses every complete PDU received so far, up to a `deliver_sm` that has to wait for room.
    fn understand(&mut self) -> Result<(), Ended> {
        if let Some(waiting) = self.waiting.take() {
            self.enqueue(waiting);
        }
        while self.waiting.is_none() {
            let length = pdu::length(&self.unread).map_err(|_| Ended::OutOfStep)?;
            let Some(length) = length.filter(|length| *length <= self.unread.len()) else {
                return Ok(());
            };
            let frame: Bytes = self.unread.split_to(length).freeze();
            match pdu::read(frame) {
                Ok(pdu) => self.heed(pdu)?,
                Err(malformed) => {
                    // The header is readable, so the SMSC gets a response at once.
                    let body = match malformed.command {
                        CommandId::DELIVER_SM => Body::DeliverSmResp,
                        CommandId::DATA_SM => Body::DataSmResp,
                        _ => Body::GenericNack,
                    };
                    tracing::warn!(command = ?malformed.command, "received a malformed PDU");
                    let sequence = malformed.sequence;
                    self.write(&Pdu::refusal(Status::INVALID_LENGTH, sequence, body));
                }
            }
        }
        Ok(())
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
            Body::DeliverSm(message) => self.arrived(sequence, *message, Body::DeliverSmResp),
            Body::DataSm(message) => self.arrived(sequence, *message, Body::DataSmResp),
            Body::EnquireLink => self.write(&Pdu::answer(sequence, Body::EnquireLinkResp)),
            // Responses to our requests may still follow it.
            Body::Unbind => self.begin_to_end(Some(sequence)),
            Body::UnbindResp => return Err(Ended::ByUs),
            // `heard_at` is already updated; there is nothing else to do.
            Body::EnquireLinkResp | Body::DeliverSmResp | Body::DataSmResp | Body::BindResp(..) => {
            }
            Body::Other(command) if command.is_answer() || command.wants_no_answer() => {}
            Body::Bind(..) | Body::SubmitSm(_) | Body::Other(_) => {
                let refusal = Pdu::refusal(Status::INVALID_COMMAND, sequence, Body::GenericNack);
                self.write(&refusal);
            }
        }
        Ok(())
    }

    fn arrived(&mut self, sequence: u32, message: ShortMessage, response: Body) {
        self.held += 1;
        let answers = self.answers.clone();
        let answer = Answer { sequence, response, answers, is_given: false };
        self.enqueue(Arrival { message, answer });
    }

    /// Queues a `deliver_sm`, or lets it wait for room. One that waits too long is refused.
    fn enqueue(&mut self, arrival: Arrival) {
        let now = Instant::now();
        match self.arrivals.try_send(arrival) {
            Ok(()) => self.full_since = None,
            Err(TrySendError::Full(arrival)) => {
                self.full_since.get_or_insert(now);
                if self.room_due().is_some_and(|due| due > now) {
                    self.waiting = Some(arrival);
                } else {
                    // Dropping it asks the SMSC to send it again later.
                    self.settings.refused.increment(1);
                }
            }
            Err(TrySendError::Closed(arrival)) => drop(arrival),
        }
    }
}
