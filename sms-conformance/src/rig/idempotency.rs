//! Claims on idempotency keys.

use sms_core::idempotency::{Claim, Fingerprint, Once, Owner};

use super::{Rig, key};

/// What a command without a claim answered.
///
/// # Panics
///
/// When the store says that an earlier request has its key, because it has none.
pub fn done<T, E>(result: Result<Once<T>, E>) -> Result<T, E> {
    result.map(|once| match once {
        Once::Done(done) => done,
        Once::Earlier(earlier) => panic!("a command without a key found {earlier:?}"),
    })
}

impl Rig {
    /// A claim of now on a key, for a request with this meaning.
    pub fn key_claim(&self, owner: Owner, text: &str, meaning: &str) -> Claim {
        let fingerprint = Fingerprint::of_call("test", None, |fields| {
            fields.add("meaning", [meaning]);
        });
        Claim { owner, key: key(text), fingerprint, at: self.now() }
    }
}
