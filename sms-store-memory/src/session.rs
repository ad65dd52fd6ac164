//! Sessions of the console.

use std::cmp::Reverse;

use async_trait::async_trait;
use sms_core::session::store::SessionStore;
use sms_core::session::{Session, SessionHash};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;

#[async_trait]
impl SessionStore for MemoryStore {
    async fn session_create(&self, session: Session, most: usize) -> Result<(), StoreError> {
        let mut state = self.state();
        let holder = session.holder;
        state.sessions.insert(session.hash, session);
        let of_holder = state.sessions.values().filter(|one| one.holder.is_same(&holder));
        let mut ages: Vec<_> = of_holder.map(|one| (one.created_at, one.hash)).collect();
        ages.sort_unstable_by_key(|age| Reverse(*age));
        for (_, hash) in ages.into_iter().skip(most) {
            state.sessions.remove(&hash);
        }
        Ok(())
    }

    async fn session_find(&self, hash: SessionHash) -> Result<Option<Session>, StoreError> {
        Ok(self.state().sessions.get(&hash).cloned())
    }

    async fn session_delete(&self, hash: SessionHash) -> Result<(), StoreError> {
        self.state().sessions.remove(&hash);
        Ok(())
    }
}

impl MemoryStore {
    pub(crate) fn sessions_tidy(&self, before: Timestamp, limit: usize) -> usize {
        let mut state = self.state();
        let over = state.sessions.values().filter(|session| session.expires_at < before);
        let mut ends: Vec<_> = over.map(|session| (session.expires_at, session.hash)).collect();
        ends.sort_unstable();
        ends.truncate(limit);
        for (_, hash) in &ends {
            state.sessions.remove(hash);
        }
        ends.len()
    }
}
