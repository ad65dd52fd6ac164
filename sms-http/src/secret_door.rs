//! The doors that take a secret, and how often a client may come with a wrong one.
//!
//! API keys, the operator's token and the cookies of the console's sessions are secrets. Whoever
//! looks for one tries many, so every place that takes one asks a [`SecretDoor`] first. It counts
//! what was wrong by the client's address, refuses the address beyond its limit before it looks at
//! the secret, and logs the door and the address, never the secret.
//!
//! A key or a cookie that nobody knows is also a look-up in the store, which a client that makes
//! keys up could keep busy. Only look-ups in vain count in the end. A key that this server admitted
//! before is never refused for what others at its address do: behind a proxy that is not trusted,
//! all clients have one address. That is safe, because keys and cookies have so many random bits
//! that nobody finds one. The operator's token is of the operator's choice, so an address beyond
//! its limit does not even learn whether a token is right, and there are limits by the hour, too.

use sms_core::Error;
use sms_core::account::api_key::KeyHash;
use sms_core::session::OperatorHash;
use tokio::sync::Semaphore;

use self::known::Known;
use self::token::TokenGuesses;
use self::total::Total;
use crate::rate_limit::crowd::CrowdLimiter;
use crate::rate_limit::{Gcra, Stopwatch};
use crate::web::client_address::AddressBlock;
use crate::web::error::ApiError;

mod known;
mod token;
mod total;

/// How often an address may come with wrong secrets: a second, and at once.
const PER_SECOND: u32 = 5;
const AT_ONCE: u32 = 20;
/// How many keys are looked up at once that were not admitted before: fewer than an address may
/// have in vain, so that customers who all come at once, after a restart, are not taken for
/// strangers.
const LOOK_UPS: usize = 16;
/// How many wrong secrets are logged: a second, and at once. All are counted.
const LINES_PER_SECOND: u32 = 1;
const LINES_AT_ONCE: u32 = 20;

/// A place that takes a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The API, with a key.
    Api,
    /// The operator's API, with the operator's token.
    OperatorApi,
    /// The metrics, with the operator's token.
    Metrics,
    /// Signing in to the console, with a key or the operator's token.
    SignIn,
    /// The console, with the cookie of a session.
    Session,
}

impl Entry {
    /// The name in the log and in the metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::OperatorApi => "operator_api",
            Self::Metrics => "metrics",
            Self::SignIn => "sign_in",
            Self::Session => "session",
        }
    }
}

/// Bounds how often an address comes with a wrong secret, at all entries together.
#[derive(Debug)]
pub struct SecretDoor {
    in_vain: CrowdLimiter<AddressBlock>,
    tokens: TokenGuesses,
    known: Known,
    turns: Semaphore,
    lines: Total,
}

impl SecretDoor {
    /// A door that has seen no secret, and counts by this clock.
    pub fn new(stopwatch: Stopwatch) -> Self {
        let lines = Gcra::new(LINES_PER_SECOND, LINES_AT_ONCE);
        Self {
            in_vain: CrowdLimiter::new(Gcra::new(PER_SECOND, AT_ONCE), stopwatch.clone()),
            tokens: TokenGuesses::new(&stopwatch),
            known: Known::new(),
            turns: Semaphore::new(LOOK_UPS),
            lines: Total::new(lines, stopwatch),
        }
    }

    /// Looks up the key or cookie with this hash. `from` is the address of the client; `None` for a
    /// request that came over no socket, which is not counted.
    ///
    /// # Errors
    ///
    /// 429 if the address came with too many wrong secrets, or what `looking_up` failed with.
    pub async fn look_up<T>(
        &self,
        entry: Entry,
        hash: KeyHash,
        from: Option<AddressBlock>,
        looking_up: impl Future<Output = Result<Option<T>, Error>>,
    ) -> Result<Option<T>, ApiError> {
        let counted = from.filter(|_| !self.known.has(hash.as_bytes()));
        // Its error is that of a closed semaphore, and this one is never closed.
        let _turn = match counted {
            Some(_) => self.turns.acquire().await.ok(),
            None => None,
        };
        // Counted before the look-up, so that many at once are bounded, too.
        let charge = match counted {
            Some(block) => Some(self.in_vain.admit(&block).map_err(ApiError::rate_limited)?),
            None => None,
        };
        let found = looking_up.await;
        match &found {
            Ok(Some(_)) => self.known.add(hash.as_bytes()),
            Ok(None) => self.known.forget(hash.as_bytes()),
            Err(_) => {}
        }
        if let (Ok(Some(_)) | Err(_), Some(charge)) = (&found, charge) {
            self.in_vain.refund(charge);
        }
        let found = found?;
        if found.is_none() {
            self.tell(entry, from);
        }
        Ok(found)
    }

    /// Whether `given` is the operator's token. `operator` is `None` where the operator does not
    /// sign in: then no token is right.
    ///
    /// # Errors
    ///
    /// 429 if the address came with too many wrong secrets.
    pub fn is_operator(
        &self,
        entry: Entry,
        given: OperatorHash,
        operator: Option<OperatorHash>,
        from: Option<AddressBlock>,
    ) -> Result<bool, ApiError> {
        let is_right = operator.is_some_and(|own| own == given);
        let Some(block) = from else { return Ok(is_right) };
        let charge = self.in_vain.admit(&block).map_err(ApiError::rate_limited)?;
        let guess = match self.tokens.admit(given, block) {
            Ok(guess) => guess,
            Err(seconds) => {
                self.in_vain.refund(charge);
                return Err(ApiError::rate_limited(seconds));
            }
        };
        if is_right {
            self.in_vain.refund(charge);
            self.tokens.was_right(guess);
        } else {
            self.tokens.was_wrong(given, &guess);
            self.tell(entry, from);
        }
        Ok(is_right)
    }

    /// Counts and logs a wrong secret.
    fn tell(&self, entry: Entry, from: Option<AddressBlock>) {
        metrics::counter!("sms_wrong_secrets_total", "door" => entry.as_str()).increment(1);
        if let Some(from) = from.filter(|_| self.lines.spend().is_ok()) {
            tracing::warn!(door = entry.as_str(), client = %from, "a wrong secret was tried");
        }
    }
}

#[cfg(test)]
mod tests;
