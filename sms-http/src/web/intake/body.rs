//! The body of a request. It is read completely before the handler starts, within a size and a
//! time, or discarded if no handler will read it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use poem::http::header::{CONTENT_LENGTH, EXPECT};
use poem::{Body, Request};
use tokio::time::Instant;

use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldError};
use crate::web::intake::door::Owner;
use crate::web::intake::room::{BodyRoom, HeldRoom, NoRoom};

/// The `Retry-After` of a 503 or 429: memory was short, the handler was too slow, or the server is
/// stopping.
pub(super) const RETRY_AFTER_SECONDS: u64 = 5;

/// How many bytes of an unwanted body are read and discarded. A connection that is closed with
/// unread bytes is reset, and the client may lose the answer.
const DISCARDED_BYTES: usize = 16 * 1_048_576;

/// How many bytes of a large body must arrive in each [`BodyLimit::stall`].
const LEAST_BYTES: usize = 64 * 1_024;

/// The limits of one body.
pub(super) struct BodyLimit {
    pub bytes: usize,
    pub timeout: Duration,
    /// The time in which a large body must bring [`LEAST_BYTES`].
    pub stall: Duration,
    /// The room that all bodies share.
    pub room: Arc<BodyRoom>,
}

/// A complete body in memory.
#[derive(Default)]
pub(super) struct WholeBody {
    pub bytes: Bytes,
    /// The room that it takes, released on drop.
    pub room: Option<HeldRoom>,
}

/// A body of which nothing has been read.
pub(super) struct UnreadBody {
    body: Body,
    declared: Option<usize>,
    /// Whether the client waits for `100 Continue` before it sends.
    asks_first: bool,
}

impl UnreadBody {
    /// Takes the body out of its request.
    pub(super) fn of(request: &mut Request) -> Self {
        Self {
            body: request.take_body(),
            declared: declared_length(request),
            asks_first: request.headers().contains_key(EXPECT),
        }
    }

    /// Reads the whole body of `owner`, or says what is wrong with it.
    pub(super) async fn read(self, owner: Owner, limit: BodyLimit) -> Result<WholeBody, ApiError> {
        let Self { body, declared, asks_first } = self;
        if body.is_empty() {
            return Ok(WholeBody::default());
        }
        let deadline = Instant::now() + limit.timeout;
        if declared.is_some_and(|declared| declared > limit.bytes) && asks_first {
            // The client has not sent the body yet, and will not after this answer.
            return Err(ApiError::payload_too_large(limit.bytes));
        }
        let mut chunks = Box::pin(body.into_bytes_stream());
        let room = limit.room.hold(owner, declared);
        let pace = Pace::new(deadline, limit.stall);
        match read_to_end(&mut chunks, &limit, declared.unwrap_or(0), room, pace).await {
            Ok((bytes, room)) => Ok(WholeBody { bytes, room: Some(room) }),
            Err(Refused::TooLarge) => {
                // The answer is the same whether or not the rest arrives in time.
                let _ = tokio::time::timeout_at(deadline, discard(chunks)).await;
                Err(ApiError::payload_too_large(limit.bytes))
            }
            Err(Refused::NoRoom(whose)) => {
                // The rest takes no room, and a client that reads last gets its answer.
                let rest = async move { discard(chunks).await };
                tokio::spawn(tokio::time::timeout_at(deadline, rest));
                Err(no_room(whose, owner))
            }
            Err(Refused::BrokenOff) => Err(ApiError::validation(vec![FieldError::new(
                "",
                FieldCode::MalformedJson,
                "the body is incomplete or violates HTTP framing",
            )])),
            Err(Refused::TooSlow) => Err(ApiError::request_timeout()),
        }
    }

    /// Discards the body as it arrives, for at most `time`, while the request is answered. So a
    /// client that reads only after it has sent everything gets its answer, and may reuse the
    /// connection. The body takes no room. What arrives later stays unread, which ends the
    /// connection.
    pub(super) fn put_aside(self, time: Duration) {
        // A client that waits for `100 Continue` does not send a body once it has its answer.
        if !self.body.is_empty() && !self.asks_first {
            let discarding = async move { discard(self.body.into_bytes_stream()).await };
            tokio::spawn(tokio::time::timeout(time, discarding));
        }
    }
}

enum Refused {
    TooLarge,
    NoRoom(NoRoom),
    BrokenOff,
    TooSlow,
}

fn no_room(whose: NoRoom, owner: Owner) -> ApiError {
    match (whose, owner) {
        (NoRoom::OwnShare, Owner::Numbered(_)) => ApiError::too_much_at_once(RETRY_AFTER_SECONDS),
        // An operation that knows no numbered owners has no rate limit either, and no 429.
        (NoRoom::OwnShare, Owner::Only(_)) | (NoRoom::Full, _) => {
            tracing::warn!("request bodies use all memory reserved for them");
            ApiError::unavailable(RETRY_AFTER_SECONDS)
        }
    }
}

async fn read_to_end(
    chunks: &mut (impl Stream<Item = std::io::Result<Bytes>> + Unpin),
    limit: &BodyLimit,
    declared: usize,
    mut room: HeldRoom,
    mut pace: Pace,
) -> Result<(Bytes, HeldRoom), Refused> {
    if declared > limit.bytes {
        return Err(Refused::TooLarge);
    }
    // A client may declare much and send little: memory is taken as the bytes arrive.
    let mut whole = BytesMut::new();
    while let Some(chunk) = pace.keep(chunks, &room).await? {
        let chunk = chunk.map_err(|_| Refused::BrokenOff)?;
        if whole.len() + chunk.len() > limit.bytes {
            return Err(Refused::TooLarge);
        }
        room.grow(chunk.len()).map_err(Refused::NoRoom)?;
        whole.extend_from_slice(&chunk);
    }
    Ok((whole.freeze(), room))
}

/// The pace of one body, measured in periods of equal length until its deadline.
struct Pace {
    deadline: Instant,
    stall: Duration,
    /// The end of the period.
    until: Instant,
    /// What has arrived in the period.
    bytes: usize,
}

impl Pace {
    fn new(deadline: Instant, stall: Duration) -> Self {
        Self { deadline, stall, until: Instant::now() + stall, bytes: 0 }
    }

    /// The next chunk, unless the deadline has passed or the body is large and stalls.
    async fn keep(
        &mut self,
        chunks: &mut (impl Stream<Item = std::io::Result<Bytes>> + Unpin),
        room: &HeldRoom,
    ) -> Result<Option<std::io::Result<Bytes>>, Refused> {
        loop {
            let until = self.until.min(self.deadline);
            if let Ok(chunk) = tokio::time::timeout_at(until, chunks.next()).await {
                if let Some(Ok(chunk)) = &chunk {
                    self.bytes += chunk.len();
                }
                return Ok(chunk);
            }
            let is_stalled = room.is_large() && self.bytes < LEAST_BYTES;
            if is_stalled || until == self.deadline {
                return Err(Refused::TooSlow);
            }
            self.until = Instant::now() + self.stall;
            self.bytes = 0;
        }
    }
}

async fn discard(chunks: impl Stream<Item = std::io::Result<Bytes>>) {
    let mut chunks = std::pin::pin!(chunks);
    let mut discarded = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        discarded += chunk.len();
        if discarded > DISCARDED_BYTES {
            return;
        }
    }
}

fn declared_length(request: &Request) -> Option<usize> {
    request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok())
        .and_then(|length| length.parse().ok())
}
