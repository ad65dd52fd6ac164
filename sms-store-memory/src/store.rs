//! The store: one lock around the whole state. Each noun implements its trait in a file named
//! after it.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use sms_core::store::{Health, StoreError};

use crate::state::State;

/// A store that keeps everything in memory and loses it when dropped.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// A store without accounts; everything is lost when it is dropped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the whole state. A command holds the lock to its end, and never across an `await`.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is safe: writes cannot panic, so a command that panicked wrote nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl Health for MemoryStore {
    async fn health_check(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
