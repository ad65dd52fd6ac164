//! The idempotency key: a caller's name for a request, which makes repeating it safe.

/// The most characters of a key.
pub const MAX_KEY: usize = 200;

/// A caller's name for a request, unique within the account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

/// The string cannot be an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key is 1 to 200 printable characters")]
pub struct NotAnIdempotencyKey;

impl std::str::FromStr for IdempotencyKey {
    type Err = NotAnIdempotencyKey;

    fn from_str(text: &str) -> Result<Self, NotAnIdempotencyKey> {
        let fits = (1..=MAX_KEY).contains(&text.chars().count());
        let printable = !text.chars().any(char::is_control);
        if fits && printable { Ok(Self(text.to_owned())) } else { Err(NotAnIdempotencyKey) }
    }
}

impl IdempotencyKey {
    /// The key as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
