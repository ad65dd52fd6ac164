//! Sealing what is stored with the current key.

use super::endpoint::Endpoint;
use super::rotation::OldSecret;
use super::sealing::{SealError, SecretPlace, SecretSealer, StoredSecret};
use crate::random::Random;
use crate::time::Timestamp;

/// The secrets of an endpoint as a store keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSecrets {
    /// The secret that signs deliveries now.
    pub secret: StoredSecret,
    /// The secret before the last rotation, if there is one.
    pub old: Option<OldSecret>,
}

impl EndpointSecrets {
    /// Those of an endpoint.
    pub fn of(endpoint: &Endpoint) -> Self {
        Self { secret: endpoint.secret.clone(), old: endpoint.old_secret.clone() }
    }
}

/// The secrets of an endpoint, sealed with another key than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResealPlan {
    /// The account and the endpoint.
    pub place: SecretPlace,
    /// The secrets as they were read.
    pub before: EndpointSecrets,
    /// The same secrets from now on.
    pub after: EndpointSecrets,
}

impl ResealPlan {
    /// Opens the secrets of an endpoint that are valid at `at`, and seals those that are not sealed
    /// with the current key. An old secret that has ended goes. `None` if nothing changes.
    pub fn of(
        endpoint: &Endpoint,
        sealer: &dyn SecretSealer,
        random: &dyn Random,
        at: Timestamp,
    ) -> Result<Option<Self>, SealError> {
        let place = endpoint.secret_place();
        let reseal = |stored: &StoredSecret| {
            let secret = sealer.open(place, stored)?;
            let is_current = sealer.is_current(stored);
            if is_current { Ok(stored.clone()) } else { sealer.seal(place, &secret, random) }
        };
        let before = EndpointSecrets::of(endpoint);
        let secret = reseal(&before.secret)?;
        let old = before.old.as_ref().filter(|old| at < old.until);
        let old = old.map(|old| Ok(OldSecret { secret: reseal(&old.secret)?, until: old.until }));
        let after = EndpointSecrets { secret, old: old.transpose()? };
        Ok((before != after).then_some(Self { place, before, after }))
    }

    /// The secrets after the change; `None` if they have changed since they were read.
    pub fn settle(&self, found: &EndpointSecrets) -> Option<EndpointSecrets> {
        (*found == self.before).then(|| self.after.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SeededRandom;
    use crate::samples::{endpoint, now, seconds};
    use crate::webhook::sealing::{PlainSecrets, SealingKeyId};
    use crate::webhook::secret::Secret;

    fn plain(text: &str) -> StoredSecret {
        Secret::from_stored(text.to_owned()).into()
    }

    fn sealed(key: &str, bytes: &[u8]) -> StoredSecret {
        StoredSecret::Sealed { key: SealingKeyId::new(key).unwrap(), bytes: bytes.to_vec() }
    }

    /// Seals by turning the text around, with key `new`; opens what key `old` sealed too.
    #[derive(Debug)]
    struct Turned;

    impl SecretSealer for Turned {
        fn seal(
            &self,
            _: SecretPlace,
            secret: &Secret,
            _: &dyn Random,
        ) -> Result<StoredSecret, SealError> {
            Ok(sealed("new", &secret.reveal().bytes().rev().collect::<Vec<_>>()))
        }

        fn open(&self, place: SecretPlace, stored: &StoredSecret) -> Result<Secret, SealError> {
            match stored {
                StoredSecret::Sealed { key, bytes }
                    if matches!(key.to_string().as_str(), "new" | "old") =>
                {
                    let text = bytes.iter().rev().copied().map(char::from).collect();
                    Ok(Secret::from_stored(text))
                }
                other => PlainSecrets.open(place, other),
            }
        }

        fn is_current(&self, stored: &StoredSecret) -> bool {
            matches!(stored, StoredSecret::Sealed { key, .. } if key.to_string() == "new")
        }
    }

    #[test]
    fn secrets_that_are_not_sealed_with_the_current_key_are_sealed_and_expired_ones_dropped() {
        let old = |secret, until| Some(OldSecret { secret, until: seconds(until) });
        let with = |secret, old_secret| Endpoint { secret, old_secret, ..endpoint() };
        let current = sealed("new", b"c");
        for (before, expected) in [
            (with(plain("c"), None), Some((current.clone(), None))),
            (with(sealed("old", b"c"), None), Some((current.clone(), None))),
            (with(current.clone(), None), None),
            (with(current.clone(), old(current.clone(), 1)), None),
            (
                with(current.clone(), old(plain("p"), 1)),
                Some((current.clone(), old(sealed("new", b"p"), 1))),
            ),
            // It is not even opened.
            (with(current.clone(), old(sealed("lost", b"p"), 0)), Some((current.clone(), None))),
        ] {
            let random = SeededRandom::new(1);
            let plan = ResealPlan::of(&before, &Turned, &random, now()).unwrap();
            let after = plan.as_ref().and_then(|plan| plan.settle(&EndpointSecrets::of(&before)));
            assert_eq!(after.map(|after| (after.secret, after.old)), expected);
            let changed = with(plain("changed"), None);
            assert_eq!(plan.and_then(|plan| plan.settle(&EndpointSecrets::of(&changed))), None);
        }
        let lost = with(sealed("lost", b"c"), None);
        let refused = ResealPlan::of(&lost, &Turned, &SeededRandom::new(1), now());
        let key = SealingKeyId::new("lost").unwrap();
        assert_eq!(refused, Err(SealError::UnknownKey(key)));
    }
}
