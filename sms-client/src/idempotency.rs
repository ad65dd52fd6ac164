//! Idempotency keys: they make a request that is sent twice take effect once.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use crate::random::random_bytes;

/// Identifies the retries of one request, for 7 days. The same key with another request is an
/// error (409 `idempotency_conflict`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// The text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key has 1 to 200 visible ASCII characters")]
pub struct NotAKey;

impl IdempotencyKey {
    /// A new key, unlike any other.
    pub fn random() -> Self {
        let mut text = String::with_capacity(32);
        for byte in random_bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for IdempotencyKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let is_key = (1..=200).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if is_key { Ok(Self(text.to_owned())) } else { Err(NotAKey) }
    }
}
