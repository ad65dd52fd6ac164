//! The audit: what must hold in the data, at every moment and at the end.
//!
//! [`rules`] are queries whose every row is a violation. [`messages`] compares the messages with
//! what clients were told and networks recorded. [`webhooks`] compares the deliveries with what the
//! receiver accepted. [`file`](mod@file) reads the same from the file store.

mod books;
pub(super) mod file;
pub(super) mod messages;
pub(super) mod rules;
pub(super) mod webhooks;

pub(super) use books::Books;
