//! Idempotency keys: what is remembered under them, and until when.

use async_trait::async_trait;
use sms_core::idempotency::store::IdempotencyStore;
use sms_core::idempotency::{Answer, Claim, Earlier, IdempotencyKey, Kept, Owner};
use sms_core::sending::idempotency::{EarlierSend, KeyUse};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

/// What is remembered under a key.
pub(crate) enum Remembered {
    /// A send.
    Send(EarlierSend),
    /// Any other command.
    Command(Earlier),
}

impl Remembered {
    fn accepted_at(&self) -> Timestamp {
        match self {
            Self::Send(earlier) => earlier.accepted_at,
            Self::Command(earlier) => earlier.accepted_at,
        }
    }

    /// As a send finds it.
    pub(crate) fn key_use(&self) -> KeyUse {
        match self {
            Self::Send(earlier) => KeyUse::Send(earlier.clone()),
            Self::Command(earlier) => KeyUse::Other { accepted_at: earlier.accepted_at },
        }
    }

    /// As every other command finds it.
    fn earlier(&self) -> Earlier {
        match self {
            Self::Command(earlier) => earlier.clone(),
            Self::Send(EarlierSend { fingerprint, accepted_at, .. }) => {
                Earlier { fingerprint: *fingerprint, accepted_at: *accepted_at, kept: Kept::Send }
            }
        }
    }
}

impl State {
    /// What is remembered under the key of a claim. A command that finds something writes nothing.
    pub(crate) fn earlier(&self, claim: Option<&Claim>) -> Option<Earlier> {
        let claim = claim?;
        let found = self.remembered.get(&(claim.owner, claim.key.clone()));
        found.map(Remembered::earlier).filter(|earlier| earlier.is_kept(claim.at))
    }

    /// Remembers the answer of a command that came with a claim.
    pub(crate) fn remember(&mut self, claim: Option<&Claim>, answer: &impl Answer) {
        if let Some(claim) = claim {
            let earlier = Remembered::Command(claim.remembered(answer));
            self.remember_key(claim.owner, claim.key.clone(), earlier);
        }
    }

    pub(crate) fn remember_key(&mut self, owner: Owner, key: IdempotencyKey, what: Remembered) {
        self.key_ages.insert((what.accepted_at(), owner, key.clone()));
        self.remembered.insert((owner, key), what);
    }
}

#[async_trait]
impl IdempotencyStore for MemoryStore {
    async fn idempotency_find(
        &self,
        owner: Owner,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<Earlier>, StoreError> {
        let state = self.state();
        let found = state.remembered.get(&(owner, key.clone())).map(Remembered::earlier);
        Ok(found.filter(|earlier| earlier.is_kept(at)))
    }

    async fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut state = self.state();
        let mut removed = 0;
        while removed < limit {
            if state.key_ages.first().is_none_or(|(accepted_at, _, _)| *accepted_at >= before) {
                break;
            }
            let Some((accepted_at, owner, key)) = state.key_ages.pop_first() else { break };
            // The key may have been used again since.
            let is_same = |what: &Remembered| what.accepted_at() == accepted_at;
            if state.remembered.get(&(owner, key.clone())).is_some_and(is_same) {
                state.remembered.remove(&(owner, key));
                removed += 1;
            }
        }
        Ok(removed)
    }
}
