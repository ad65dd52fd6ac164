#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! One thread writes. It takes all commands that wait, runs each as the memory store does - read
//! the facts, let the core settle, write - in one transaction, and answers after the commit, which
//! syncs the log to disk. So a command sees what the ones before it wrote, no row is ever locked,
//! and many callers share one sync. A refused command writes nothing. If a command fails, the
//! transaction is rolled back, and each of its commands runs in one of its own.
//!
//! Readers have connections of their own and see the last commit. They never wait for the writer,
//! nor it for them.

#![deny(missing_docs)]
#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Cols` named as a function is not general over the lifetime of the row"
)]

mod account;
mod address_book;
mod backup;
mod built;
mod cache;
mod campaign;
mod campaign_row;
mod change;
mod checkpoint;
mod chores;
mod command;
mod contact;
mod conversation;
mod copy;
mod credits;
mod db;
mod delivery;
mod dispatch;
mod endpoint;
mod error;
mod event;
mod giving_up;
mod idempotency;
mod import;
mod inbound;
mod keyword;
mod known;
mod launch;
mod launching;
mod link;
mod list;
mod maintenance;
mod message;
mod message_list;
mod message_row;
mod new_file;
mod number;
mod open;
mod opt_out;
mod page;
mod page_check;
mod place;
mod queue;
mod readers;
mod receipt;
mod replay;
mod restore;
mod row;
mod rules;
mod seal;
mod search;
mod sender_name;
mod sending;
mod session;
mod settings;
mod space;
mod statistics;
mod store;
mod stretch;
mod template;
mod upkeep;
mod webhook;
mod writer;

pub use backup::backup_file;
pub use checkpoint::Checkpoints;
#[doc(hidden)]
pub use db::watch_statements;
pub use error::{FileMoved, Finding, MaintenanceError, OpenError};
pub use maintenance::{FileSizes, check_file};
pub use restore::restore_file;
pub use settings::SqliteSettings;
pub use store::SqliteStore;
