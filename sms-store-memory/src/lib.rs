#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! It is the reference for other stores, simple enough to check by reading. Each command takes the
//! lock, reads its facts, asks the core to settle, and then makes writes that cannot fail. So a
//! command is never half done, and no code has to undo one. The store decides nothing.
//!
//! Pages, claims and lookups use indexes, with three exceptions: a search for words looks at the
//! messages that pass the rest of the filter, a list of unread conversations skips the read ones,
//! and a list of opt-outs reads all opt-outs of its account. These release the lock after each
//! portion, so that others need not wait for them (`search.rs`).

#![deny(missing_docs)]

mod account;
mod address_book;
mod campaign;
mod contact;
mod conversation;
mod credits;
mod delivery;
mod dispatch;
mod event;
mod event_log;
mod idempotency;
mod inbound;
mod inbound_segment;
mod inbox;
mod keyword;
mod keyword_index;
mod link;
mod link_index;
mod list;
mod message;
mod message_index;
mod number;
mod opt_out;
mod queue;
mod receipt;
mod remembered;
mod search;
mod sender_name;
mod sending;
mod sent_segment;
mod session;
mod state;
mod statistics;
mod store;
mod template;
mod upkeep;
mod webhook;

pub use store::MemoryStore;
