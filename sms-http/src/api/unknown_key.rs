//! Keys that no account has: how often a client may come with them.
//!
//! Each look-up of a key that is not cached asks the store. A client that makes keys up could
//! therefore keep the database busy. Its look-ups are counted by its address, and only those that
//! find no key count in the end. A key that this server admitted before is never refused for what
//! others at its address do: behind a proxy that is not trusted, all clients have one address.

use std::sync::atomic::{AtomicU64, Ordering};

use sms_core::Error;
use sms_core::account::api_key::KeyHash;
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

/// Bounds how often an address looks up keys in vain.
#[derive(Debug)]
pub(crate) struct KeyLookUps {
    in_vain: CrowdLimiter<AddressBlock>,
    known: KnownKeys,
    turns: Semaphore,
}

impl KeyLookUps {
    pub(crate) fn new(stopwatch: Stopwatch) -> Self {
        let in_vain = CrowdLimiter::new(Gcra::new(PER_SECOND, AT_ONCE), stopwatch);
        Self { in_vain, known: KnownKeys::new(), turns: Semaphore::new(LOOK_UPS) }
    }

    /// Looks up the key with this hash. `from` is the address of the client; `None` for a request
    /// that came over no socket, which is not counted.
    pub(crate) async fn look_up<T>(
        &self,
        hash: KeyHash,
        from: Option<AddressBlock>,
        looking_up: impl Future<Output = Result<Option<T>, Error>>,
    ) -> Result<Option<T>, ApiError> {
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
        let found = looking_up.await;
        match &found {
            Ok(Some(_)) => self.known.add(hash),
            Ok(None) => self.known.forget(hash),
            Err(_) => {}
        }
        if let (Ok(Some(_)) | Err(_), Some(charge)) = (&found, charge) {
            self.in_vain.refund(charge);
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
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;
    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn customers_who_all_come_at_once_take_turns_and_none_is_refused() {
        let look_ups = KeyLookUps::new(Stopwatch::default());
        let one_address = Some(AddressBlock::of("203.0.113.9".parse().unwrap()));
        let (answer, answered) = watch::channel(false);
        let looking_up = async || {
            answered.clone().wait_for(|answered| *answered).await.unwrap();
            Ok(Some(()))
        };
        let customers = (0..3 * AT_ONCE).map(|n| {
            let hash = KeyHash::from_bytes([u8::try_from(n).unwrap(); 32]);
            Box::pin(look_ups.look_up(hash, one_address, looking_up()))
        });
        let mut customers: Vec<_> = customers.collect();
        for customer in &mut customers {
            assert!(customer.now_or_never().is_none(), "refused before the store has answered");
        }
        answer.send_replace(true);
        for found in join_all(customers).await {
            assert!(found.unwrap().is_some());
        }
    }

    fn hash(n: u32) -> KeyHash {
        let mut bytes = [7; 32];
        bytes[8..12].copy_from_slice(&n.to_le_bytes());
        KeyHash::from_bytes(bytes)
    }

    #[tokio::test]
    async fn a_key_that_was_revoked_is_counted_like_one_that_was_made_up() {
        let look_ups = KeyLookUps::new(Stopwatch::default());
        let from = Some(AddressBlock::of("203.0.113.9".parse().unwrap()));
        let ask = async |found| look_ups.look_up(hash(1), from, async { Ok(found) }).await;
        for _ in 0..100 {
            assert_eq!(ask(Some(())).await.unwrap(), Some(()), "a known key is not counted");
        }
        // The first look-up finds out that it was revoked.
        for _ in 0..=AT_ONCE {
            assert_eq!(ask(None).await.unwrap(), None);
        }
        assert!(ask(None).await.is_err());
    }

    #[tokio::test]
    async fn a_look_up_that_failed_is_not_counted() {
        let look_ups = KeyLookUps::new(Stopwatch::default());
        let from = Some(AddressBlock::of("203.0.113.9".parse().unwrap()));
        for n in 0..10 * AT_ONCE {
            let fails = async { Err::<Option<()>, _>(Error::Busy) };
            let failed = look_ups.look_up(hash(n), from, fails).await.unwrap_err();
            assert_eq!(failed.code(), "unavailable", "{n}");
        }
    }

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
