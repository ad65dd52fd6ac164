#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! It is the reference for other stores, simple enough to check by reading. Each command takes the
//! lock, reads its facts, asks the core to settle, and then makes writes that cannot fail. So a
//! command is never half done, and no code has to undo one. The store decides nothing.
//!
//! Pages, claims and lookups use indexes, with three exceptions: a search for words reads every
//! message that passes the rest of the filter, a list of unread conversations skips the read ones,
//! and a list of opt-outs reads all opt-outs of its account.

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

/// A store that keeps everything in memory and loses it when dropped.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// Locks the whole state. A command holds the lock to its end, and never across an `await`.
    fn state(&self) -> MutexGuard<'_, State> {
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
