//! Accepts connections and serves requests on them, within limits.
//!
//! The framework's server waits forever for a slow head or a silent connection, so it is not used.
//! Here every state of a connection has a time limit (see `connection.rs`), heads have size limits
//! (see `refused_head.rs`), and the number of connections is bounded. When asked to stop, the
//! server accepts no more connections, finishes the requests in progress, and cuts off what takes
//! too long.
//!
//! The server speaks HTTP/1 only, and no TLS. A proxy in front terminates TLS and speaks whatever
//! its clients do. Over HTTP/2 a client could hold a connection by granting no window, or by a head
//! that never ends, while it answers every ping. A connection that starts with HTTP/2 is closed at
//! once.
//!
//! [`crate::web::intake`] decides what a request may contain and how long its handler may take.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use poem::http::uri::Scheme;
use poem::web::{LocalAddr, RemoteAddr};
use poem::{Addr, Endpoint, Response};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::web::client_address::TrustedProxies;
use crate::web::connection::{GuardedBody, Patience, Pulse, Watched};
use crate::web::crowd::Crowd;
use crate::web::intake::answer_refused;
use crate::web::refused_head::{self, HeadLimits};
use crate::web::request_id::{NewRequestIds, RequestId};

/// How long to wait after a failed accept, for example when file descriptors run out.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// How many connections may wait to be accepted, if the system allows it. With fewer, a server with
/// free capacity would refuse clients that connect at the same moment.
const BACKLOG: u32 = 4_096;

/// Limits on connections and heads.
#[derive(Debug, Clone)]
pub struct ServeLimits {
    /// From the first byte of a request to the end of its head. It also runs from the start of a
    /// connection, so that a silent connection is closed.
    pub head_timeout: Duration,
    /// Between an answer and the next request on a connection.
    pub idle_timeout: Duration,
    /// How long an answer may wait for a client that does not read it.
    pub unread_timeout: Duration,
    /// The largest head in bytes; over it the answer is 431. At least 8,192.
    pub head_bytes: usize,
    /// The most header lines of a request; over it the answer is 431.
    pub headers: usize,
    /// The most bytes of path and query; over it the answer is 414.
    pub path_bytes: usize,
    /// The most open connections; further ones wait to be accepted.
    pub connections: usize,
    /// The most open connections of one client address; over it the answer is 429. `None` for no
    /// bound.
    pub connections_per_address: Option<usize>,
    /// Addresses of proxies, which have no such bound.
    pub trusted_proxies: TrustedProxies,
    /// How long requests in progress may take once the server is asked to stop.
    pub shutdown_timeout: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            unread_timeout: Duration::from_secs(30),
            head_bytes: 64 * 1_024,
            headers: 200,
            path_bytes: 16 * 1_024,
            connections: 10_000,
            connections_per_address: None,
            trusted_proxies: TrustedProxies::default(),
            shutdown_timeout: Duration::from_secs(8),
        }
    }
}

/// How serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// All requests in progress were answered.
    InOrder,
    /// This many connections were cut off at the end of [`ServeLimits::shutdown_timeout`].
    CutOff(usize),
}

/// Listens on an address. Must be called inside a tokio runtime.
pub fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // After a restart the address may still have connections in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Serves `endpoint` on `listener` until `shutdown` resolves, and then until the last request in
/// progress is answered or [`ServeLimits::shutdown_timeout`] has passed.
///
/// Dropping the future cuts off every connection at once.
pub async fn serve<E, F>(
    listener: TcpListener,
    endpoint: E,
    limits: ServeLimits,
    shutdown: F,
) -> Stopped
where
    E: Endpoint<Output = Response> + 'static,
    F: Future<Output = ()> + Send,
{
    let (stop, stopping) = watch::channel(());
    let server = Arc::new(Server {
        endpoint,
        protocol: protocol(&limits),
        head: HeadLimits {
            bytes: limits.head_bytes,
            headers: limits.headers,
            path_bytes: limits.path_bytes,
        },
        new_ids: NewRequestIds::new(),
        patience: Patience {
            head: limits.head_timeout,
            idle: limits.idle_timeout,
            unread: limits.unread_timeout,
        },
        local_addr: LocalAddr(listener.local_addr().map_or_else(|_| Addr::default(), Addr::from)),
        stopping,
    });
    let mut connections = JoinSet::new();
    let crowd = Crowd::new(limits.connections_per_address, limits.trusted_proxies).await;
    tokio::select! {
        () = accept(&listener, &server, limits.connections, &crowd, &mut connections) => {}
        () = shutdown => {}
    }
    drop(listener);
    drop(stop);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_timeout, all_ended).await.is_ok() {
        return Stopped::InOrder;
    }
    let left = connections.len();
    tracing::warn!(connections = left, "cut off connections at the shutdown timeout");
    connections.shutdown().await;
    Stopped::CutOff(left)
}

struct Server<E> {
    endpoint: E,
    protocol: http1::Builder,
    head: HeadLimits,
    new_ids: NewRequestIds,
    patience: Patience,
    local_addr: LocalAddr,
    /// Its sender is dropped when the server must stop.
    stopping: watch::Receiver<()>,
}

fn protocol(limits: &ServeLimits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // The pulse distinguishes a slow head from an idle connection; this timer does not.
        .header_read_timeout(None)
        .max_buf_size(limits.head_bytes)
        .max_header_size(limits.head_bytes)
        .max_headers(limits.headers);
    builder
}

/// Accepts connections forever.
async fn accept<E: Endpoint<Output = Response> + 'static>(
    listener: &TcpListener,
    server: &Arc<Server<E>>,
    most: usize,
    crowd: &Arc<Crowd>,
    connections: &mut JoinSet<()>,
) {
    let places = Arc::new(Semaphore::new(most));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            // A `JoinSet` keeps ended tasks until they are joined.
            Some(_) = connections.join_next() => continue,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((socket, remote)) => {
                let Some(own_place) = crowd.enter(remote.ip()) else {
                    crowd.turn_away(socket);
                    continue;
                };
                let server = Arc::clone(server);
                connections.spawn(async move {
                    server.connection(socket, remote).await;
                    drop((place, own_place));
                });
            }
            Err(error) => {
                tracing::warn!(kind = %error.kind(), "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

impl<E: Endpoint<Output = Response>> Server<E> {
    /// Serves one connection to its end.
    async fn connection(&self, socket: TcpStream, remote: SocketAddr) {
        // Answers are written in one piece, so Nagle's algorithm would only delay them. An error
        // here means that the connection is gone, which the next read reports too.
        let _ = socket.set_nodelay(true);
        let pulse = Pulse::new(self.patience);
        let socket = TokioIo::new(Watched::new(socket, Arc::clone(&pulse)));
        let remote_addr = RemoteAddr(remote.into());
        let service = hyper::service::service_fn(|request: hyper::Request<Incoming>| {
            let guard = pulse.request_began();
            // In a place of its own, so that the connection does not move it about.
            let answering = Box::pin(self.answer(request, remote_addr.clone()));
            async move {
                let response = hyper::Response::from(answering.await);
                Ok::<_, Infallible>(response.map(|body| GuardedBody { body, _guard: guard }))
            }
        });
        let mut serving = self.protocol.serve_connection(socket, service);
        let mut too_slow = pin!(pulse.stopped());
        let mut stopping = self.stopping.clone();
        let mut asked_to_stop = false;
        let ended = loop {
            tokio::select! {
                ended = &mut serving => break ended,
                () = too_slow.as_mut() => return,
                _ = stopping.changed(), if !asked_to_stop => {
                    asked_to_stop = true;
                    Pin::new(&mut serving).graceful_shutdown();
                }
            }
        };
        // How else a connection ended (reset, incomplete request) is of no interest.
        if ended.is_err_and(|error| error.is_parse_too_large()) {
            let parts = serving.into_parts();
            if let Some((socket, withheld)) = parts.io.into_inner().into_withheld() {
                let start = &parts.read_buf;
                let refusing =
                    refused_head::refuse(socket, &withheld, start, self.head, &self.new_ids);
                let _ = tokio::time::timeout(self.patience.head, refusing).await;
            }
        }
    }

    /// Answers one request.
    async fn answer(&self, request: hyper::Request<Incoming>, remote: RemoteAddr) -> Response {
        let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
        match self.head.check_path(target) {
            Ok(()) => {
                let local = self.local_addr.clone();
                let request = poem::Request::from((request, local, remote, Scheme::HTTP));
                let answer = self.endpoint.call(request).await;
                answer.unwrap_or_else(poem::Error::into_response)
            }
            Err(too_long) => {
                let id = RequestId::of_request(request.headers(), &self.new_ids);
                answer_refused(&id, request.method(), too_long)
            }
        }
    }
}
