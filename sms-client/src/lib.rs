#![doc = include_str!("../README.md")]
//!
//! # Where things live
//!
//! Each operation of the API is a method of [`Client`] with the operation's name in the OpenAPI
//! document, in the module of its noun. [`Call`] is made when it is awaited; [`Listing`] reads
//! pages; [`retry`] says what is tried again.

#![deny(missing_docs)]

pub mod account;
pub mod api_key;
mod call;
pub mod campaign;
mod choice;
pub mod client;
pub mod contact;
pub mod conversation;
pub mod error;
mod etag;
pub mod event;
mod follow;
pub mod idempotency;
pub mod ids;
pub mod keyword;
pub mod link;
pub mod list;
mod listing;
pub mod message;
pub mod operator;
pub mod opt_out;
mod patch;
mod private_text;
mod random;
pub mod retry;
pub mod send;
pub mod sender_name;
mod sse;
pub mod template;
mod timestamp;
mod transport;
pub mod webhook;

pub use call::{Answer, Call, KeyedCall, Tagged, TaggedCall};
pub use client::{Client, NotAClient};
pub use error::{Error, ErrorCode};
pub use etag::ETag;
pub use idempotency::IdempotencyKey;
pub use listing::{LARGEST_PAGE, Listing, NextPage, Page, PageMeta};
pub use operator::OperatorClient;
pub use patch::Patch;
pub use private_text::{ApiKey, Phone, WebhookSecret, Words};
pub use retry::Retries;
pub use send::SendRequest;
pub use timestamp::{NotATime, Timestamp};
