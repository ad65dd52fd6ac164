//! The body of a request. It is read completely before the handler starts, within a size and a
//! time, or discarded if no handler will read it.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use poem::http::header::{CONTENT_LENGTH, EXPECT};
use poem::{Body, Request};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::web::error::ApiError;
use crate::web::field_error::{FieldCode, FieldError};

/// The `Retry-After` of a 503: memory was short, the handler was too slow, or the server is
/// stopping.
pub(super) const RETRY_AFTER_SECONDS: u64 = 5;

/// How many bytes of an unwanted body are read and discarded. A connection that is closed with
/// unread bytes is reset, and the client may lose the answer.
const DISCARDED_BYTES: usize = 16 * 1_048_576;

/// How much memory is reserved before the first byte arrives, whatever length was declared.
const FIRST_ROOM: usize = 64 * 1_024;

/// The limits of one body.
pub(super) struct BodyLimit {
    pub bytes: usize,
    pub timeout: Duration,
    /// The bytes that all bodies together may still take.
    pub room: Arc<Semaphore>,
}

/// A complete body in memory.
#[derive(Default)]
pub(super) struct WholeBody {
    pub bytes: Bytes,
    /// The room that it takes, released on drop.
    pub room: Option<OwnedSemaphorePermit>,
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

    /// Reads the whole body, or says what is wrong with it.
    pub(super) async fn read(self, limit: BodyLimit) -> Result<WholeBody, ApiError> {
        let Self { body, declared, asks_first } = self;
        if body.is_empty() {
            return Ok(WholeBody::default());
        }
        let deadline = Instant::now() + limit.timeout;
        let declared = declared.unwrap_or(0);
        if declared > limit.bytes && asks_first {
            // The client has not sent the body yet, and will not after this answer.
            return Err(ApiError::payload_too_large(limit.bytes));
        }
        let mut chunks = std::pin::pin!(body.into_bytes_stream());
        let read = read_to_end(chunks.as_mut(), &limit, declared);
        match tokio::time::timeout_at(deadline, read).await {
            Ok(Ok((bytes, room))) => Ok(WholeBody { bytes, room }),
            Ok(Err(Refused::TooLarge)) => {
                // The answer is the same whether or not the rest arrives in time.
                let _ = tokio::time::timeout_at(deadline, discard(chunks)).await;
                Err(ApiError::payload_too_large(limit.bytes))
            }
            Ok(Err(Refused::NoRoom)) => {
                tracing::warn!("request bodies take all the memory set aside for them");
                Err(ApiError::unavailable(RETRY_AFTER_SECONDS))
            }
            Ok(Err(Refused::BrokenOff)) => Err(ApiError::validation(vec![FieldError::new(
                "",
                FieldCode::MalformedJson,
                "the body is incomplete or violates HTTP framing",
            )])),
            Err(_too_slow) => Err(ApiError::request_timeout()),
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
    NoRoom,
    BrokenOff,
}

async fn read_to_end(
    mut chunks: impl Stream<Item = std::io::Result<Bytes>> + Unpin,
    limit: &BodyLimit,
    declared: usize,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Refused> {
    if declared > limit.bytes {
        return Err(Refused::TooLarge);
    }
    let mut whole = BytesMut::with_capacity(declared.min(FIRST_ROOM));
    let mut room: Option<OwnedSemaphorePermit> = None;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refused::BrokenOff)?;
        if whole.len() + chunk.len() > limit.bytes {
            return Err(Refused::TooLarge);
        }
        // Waiting for room could deadlock: the other bodies may wait for room too.
        let bytes = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        let more =
            Arc::clone(&limit.room).try_acquire_many_owned(bytes).map_err(|_| Refused::NoRoom)?;
        match &mut room {
            Some(room) => room.merge(more),
            None => room = Some(more),
        }
        whole.extend_from_slice(&chunk);
    }
    Ok((whole.freeze(), room))
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
