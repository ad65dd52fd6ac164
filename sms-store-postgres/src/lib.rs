#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! Rules stay in the core. A command opens a transaction, writes what is bulky, locks the rows that
//! its verdict depends on, asks the core to settle, and writes the verdict with a handful of
//! statements, whatever the number of messages. All commands take locks in the same order:
//! campaigns, the segments of an inbound message, queue rows, messages, submitted segments, links
//! by id, numbers, address books by account, accounts by id, conversations, inboxes, endpoints by
//! id, deliveries. Workers skip rows that others have locked.
//!
//! Programs that share a database also share: [`PgClock`] gives all of them its time, [`PgWake`]
//! wakes one when another has found work, and [`PgRateLimit`] counts the requests of all.
//!
//! The files in `migrations/` describe the tables.

#![deny(missing_docs)]

mod account;
mod address;
mod address_book;
mod begin;
mod cache;
mod campaign;
mod campaign_counts;
mod change;
mod clock;
mod compatibility;
mod connect;
mod contact;
mod conversation;
mod copy;
mod copy_journal;
mod credits;
mod delivery;
mod dispatch;
mod error;
mod event;
mod fingerprint;
mod group_commit;
mod guarded;
mod idempotency;
mod inbound;
mod inbound_segment;
mod keyword;
mod link;
mod list;
mod looked_at;
mod message;
mod migrate;
mod new_message;
mod number;
mod opt_out;
mod pool;
mod primary;
mod rate_limit;
mod receipt;
mod reply_count;
mod retention;
mod retired;
mod row;
mod rows_query;
mod sender_name;
mod sending;
mod sent_segment;
mod session;
mod silence;
mod statistics;
mod store;
mod template;
mod timeline;
mod upkeep;
mod wake;
mod webhook;
mod wire;

pub use clock::PgClock;
pub use connect::PgSettings;
pub use error::ConnectFailed;
pub use rate_limit::{PgRateLimit, RateLot};
pub use store::PgStore;
pub use wake::PgWake;
