//! Reads the whole body of a request before its handler starts, within a size and a time.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use poem::Request;
use poem::http::header::{CONTENT_LENGTH, EXPECT};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::RETRY_AFTER_SECONDS;
use crate::error::ApiError;
use crate::field_error::{FieldCode, FieldError};

/// How much of a body that is too large is read and thrown away, so that the client gets to read
/// the answer: a connection closed with bytes unread is reset, and the answer is lost with it.
const DISCARDED_BYTES: usize = 16 * 1_048_576;

/// How much room is made before the first byte has come, whatever length was declared.
const FIRST_ROOM: usize = 64 * 1_024;

/// The bounds of one body.
pub(super) struct BodyLimit {
    pub bytes: usize,
    pub timeout: Duration,
    /// Bytes that all bodies together may still take.
    pub room: Arc<Semaphore>,
}

/// A request with its body in memory.
pub(super) struct WholeRequest {
    pub request: Request,
    /// The room that the body takes, given back when dropped.
    pub room: Option<OwnedSemaphorePermit>,
}

/// The request with its body in memory, or what is wrong with the body.
pub(super) async fn read_whole(
    mut request: Request,
    limit: BodyLimit,
) -> Result<WholeRequest, ApiError> {
    let body = request.take_body();
    if body.is_empty() {
        return Ok(WholeRequest { request, room: None });
    }
    let deadline = Instant::now() + limit.timeout;
    let declared = declared_length(&request).unwrap_or(0);
    if declared > limit.bytes && request.headers().contains_key(EXPECT) {
        // The client asks before it sends: say no, and it will not.
        return Err(ApiError::payload_too_large(limit.bytes));
    }
    let mut chunks = std::pin::pin!(body.into_bytes_stream());
    let read = read_to_end(chunks.as_mut(), &limit, declared);
    match tokio::time::timeout_at(deadline, read).await {
        Ok(Ok((bytes, room))) => {
            request.set_body(bytes);
            Ok(WholeRequest { request, room })
        }
        Ok(Err(Refused::TooLarge)) => {
            // Whether the rest came in time makes no difference to the answer.
            let _ = tokio::time::timeout_at(deadline, discard(chunks)).await;
            Err(ApiError::payload_too_large(limit.bytes))
        }
        Ok(Err(Refused::NoRoom)) => {
            tracing::warn!("no room for another body");
            Err(ApiError::unavailable(RETRY_AFTER_SECONDS))
        }
        Ok(Err(Refused::BrokenOff)) => Err(ApiError::validation(vec![FieldError::new(
            "",
            FieldCode::MalformedJson,
            "the body broke off or is not framed as HTTP asks",
        )])),
        Err(_too_slow) => Err(ApiError::request_timeout()),
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
        // Waiting for room could be waiting for bodies that wait for room themselves.
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

async fn discard(mut chunks: impl Stream<Item = std::io::Result<Bytes>> + Unpin) {
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
