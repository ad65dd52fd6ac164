//! The in-memory store: every store trait of `sms-core` over one lock and ordered maps.
//!
//! It is the reference a reader can check by eye: each command takes the lock, reads its facts,
//! asks the core to settle, and then only makes writes that cannot fail. So nothing is ever half
//! done and there is no way back to be programmed. What it decides itself is nothing.
//!
//! Pages, claims and look-ups go through indexes and never scan everything, but for three: a search
//! for words reads what the rest of the filter leaves, a list of unread conversations passes over
//! those that are read, and a list of opt-outs reads all of its account's.
//!
//! ```
//! use std::sync::Arc;
//! use sms_core::Sms;
//! use sms_store_memory::MemoryStore;
//!
//! let sms = Sms::builder(Arc::new(MemoryStore::new())).build();
//! ```

#![deny(missing_docs)]

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use sms_core::store::{Health, StoreError};

mod account;
mod address_book;
mod campaign;
mod contact;
mod conversation;
mod credits;
mod delivery;
mod dispatch;
mod inbound;
mod inbound_part;
mod keyword;
mod link;
mod list;
mod message;
mod message_index;
mod number;
mod opt_out;
mod queue;
mod receipt;
mod sender_name;
mod sending;
mod sent_part;
mod state;
mod statistics;
mod template;
mod webhook;

use state::State;

/// Keeps everything in memory; nothing outlives it.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The whole state. Held for one command, and never over an `await`.
    fn state(&self) -> MutexGuard<'_, State> {
        // A command that panicked did so before its writes, which cannot fail.
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
