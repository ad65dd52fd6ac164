//! The answer to a head that is too large.
//!
//! The HTTP library refuses such a head itself, with a bare 431, and gives its socket back. Here
//! that answer is withheld and replaced by one with the envelope, with the id and the log line that
//! every request has. Then the rest of what the client sends is discarded for a while: a connection
//! that is closed with unread bytes is reset, and the client may lose the answer.

use std::io::Write as _;

use poem::Response;
use poem::http::header::{CONNECTION, CONTENT_LENGTH, DATE};
use poem::http::{HeaderMap, HeaderValue, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::web::error::ApiError;
use crate::web::intake::answer_refused;
use crate::web::request_id::NewRequestIds;

/// How many more bytes are read and discarded after the answer.
const DISCARDED_BYTES: usize = 16 * 1_048_576;

/// What a head may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadLimits {
    /// Bytes in all, the empty line at the end included.
    pub bytes: usize,
    /// Header lines.
    pub headers: usize,
    /// Bytes of path and query.
    pub path_bytes: usize,
}

impl HeadLimits {
    /// The error for a head whose path and query have this many bytes, if that is too many.
    pub(crate) fn check_path(&self, bytes: usize) -> Result<(), ApiError> {
        if bytes <= self.path_bytes { Ok(()) } else { Err(ApiError::uri_too_long(self.path_bytes)) }
    }

    /// The error for a head that the HTTP library refused as too large. `start` is what it read.
    fn error(&self, start: &[u8]) -> ApiError {
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let target = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let too_large = || ApiError::headers_too_large(self.bytes, self.headers);
        self.check_path(target.len()).err().unwrap_or_else(too_large)
    }
}

/// Whether these bytes are the beginning of the HTTP library's own answer to a head that is too
/// large. The server itself never answers so: its 431 and 414 come from here.
pub(crate) fn is_bare_refusal(bytes: &[u8]) -> bool {
    const STATUS: usize = "HTTP/1.1".len();
    let status = bytes.get(STATUS..).unwrap_or_default();
    bytes.starts_with(b"HTTP/1.")
        && (status.starts_with(b" 431 Request Header Fields Too Large\r\nconnection: close\r\n")
            || status.starts_with(b" 414 URI Too Long\r\nconnection: close\r\n"))
}

/// Answers a head that was refused after `start`, instead of the answer that was `withheld`, and
/// reads on until the client has it.
pub(crate) async fn refuse(
    mut socket: TcpStream,
    withheld: &[u8],
    start: &[u8],
    limits: HeadLimits,
    new_ids: &NewRequestIds,
) -> std::io::Result<()> {
    let method = start.split(|byte| *byte == b' ').next().unwrap_or_default();
    let method = Method::from_bytes(method).unwrap_or_default();
    let mut response = answer_refused(&new_ids.next_id(), &method, limits.error(start));
    if let Some(date) = date_of(withheld) {
        response.headers_mut().insert(DATE, date);
    }
    socket.write_all(&as_bytes(response).await).await?;
    socket.shutdown().await?;
    let mut rest = socket.take(DISCARDED_BYTES as u64);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}

fn date_of(answer: &[u8]) -> Option<HeaderValue> {
    let mut lines = answer.split(|byte| *byte == b'\n');
    let date = lines.find_map(|line| line.strip_prefix(b"date: "))?;
    HeaderValue::from_bytes(date.trim_ascii()).ok()
}

/// The bytes of an answer that ends its connection.
pub(crate) async fn as_bytes(response: Response) -> Vec<u8> {
    let (mut parts, body) = response.into_parts();
    // The body is in memory, so reading it cannot fail.
    let body = body.into_bytes().await.unwrap_or_default();
    parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let mut bytes = Vec::with_capacity(512 + body.len());
    let reason = parts.status.canonical_reason().unwrap_or_default();
    // Writing to a vector cannot fail.
    let _ = write!(bytes, "HTTP/1.1 {} {reason}\r\n", parts.status.as_str());
    write_headers(&mut bytes, &parts.headers);
    bytes.extend_from_slice(&body);
    bytes
}

fn write_headers(bytes: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
}
