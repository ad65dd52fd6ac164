//! The rotation of an endpoint's secrets, and which of them sign a delivery.

use std::time::Duration;

use super::sealing::{SealError, SecretPlace, SecretSealer, StoredSecret};
use super::secret::Secret;
use crate::time::Timestamp;

/// How long an old secret stays valid after a rotation: 24 hours.
pub const OLD_SECRET_VALID_FOR: Duration = Duration::from_hours(24);

/// The secret before the last rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSecret {
    /// The secret as a store keeps it.
    pub secret: StoredSecret,
    /// Until when deliveries are signed with it too.
    pub until: Timestamp,
}

/// The secrets that sign a delivery. A receiver accepts it with any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningSecrets<S = Secret> {
    /// The secret that was shown last.
    pub current: S,
    /// The one before it, while it is valid.
    pub old: Option<S>,
}

impl SigningSecrets<StoredSecret> {
    /// Opens the secrets of an endpoint.
    pub fn open(
        &self,
        sealer: &dyn SecretSealer,
        place: SecretPlace,
    ) -> Result<SigningSecrets, SealError> {
        let old = self.old.as_ref().map(|old| sealer.open(place, old));
        Ok(SigningSecrets { current: sealer.open(place, &self.current)?, old: old.transpose()? })
    }

    /// The secrets that are valid at `at`.
    pub fn at(current: &StoredSecret, old: Option<&OldSecret>, at: Timestamp) -> Self {
        let old = old.filter(|old| at < old.until).map(|old| old.secret.clone());
        Self { current: current.clone(), old }
    }
}

impl SigningSecrets {
    /// The secrets in plain text, the current one first.
    pub fn reveal(&self) -> Vec<&str> {
        std::iter::once(&self.current).chain(&self.old).map(Secret::reveal).collect()
    }
}

/// A change of an endpoint's secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretChange {
    /// A new secret. The one before it stays valid for [`OLD_SECRET_VALID_FOR`]; one that is older
    /// still ends.
    Replace(StoredSecret),
    /// A new secret, and no other is valid.
    ReplaceAtOnce(StoredSecret),
    /// The secret stays. An old one that is still valid ends.
    EndOld,
}

impl SecretChange {
    /// The secret and the old one after the change at `at`.
    pub(super) fn apply(
        self,
        present: StoredSecret,
        at: Timestamp,
    ) -> (StoredSecret, Option<OldSecret>) {
        match self {
            Self::Replace(new) => {
                let until = at.plus(OLD_SECRET_VALID_FOR);
                (new, Some(OldSecret { secret: present, until }))
            }
            Self::ReplaceAtOnce(new) => (new, None),
            Self::EndOld => (present, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{now, seconds};

    #[test]
    fn an_old_secret_is_valid_for_a_day_unless_it_is_ended() {
        let named = |name: &str| StoredSecret::from(Secret::from_stored(name.to_owned()));
        let old = |name| Some(OldSecret { secret: named(name), until: seconds(86_400) });
        for (change, expected) in [
            (SecretChange::Replace(named("new")), (named("new"), old("present"))),
            (SecretChange::ReplaceAtOnce(named("new")), (named("new"), None)),
            (SecretChange::EndOld, (named("present"), None)),
        ] {
            assert_eq!(change.apply(named("present"), now()), expected);
        }
        let valid = |seconds_| {
            let secrets =
                SigningSecrets::at(&named("new"), old("present").as_ref(), seconds(seconds_));
            let kept = std::iter::once(&secrets.current).chain(&secrets.old);
            kept.map(StoredSecret::to_stored).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(valid(0), "new present");
        assert_eq!(valid(86_399), "new present");
        assert_eq!(valid(86_400), "new");
        assert_eq!(SigningSecrets::at(&named("new"), None, now()).old, None);
    }
}
