//! The id of a request, in the header `X-Request-Id` of the answer and in the logs.
//!
//! A valid id from the caller is kept, so that the logs of both sides can be joined. Otherwise the
//! server generates one. An id is not secret and proves nothing.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use poem::http::{HeaderMap, HeaderName, HeaderValue};

use crate::web::unknown_fields::header_of;

/// The header that carries the id.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

const MAX_CHARS: usize = 128;

/// The id of a request: 1 to 128 of `[A-Za-z0-9._-]`.
///
/// Handlers find it with `poem::web::Data<&RequestId>`.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<Noted>);

/// An id, and what the request's body leaves for the answer.
#[derive(Debug)]
struct Noted {
    text: String,
    /// The fields of the body that were ignored.
    unknown_fields: OnceLock<HeaderValue>,
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RequestId {}

impl RequestId {
    /// Parses an id; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let valid = (1..=MAX_CHARS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        valid.then(|| Self::of(text.to_owned()))
    }

    /// The caller's id if it sent exactly one valid id, else a new one.
    pub fn of_request(headers: &HeaderMap, new_ids: &NewRequestIds) -> Self {
        let mut sent = headers.get_all(REQUEST_ID_HEADER).iter();
        match (sent.next(), sent.next()) {
            (Some(only), None) => only.to_str().ok().and_then(Self::parse),
            _ => None,
        }
        .unwrap_or_else(|| new_ids.next_id())
    }

    fn of(text: String) -> Self {
        Self(Arc::new(Noted { text, unknown_fields: OnceLock::new() }))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Notes the fields of the request's body that were ignored.
    pub(super) fn note_unknown_fields(&self, fields: &[String]) {
        if let Some(header) = header_of(fields) {
            let _already_noted = self.0.unknown_fields.set(header);
        }
    }

    /// The fields that were ignored, for the answer.
    pub(super) fn unknown_fields(&self) -> Option<&HeaderValue> {
        self.0.unknown_fields.get()
    }

    /// The id as the value of [`REQUEST_ID_HEADER`].
    pub fn to_header(&self) -> HeaderValue {
        // A valid id holds only characters that a header allows.
        HeaderValue::from_str(self.as_str()).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// New ids, made of a random number for this process and a counter. They are distinct within a
/// process. Two processes draw the same random number with a chance of 1 in 2^64.
#[derive(Debug)]
pub struct NewRequestIds {
    start: u64,
    count: AtomicU64,
}

impl NewRequestIds {
    /// Draws a new random number for the process.
    pub fn new() -> Self {
        // The standard library seeds its hasher from the system's randomness.
        let start = RandomState::new().build_hasher().finish();
        Self { start, count: AtomicU64::new(0) }
    }

    /// An id that no other request has.
    pub fn next_id(&self) -> RequestId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        RequestId::of(format!("req_{:016x}{count:08x}", self.start))
    }
}

impl Default for NewRequestIds {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_ids() {
        for sane in ["a", "2026-11-21_x.Y", &"a".repeat(128)] {
            assert!(RequestId::parse(sane).is_some(), "{sane}");
        }
        for other in ["", "a b", "a\nb", "é", "a/b", &"a".repeat(129)] {
            assert!(RequestId::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn new_ids_are_valid_and_distinct() {
        let ids = NewRequestIds::new();
        let (first, second) = (ids.next_id(), ids.next_id());
        assert_ne!(first, second);
        assert_eq!(RequestId::parse(first.as_str()), Some(first));
    }
}
