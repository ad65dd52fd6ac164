//! Detects connections that have been slow or silent for too long.
//!
//! The HTTP library has a single timer, for heads. It has none for the time between requests, and
//! none for a client that does not read its answer. So the connection is watched from outside:
//! [`Watched`] notes bytes on the socket, the server notes requests and answers, and [`Pulse`]
//! computes the deadline. [`crate::web::serve`] accepts connections and cuts them off.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::web::reader_pace::ReaderPace;
use crate::web::refused_head::is_bare_refusal;

/// How long a connection may stay in each state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// From the first byte of a request (or the start of the connection) to the end of its head.
    pub head: Duration,
    /// Between an answer and the next request.
    pub idle: Duration,
    /// While the client does not read its answer, or reads it too slowly.
    pub unread: Duration,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Pulse {
    patience: Patience,
    state: Mutex<State>,
    /// Notified when the deadline may have moved closer.
    sooner: Notify,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    since: Instant,
    requests: usize,
    reader: ReaderPace,
    /// When [`Pulse::stopped`] looks at the deadline again; `None` if only when it is notified.
    looks_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// A head is arriving or, at the start, expected.
    Head,
    /// At least one request is being answered.
    Busy,
    /// The last answer is written, and nothing has arrived since.
    Idle,
}

impl Pulse {
    pub(crate) fn new(patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            patience,
            state: Mutex::new(State {
                phase: Phase::Head,
                since: Instant::now(),
                requests: 0,
                reader: ReaderPace::default(),
                looks_at: None,
            }),
            sooner: Notify::new(),
        })
    }

    /// Waits until the connection has missed its deadline.
    pub(crate) async fn stopped(&self) {
        loop {
            let changed = self.sooner.notified();
            match self.look() {
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => tokio::select! {
                    () = tokio::time::sleep_until(deadline) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    /// Notes that a request's head is complete. Dropping the guard notes its end.
    pub(crate) fn request_began(self: &Arc<Self>) -> RequestGuard {
        let mut state = self.state();
        state.requests += 1;
        state.phase = Phase::Busy;
        RequestGuard { pulse: Arc::clone(self) }
    }

    fn is_busy(&self) -> bool {
        self.state().phase == Phase::Busy
    }

    fn request_ended(&self) {
        let mut state = self.state();
        state.requests -= 1;
        if state.requests == 0 {
            self.enter(Phase::Idle, state);
        }
    }

    fn bytes_came(&self) {
        let state = self.state();
        if state.phase == Phase::Idle {
            self.enter(Phase::Head, state);
        }
    }

    /// Enters a phase. Most deadlines are later than the moment at which the connection is looked
    /// at anyway, so that few requests set a timer.
    fn enter(&self, phase: Phase, mut state: MutexGuard<'_, State>) {
        state.phase = phase;
        state.since = Instant::now();
        let deadline = self.deadline(&state);
        let is_sooner = deadline < state.looks_at || state.looks_at.is_none();
        drop(state);
        if is_sooner {
            self.sooner.notify_one();
        }
    }

    fn write_blocked(&self) {
        if self.state().reader.blocked(Instant::now()) {
            self.sooner.notify_one();
        }
    }

    fn bytes_went(&self, count: usize) {
        self.state().reader.wrote(count, Instant::now());
    }

    /// The deadline, at which the next look is due.
    fn look(&self) -> Option<Instant> {
        let mut state = self.state();
        state.looks_at = self.deadline(&state);
        state.looks_at
    }

    fn deadline(&self, state: &State) -> Option<Instant> {
        let of_phase = match state.phase {
            Phase::Head => Some(state.since + self.patience.head),
            Phase::Idle => Some(state.since + self.patience.idle),
            Phase::Busy => None,
        };
        let of_reader = state.reader.deadline(self.patience.unread);
        of_phase.into_iter().chain(of_reader).min()
    }

    /// Every change is complete before the lock is released, so a poisoned lock holds valid state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in progress, until the last byte of its answer is handed to the connection.
#[derive(Debug)]
pub(crate) struct RequestGuard {
    pulse: Arc<Pulse>,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.pulse.request_ended();
    }
}

/// The body of an answer. Its request stays in progress until the body is sent.
#[derive(Debug)]
pub(crate) struct GuardedBody<B> {
    pub body: B,
    pub _guard: RequestGuard,
}

impl<B: Body + Unpin> Body for GuardedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that reports reads and writes to its pulse, and withholds the HTTP library's bare
/// answer to a head that is too large.
#[derive(Debug)]
pub(crate) struct Watched {
    pub socket: TcpStream,
    pub pulse: Arc<Pulse>,
    withheld: Option<Vec<u8>>,
}

impl Watched {
    pub(crate) fn new(socket: TcpStream, pulse: Arc<Pulse>) -> Self {
        Self { socket, pulse, withheld: None }
    }

    /// The socket and the answer that was withheld, if any.
    pub(crate) fn into_withheld(self) -> Option<(TcpStream, Vec<u8>)> {
        let Self { socket, withheld, .. } = self;
        withheld.map(|answer| (socket, answer))
    }

    /// Withholds the bytes if they are a bare refusal. Returns how many were.
    fn withhold(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.pulse.is_busy() || !is_bare_refusal(bytes) {
            return None;
        }
        self.withheld = Some(bytes.to_vec());
        Some(bytes.len())
    }

    fn note_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.pulse.write_blocked(),
            Poll::Ready(written) => self.pulse.bytes_went(*written.as_ref().unwrap_or(&0)),
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.pulse.bytes_came();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if let Some(length) = self.withhold(bytes) {
            return Poll::Ready(Ok(length));
        }
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        if let Some(length) = first.and_then(|bytes| self.withhold(bytes)) {
            return Poll::Ready(Ok(length));
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.note_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.withheld.is_some() {
            // The real answer is still to come.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
