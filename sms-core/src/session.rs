//! Sessions: people who signed in to the console with an API key or the operator's token.
//!
//! A browser holds a random token in a cookie, and the store keeps a hash of it. So neither the key
//! nor the operator's token stays in the browser, and nobody can sign in with what a store holds.
//!
//! Times are those of the world, not of a sandbox that moved its clock: callers pass them in.

use std::fmt;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::account::api_key::KeyHash;
use crate::random::Random;
use crate::time::Timestamp;

pub mod store;

/// How long a session lasts.
pub const LASTS: Duration = Duration::from_hours(12);

/// How many sessions one key, or the operator, may have. The next one ends the oldest.
pub const MOST_OF_ONE: usize = 100;

/// What a browser holds: 256 random bits. It is never stored, and never printed by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken([u8; 32]);

/// The SHA-256 hash of a token, which stores keep and look up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionHash([u8; 32]);

/// The SHA-256 hash of the operator's token. It is never stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OperatorHash([u8; 32]);

/// Proof that a session was opened with the operator's token. It depends on the token of the
/// session too, which is not stored: so what a store holds does not help to guess the operator's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OperatorSeal([u8; 32]);

/// What a page sends with every change, so that no other site can make the browser change
/// anything. It follows from the token of the session.
#[derive(Clone, PartialEq, Eq)]
pub struct CsrfToken(String);

/// With what somebody signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The API key with this hash.
    Key(KeyHash),
    /// The operator's token, with proof that it was given.
    Operator(OperatorSeal),
}

/// A session as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The hash by which it is found.
    pub hash: SessionHash,
    /// With what it was opened.
    pub holder: Holder,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl SessionToken {
    /// Draws a new token.
    pub fn generate(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// Reads a token: 64 hexadecimal digits. `None` if the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            *byte = u8::try_from(high? << 4 | low?).ok()?;
        }
        Some(Self(bytes))
    }

    /// The token in full, for the cookie.
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }

    /// The hash that a store keeps in place of the token.
    pub fn hash(&self) -> SessionHash {
        SessionHash(Sha256::digest(self.0).into())
    }

    /// The token that the page has to send with every change.
    pub fn csrf(&self) -> CsrfToken {
        CsrfToken(hex(&self.derived("csrf", &[])))
    }

    /// The proof that this session was opened with this token of the operator.
    pub fn seal(&self, operator: OperatorHash) -> OperatorSeal {
        OperatorSeal(self.derived("operator", &operator.0))
    }

    /// Cannot be reversed, and differs for each purpose.
    fn derived(&self, purpose: &str, more: &[u8]) -> [u8; 32] {
        Sha256::new()
            .chain_update(purpose)
            .chain_update(self.0)
            .chain_update(more)
            .finalize()
            .into()
    }
}

impl SessionHash {
    /// The hash with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl OperatorHash {
    /// The hash of this token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// The 32 bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl OperatorSeal {
    /// The seal with these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the seal.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl CsrfToken {
    /// The token as the page sends it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the page sent this token. It compares hashes, so that the time taken reveals
    /// nothing.
    pub fn is(&self, sent: &str) -> bool {
        Sha256::digest(sent.as_bytes()) == Sha256::digest(self.0.as_bytes())
    }
}

impl Holder {
    /// Whether both opened their sessions with the same: the limit counts these together.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Key(one), Self::Key(other)) => one == other,
            (Self::Operator(_), Self::Operator(_)) => true,
            (Self::Key(_), Self::Operator(_)) | (Self::Operator(_), Self::Key(_)) => false,
        }
    }
}

impl Session {
    /// A session that begins now.
    pub fn begin(hash: SessionHash, holder: Holder, now: Timestamp) -> Self {
        Self { hash, holder, created_at: now, expires_at: now.plus(LASTS) }
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }
}

fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

macro_rules! hidden {
    ($($name:ident)+) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        })+
    };
}

hidden! { SessionToken SessionHash OperatorHash OperatorSeal CsrfToken }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;

    fn token(seed: u64) -> SessionToken {
        SessionToken::generate(&SeededRandom::new(seed))
    }

    #[test]
    fn a_token_reads_back_and_is_shown_only_on_request() {
        let token = token(4);
        let text = token.reveal();
        assert_eq!(text.len(), 64);
        assert_eq!(SessionToken::parse(&text), Some(token.clone()));
        let shown = format!("{token:?} {:?} {:?}", token.hash(), token.csrf());
        assert_eq!(shown, "SessionToken(…) SessionHash(…) CsrfToken(…)");
        for bad in ["", &text[1..], &format!("{text}0"), &text.replace('a', "g"), &"é".repeat(32)]
        {
            assert_eq!(SessionToken::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn neither_the_store_nor_a_page_reveals_the_token() {
        let (one, other) = (token(1), token(2));
        let operator = OperatorHash::of("the token of the operator");
        let texts =
            [one.reveal(), hex(one.hash().as_bytes()), one.csrf().0, hex(&one.seal(operator).0)];
        for (at, text) in texts.iter().enumerate() {
            assert!(!texts[at + 1..].contains(text));
        }
        assert!(one.csrf().is(one.csrf().as_str()) && !one.csrf().is(other.csrf().as_str()));
        assert!(!one.csrf().is(""));
    }

    #[test]
    fn a_seal_holds_for_one_session_and_one_token_of_the_operator() {
        let (one, other) = (token(1), token(2));
        let [old, new] = ["the old token", "the new token"].map(OperatorHash::of);
        assert_eq!(one.seal(old), one.seal(OperatorHash::of("the old token")));
        assert_ne!(one.seal(old), one.seal(new));
        assert_ne!(one.seal(old), other.seal(old));
    }

    #[test]
    fn a_session_is_over_after_twelve_hours() {
        let now = Timestamp::from_millis(1_000);
        let key = Holder::Key(KeyHash::from_bytes([7; 32]));
        let session = Session::begin(token(1).hash(), key, now);
        let last = Timestamp::from_millis(1_000 + 12 * 3_600_000 - 1);
        assert!(!session.is_over(last));
        assert!(session.is_over(last.plus(Duration::from_millis(1))));
    }

    #[test]
    fn the_operator_is_one_holder_and_each_key_another() {
        let key = |n| Holder::Key(KeyHash::from_bytes([n; 32]));
        let operator = |n| Holder::Operator(OperatorSeal::from_bytes([n; 32]));
        assert!(key(1).is_same(&key(1)) && !key(1).is_same(&key(2)));
        assert!(operator(1).is_same(&operator(2)));
        assert!(!key(1).is_same(&operator(1)) && !operator(1).is_same(&key(1)));
    }
}
