//! Doing a request once: its idempotency key names it, and a repetition gets the first answer.
//!
//! Every call that makes something takes a key. The commit that makes it remembers the key with a
//! [fingerprint](Fingerprint) of what the request means and with an [`Answer`]: what the first
//! answer cannot be rebuilt without. A refused request is not remembered.
//!
//! The keys of an account are one space, whatever they are used for, and so are the operator's. A
//! key that was used for another request or another operation is a conflict.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::AccountId;
use crate::store_error::StoreError;
use crate::time::Timestamp;

pub(crate) mod fingerprint;
pub(crate) mod key;
pub mod store;

pub use fingerprint::{Fields, Fingerprint};
pub use key::{IdempotencyKey, MAX_KEY, NotAnIdempotencyKey};

/// How long a key is kept: 7 days.
pub const KEPT_FOR: Duration = Duration::from_hours(7 * 24);

/// Whose keys. Equal keys of different owners do not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The keys of one account, whatever its API key.
    Account(AccountId),
    /// The keys of the operator's calls.
    Operator,
}

/// A request's claim on an idempotency key. The command that it comes with takes effect only if
/// the key is free, and remembers its answer in the same commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Whose key it is.
    pub owner: Owner,
    /// The key, as the caller gave it.
    pub key: IdempotencyKey,
    /// The meaning of the request.
    pub fingerprint: Fingerprint,
    /// When the request was made.
    pub at: Timestamp,
}

/// What is remembered under a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The meaning of the request.
    pub fingerprint: Fingerprint,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// What is kept of its answer.
    pub kept: Kept,
}

/// What is kept of an answer.
#[derive(Clone, PartialEq, Eq)]
pub enum Kept {
    /// The [`Answer`] of a command, as JSON. Stores do not read it.
    Answer(Vec<u8>),
    /// A send, which has [its own form](crate::sending::idempotency::EarlierSend).
    Send,
}

/// Shows the size but no content, which may be personal.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Answer(bytes) => write!(f, "Answer({} bytes)", bytes.len()),
            Self::Send => f.write_str("Send"),
        }
    }
}

/// The answer of a command that can be repeated.
pub trait Answer: Sized {
    /// What a repetition needs besides its own request, which means the same as the first. Stores
    /// keep it for 7 days, so new fields need a default. It holds no secrets.
    type Kept: Serialize + DeserializeOwned;

    /// What to keep of this answer.
    fn kept(&self) -> Self::Kept;
}

/// The id and the time of creation of something. The rest of it, as it was created, follows from
/// the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Born<I> {
    /// The id, which a repetition returns again.
    pub id: I,
    /// When it was created.
    pub at: Timestamp,
}

/// What a store did with a command and its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the command may have done nothing"]
pub enum Once<T> {
    /// The command took effect. If it came with a claim, its answer is remembered.
    Done(T),
    /// Nothing was written, because an earlier request has the key.
    Earlier(Earlier),
}

/// The first answer, or what was kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled<T, K> {
    /// The command took effect now.
    First(T),
    /// It took effect earlier.
    Again(K),
}

/// Whether an answer is the first to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// The request was accepted now.
    First,
    /// A repetition of the first answer; nothing was done now.
    Repeated,
}

/// The result of a call that can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made<T> {
    /// What the call returns: on a repetition, what it returned the first time.
    pub value: T,
    /// Whether this is a repetition.
    pub replay: Replay,
}

/// Why an earlier request is not repeated.
#[derive(Debug, thiserror::Error)]
pub enum NotRepeated {
    /// The key belongs to an earlier request with a different meaning.
    #[error("this idempotency key was used for another request; use a new key")]
    Conflict,
    /// What was kept cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Claim {
    /// What is remembered for this claim with this answer.
    pub fn remembered<T: Answer>(&self, answer: &T) -> Earlier {
        // Kept answers are plain structs, which JSON can always represent.
        let bytes = serde_json::to_vec(&answer.kept()).unwrap_or_default();
        let Self { owner: _, key: _, fingerprint, at } = self;
        Earlier { fingerprint: *fingerprint, accepted_at: *at, kept: Kept::Answer(bytes) }
    }

    /// Until when keys were accepted that are free now.
    pub fn expired(&self) -> Timestamp {
        self.at.minus(KEPT_FOR)
    }

    /// What was kept of the answer to `earlier`, if this request repeats it.
    pub fn answer<T: Answer>(&self, earlier: &Earlier) -> Result<T::Kept, NotRepeated> {
        let Kept::Answer(bytes) = &earlier.kept else { return Err(NotRepeated::Conflict) };
        if earlier.fingerprint != self.fingerprint {
            return Err(NotRepeated::Conflict);
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let doing = "reading what is remembered under an idempotency key";
            NotRepeated::Store(StoreError::Internal { doing, source: Some(Box::new(error)) })
        })
    }
}

impl Earlier {
    /// Whether it is still remembered at `now`.
    pub fn is_kept(&self, now: Timestamp) -> bool {
        now.since(self.accepted_at) < KEPT_FOR
    }
}

impl<T> Once<T> {
    /// The same, with another answer.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Once<U> {
        match self {
            Self::Done(done) => Once::Done(change(done)),
            Self::Earlier(earlier) => Once::Earlier(earlier),
        }
    }
}

impl<T: Answer> Once<T> {
    /// The verdict for the request that made the claim. Without a claim, nothing is earlier.
    pub fn settle(self, claim: Option<&Claim>) -> Result<Settled<T, T::Kept>, NotRepeated> {
        match (self, claim) {
            (Self::Done(done), _) => Ok(Settled::First(done)),
            (Self::Earlier(earlier), Some(claim)) => {
                claim.answer::<T>(&earlier).map(Settled::Again)
            }
            (Self::Earlier(_), None) => Err(NotRepeated::Conflict),
        }
    }
}

impl<T, K> Settled<T, K> {
    /// The result of the call, whose first answer `rebuild` makes from what was kept.
    pub fn made(self, rebuild: impl FnOnce(K) -> T) -> Made<T> {
        match self {
            Self::First(value) => Made { value, replay: Replay::First },
            Self::Again(kept) => Made::again(rebuild(kept)),
        }
    }
}

impl<T> Made<T> {
    /// The answer to a request that took effect now.
    pub fn first(value: T) -> Self {
        Self { value, replay: Replay::First }
    }

    /// A repetition of the first answer.
    pub fn again(value: T) -> Self {
        Self { value, replay: Replay::Repeated }
    }

    /// The same, with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Made<U> {
        Made { value: change(self.value), replay: self.replay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Mode;
    use crate::ids::TemplateId;
    use crate::samples::{account_id, now};
    use crate::template::{Template, TemplateInput};

    fn claim(name: &str) -> Claim {
        Claim {
            owner: Owner::Account(account_id()),
            key: "k".parse().unwrap(),
            fingerprint: Fingerprint::of_call("template_create", Some(Mode::Live), |fields| {
                TemplateInput::new(name, "b").meaning(fields);
            }),
            at: now(),
        }
    }

    fn template() -> Template {
        TemplateInput::new("a", "b").into_template(TemplateId::from_u128(1), account_id(), now())
    }

    #[test]
    fn what_is_remembered_answers_the_same_request_and_no_other() {
        let earlier = claim("a").remembered(&template());
        let born = claim("a").answer::<Template>(&earlier).unwrap();
        assert_eq!(born, Born { id: template().id, at: now() });
        let other = claim("b").answer::<Template>(&earlier);
        assert!(matches!(other, Err(NotRepeated::Conflict)));
        let send = Earlier { kept: Kept::Send, ..earlier.clone() };
        assert!(matches!(claim("a").answer::<Template>(&send), Err(NotRepeated::Conflict)));
        let broken = Earlier { kept: Kept::Answer(b"{}".to_vec()), ..earlier };
        assert!(matches!(claim("a").answer::<Template>(&broken), Err(NotRepeated::Store(_))));
    }

    #[test]
    fn what_is_stored_of_something_new_stays_readable() {
        // Stores keep these bytes for 7 days. A change of this form refuses repetitions of
        // requests that were accepted before the change.
        let Kept::Answer(bytes) = claim("a").remembered(&template()).kept else { panic!() };
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            r#"{"id":"tpl_00000000000000000000000001","at":"2026-11-21T07:07:10.123Z"}"#
        );
    }

    #[test]
    fn a_key_is_kept_for_seven_days() {
        let earlier = claim("a").remembered(&template());
        assert_eq!(KEPT_FOR, Duration::from_hours(7 * 24));
        assert!(earlier.is_kept(now().plus(KEPT_FOR).minus(Duration::from_millis(1))));
        assert!(!earlier.is_kept(now().plus(KEPT_FOR)));
        assert_eq!(claim("a").expired().plus(KEPT_FOR), now());
    }
}
