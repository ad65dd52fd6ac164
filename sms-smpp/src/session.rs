//! One bound connection: [`bind`] begins it, a task keeps it, a [`Session`] is the way to it.
//!
//! The task owns the stream. It writes texts as fast as the window and the peer allow, matches
//! answers by their number, hands over what arrives, gives and asks for signs of life, and ends in
//! order: no more texts, the window answered, `unbind`, its answer.
//!
//! What became of a text is one of four things, and the difference between the last two is what
//! keeps texts from being lost or sent twice: [`Submitted::NotWritten`] has certainly not left,
//! [`Submitted::Unanswered`] perhaps has.

mod handshake;
mod keeper;
mod window;

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

pub use handshake::BindFailed;

use crate::pdu::{Bind, BindMode, ShortMessage, Status};

/// How a session is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// In which directions it carries texts.
    pub mode: BindMode,
    /// Who we are.
    pub bind: Bind,
    /// Texts that may wait for their answer at once.
    pub window: usize,
    /// How long the peer may take to answer anything. One that takes longer is taken for gone.
    pub patience: Duration,
    /// How long the connection may be silent before a sign of life is asked for.
    pub idle: Duration,
}

impl Settings {
    /// A transceiver with a window of 10, 30 s of patience and a sign of life after 30 s.
    pub fn new(bind: Bind) -> Self {
        Self {
            mode: BindMode::Transceiver,
            bind,
            window: 10,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(30),
        }
    }
}

/// What became of one `submit_sm`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Submitted {
    /// The peer has it, under this id.
    Accepted {
        /// The peer's id of the text, as it spells it.
        id: String,
    },
    /// The peer does not take it.
    Refused(Status),
    /// It was not written: it has not left.
    NotWritten,
    /// It was written, at least in part, and no answer came: it may have left.
    Unanswered,
}

/// What the peer sends by itself.
#[derive(Debug)]
pub struct Arrival {
    /// A `deliver_sm`.
    pub message: ShortMessage,
    /// The way to answer it. Dropped without an answer, the peer is told to send it again.
    pub answer: Answer,
}

/// Answers one `deliver_sm`.
#[derive(Debug)]
pub struct Answer {
    sequence: u32,
    answers: mpsc::UnboundedSender<(u32, Status)>,
    is_given: bool,
}

impl Answer {
    /// It is kept, or of no use to anybody: the peer shall forget it.
    pub fn taken(mut self) {
        self.give(Status::OK);
    }

    /// It could not be kept: the peer shall send it again later.
    pub fn later(mut self) {
        self.give(Status::TEMPORARY);
    }

    fn give(&mut self, status: Status) {
        self.is_given = true;
        // The session may be over: the peer will send it again then.
        let _ = self.answers.send((self.sequence, status));
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.is_given {
            self.give(Status::TEMPORARY);
        }
    }
}

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// We unbound.
    #[error("unbound")]
    ByUs,
    /// The peer unbound.
    #[error("unbound by the peer")]
    ByPeer,
    /// The connection broke.
    #[error("the connection was lost")]
    Lost,
    /// The peer did not answer in time.
    #[error("the peer no longer answers")]
    Silent,
    /// What came cannot be the protocol.
    #[error("the peer speaks another protocol or has lost its place")]
    OutOfStep,
}

/// The way to a session. Its clones are the same session; when the last is dropped it unbinds.
#[derive(Debug, Clone)]
pub struct Session {
    submits: mpsc::UnboundedSender<Request>,
    /// Places in the window.
    slots: Arc<Semaphore>,
    unbind: Arc<watch::Sender<bool>>,
    ended: watch::Receiver<Option<Ended>>,
}

/// A place in a session's window, for one text.
#[derive(Debug)]
pub struct Slot {
    submits: mpsc::UnboundedSender<Request>,
    place: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Request {
    message: Box<ShortMessage>,
    tell: oneshot::Sender<Submitted>,
    place: OwnedSemaphorePermit,
}

impl Slot {
    /// Sends a text and waits for its answer.
    ///
    /// Dropped, the text may leave all the same.
    pub async fn submit(self, message: ShortMessage) -> Submitted {
        let Self { submits, place } = self;
        let (tell, told) = oneshot::channel();
        let request = Request { message: Box::new(message), tell, place };
        if submits.send(request).is_err() {
            return Submitted::NotWritten;
        }
        // The task answers whatever it took, and takes whatever was given before it ended.
        told.await.unwrap_or(Submitted::Unanswered)
    }
}

impl Session {
    /// Waits for a place in the window; `None` when the session takes no more texts.
    pub async fn slot(&self) -> Option<Slot> {
        let place = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        Some(Slot { submits: self.submits.clone(), place })
    }

    /// How many places of the window are free now.
    pub fn free_slots(&self) -> usize {
        self.slots.available_permits()
    }

    /// Sends a text as soon as the window has a place, and waits for its answer. Texts of one
    /// caller at a time leave in order.
    ///
    /// Dropped, the text may leave all the same.
    pub async fn submit(&self, message: ShortMessage) -> Submitted {
        match self.slot().await {
            Some(slot) => slot.submit(message).await,
            None => Submitted::NotWritten,
        }
    }

    /// Ends the session in order: texts already given are answered first, within the peer's
    /// patience. Returns when it is over.
    pub async fn unbind(&self) -> Ended {
        self.unbind.send_replace(true);
        self.ended().await
    }

    /// Waits until it is over.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let ended = ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|ended| *ended).unwrap_or(Ended::Lost)
    }

    /// Whether it is there and takes texts.
    pub fn is_open(&self) -> bool {
        self.ended.borrow().is_none() && !self.slots.is_closed()
    }
}

/// Arrivals that may wait to be looked at; the peer is asked to hold on to more.
const ARRIVALS: usize = 256;

/// Binds over a fresh connection and starts the task that keeps the session.
///
/// # Errors
///
/// When the peer refuses, does not answer within the patience, or the connection breaks.
pub async fn bind<S>(
    mut stream: S,
    settings: Settings,
) -> Result<(Session, mpsc::Receiver<Arrival>), BindFailed>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let rest = handshake::handshake(&mut stream, &settings).await?;
    // Bounded by the window's places.
    let (submits, requests) = mpsc::unbounded_channel();
    let slots = Arc::new(Semaphore::new(settings.window.max(1)));
    let (tell_arrival, arrivals) = mpsc::channel(ARRIVALS);
    let (unbind, unbinding) = watch::channel(false);
    let (tell_end, ended) = watch::channel(None);
    let keeper = keeper::Keeper::new(stream, settings, rest, tell_arrival, Arc::clone(&slots));
    tokio::spawn(async move {
        let end = keeper.keep(requests, unbinding).await;
        tell_end.send_replace(Some(end));
    });
    Ok((Session { submits, slots, unbind: Arc::new(unbind), ended }, arrivals))
}

#[cfg(test)]
mod tests;
