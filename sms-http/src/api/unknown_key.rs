//! Keys that no account has: how often a client may come with them.
//!
//! Each look-up of a key that is not cached asks the store. A client that makes keys up could
//! therefore keep the database busy. Its look-ups are counted by its address, and only those that
//! find no key count in the end. A key that this server admitted before is never refused for what
//! others at its address do: behind a proxy that is not trusted, all clients have one address.

use std::sync::atomic::{AtomicU64, Ordering};

use sms_core::account::api_key::KeyHash;
use sms_core::service::Caller;
use sms_core::{Error, Sms};
use tokio::sync::Semaphore;

use crate::rate_limit::crowd::CrowdLimiter;
use crate::rate_limit::{Gcra, Stopwatch};
use crate::web::client_address::AddressBlock;
use crate::web::error::ApiError;

/// How often an address may come with keys that no account has: a second, and at once.
const PER_SECOND: u32 = 5;
const AT_ONCE: u32 = 20;
/// How many keys are looked up at once that were not admitted before: fewer than an address may
/// have in vain, so that customers who all come at once, after a restart, are not taken for
/// strangers.
const LOOK_UPS: usize = 16;
/// How many keys are recognised. A key that another one displaces is looked up as if it were new.
const KNOWN_KEYS: usize = 16_384;

/// Looks keys up, and bounds how often an address does so in vain.
#[derive(Debug)]
pub(super) struct KeyLookUps {
    in_vain: CrowdLimiter<AddressBlock>,
    known: KnownKeys,
    turns: Semaphore,
}

impl KeyLookUps {
    pub(super) fn new(stopwatch: Stopwatch) -> Self {
        let in_vain = CrowdLimiter::new(Gcra::new(PER_SECOND, AT_ONCE), stopwatch);
        Self { in_vain, known: KnownKeys::new(), turns: Semaphore::new(LOOK_UPS) }
    }

    /// The caller with this key, if there is one. `from` is `None` for a request that came over no
    /// socket, which is not counted.
    pub(super) async fn caller(
        &self,
        sms: &Sms,
        token: &str,
        hash: KeyHash,
        from: Option<AddressBlock>,
    ) -> Result<Option<Caller>, ApiError> {
        let counted = from.filter(|_| !self.known.has(hash));
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
        let found: Result<Option<Caller>, Error> = sms.authenticate(token).await;
        match &found {
            Ok(None) => self.known.forget(hash),
            Ok(Some(_)) | Err(_) => {
                if let Some(charge) = charge {
                    self.in_vain.refund(charge);
                }
            }
        }
        if let Ok(Some(_)) = &found {
            self.known.add(hash);
        }
        Ok(found?)
    }
}

/// Keys that were admitted, in a fixed amount of memory: a part of each hash, at a place that
/// another part of it names.
#[derive(Debug)]
struct KnownKeys(Box<[AtomicU64]>);

impl KnownKeys {
    fn new() -> Self {
        Self((0..KNOWN_KEYS).map(|_| AtomicU64::new(0)).collect())
    }

    fn has(&self, hash: KeyHash) -> bool {
        let (place, mark) = self.place(hash);
        place.load(Ordering::Relaxed) == mark
    }

    fn add(&self, hash: KeyHash) {
        let (place, mark) = self.place(hash);
        // Most requests find it there, and then share the memory without writing to it.
        if place.load(Ordering::Relaxed) != mark {
            place.store(mark, Ordering::Relaxed);
        }
    }

    fn forget(&self, hash: KeyHash) {
        let (place, mark) = self.place(hash);
        // Another key may have taken the place meanwhile.
        let _ = place.compare_exchange(mark, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn place(&self, hash: KeyHash) -> (&AtomicU64, u64) {
        let (words, _) = hash.as_bytes().as_chunks::<8>();
        let [place, mark] = [0, 1].map(|word| u64::from_le_bytes(words[word]));
        // A remainder below the number of places fits.
        let place = usize::try_from(place % KNOWN_KEYS as u64).unwrap_or_default();
        (&self.0[place], mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_key_is_recognised_until_it_is_forgotten_or_displaced() {
        let known = KnownKeys::new();
        let hash = |first: u8, rest: u8| {
            let mut bytes = [rest; 32];
            bytes[0] = first;
            KeyHash::from_bytes(bytes)
        };
        let (one, displacing, elsewhere) = (hash(1, 7), hash(1, 7 ^ 0x40), hash(2, 7));
        known.add(one);
        assert!(known.has(one) && !known.has(displacing) && !known.has(elsewhere));
        known.forget(elsewhere);
        assert!(known.has(one));
        known.forget(one);
        assert!(!known.has(one));
        known.add(one);
        known.add(displacing);
        // Both have the same place if only the bits beyond it differ.
        assert!(known.has(displacing));
    }
}
