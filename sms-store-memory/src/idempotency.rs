//! Idempotency keys: what is remembered under them, and until when.

use async_trait::async_trait;
use sms_core::idempotency::store::IdempotencyStore;
use sms_core::idempotency::{Answer, Claim, Earlier, IdempotencyKey, Owner};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::remembered::Remembered;
use crate::state::State;

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
}

impl MemoryStore {
    pub(crate) fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> usize {
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
        removed
    }
}
