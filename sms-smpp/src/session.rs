//! One bound connection. [`bind`] starts it, a task drives it, and [`Session`] is the handle to it.
//!
//! The task owns the stream. It writes `submit_sm`s as fast as the window and the connection allow,
//! matches responses by sequence number, passes on each `deliver_sm`, and sends and answers
//! `enquire_link`. It ends in an orderly way: accept no more, wait until the window is empty, send
//! `unbind`, wait for `unbind_resp`.
//!
//! A `submit_sm` has one of five outcomes. Two of them must not be confused, or messages are lost
//! or sent twice: [`Submitted::NotWritten`] was certainly not sent, [`Submitted::Unanswered`] may
//! have been.

mod arrival;
mod ended;
mod handshake;
mod keeper;
mod request;
mod settings;
mod window;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

pub use arrival::{Answer, Arrival};
pub use ended::Ended;
pub use handshake::BindFailed;
use request::Request;
pub use request::{Heard, Submitted};
pub use settings::Settings;

use crate::leave::Leave;
use crate::pdu::ShortMessage;

/// A handle to a session. All clones share one session, which unbinds when the last is dropped.
#[derive(Debug, Clone)]
pub struct Session {
    submits: mpsc::UnboundedSender<Request>,
    /// The free places in the window.
    slots: Arc<Semaphore>,
    unbind: Arc<watch::Sender<bool>>,
    ended: watch::Receiver<Option<Ended>>,
}

/// A place in a session's window, for one `submit_sm`.
#[derive(Debug)]
pub struct Slot {
    submits: mpsc::UnboundedSender<Request>,
    place: OwnedSemaphorePermit,
}

impl Slot {
    /// Submits a message, unless its `leave` ends before it is written, and waits for the response,
    /// which `heard` learns first.
    ///
    /// Dropping the future does not cancel the submission.
    pub async fn submit(self, message: ShortMessage, leave: Leave, heard: Heard) -> Submitted {
        let Self { submits, place } = self;
        let (tell, told) = oneshot::channel();
        let request = Request { message: Box::new(message), tell, heard, leave, place };
        if submits.send(request).is_err() {
            return Submitted::NotWritten;
        }
        // The task answers every request that it receives, and drains its queue before it ends.
        told.await.unwrap_or(Submitted::Unanswered)
    }
}

impl Session {
    /// Waits for a place in the window; `None` when the session accepts no more.
    pub async fn slot(&self) -> Option<Slot> {
        let place = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        Some(Slot { submits: self.submits.clone(), place })
    }

    /// How many places of the window are free now.
    pub fn free_slots(&self) -> usize {
        self.slots.available_permits()
    }

    /// Submits a message as soon as the window has a free place, and waits for the response.
    ///
    /// Dropping the future does not cancel a submission that has a place.
    pub async fn submit(&self, message: ShortMessage) -> Submitted {
        match self.slot().await {
            Some(slot) => slot.submit(message, Leave::always(), Heard::nothing()).await,
            None => Submitted::NotWritten,
        }
    }

    /// Ends the session: waits for outstanding responses, at most `patience`, then unbinds. Returns
    /// when the session is over.
    pub async fn unbind(&self) -> Ended {
        self.unbind.send_replace(true);
        self.ended().await
    }

    /// Waits until the session is over.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let ended = ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|ended| *ended).unwrap_or(Ended::Lost)
    }

    /// Whether the session accepts messages.
    pub fn is_open(&self) -> bool {
        self.ended.borrow().is_none() && !self.slots.is_closed()
    }
}

/// How many `deliver_sm`s may be queued. While the queue is full nothing is read, so that the SMSC
/// sends no faster than they are stored.
const ARRIVALS: usize = 256;

/// Binds over a new connection and starts the task that drives the session.
///
/// # Errors
///
/// When the SMSC refuses, does not respond within `patience`, or the connection breaks.
pub async fn bind<S>(
    mut stream: S,
    settings: Settings,
) -> Result<(Session, mpsc::Receiver<Arrival>), BindFailed>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let rest = handshake::handshake(&mut stream, &settings).await?;
    // Bounded all the same: a request needs a place in the window.
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
