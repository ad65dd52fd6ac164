//! Temporary PostgreSQL servers for tests: created in a temporary folder, started on a free port,
//! and removed when the tests end.
//!
//! Most tests use [`Cluster`]: separate databases on a server that this crate starts, or on the one
//! that `TEST_DATABASE_URL` names. [`Server`] is for tests that stop and restart a server. This
//! crate knows no tables.

#![deny(missing_docs)]
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod cluster;
mod disk;
mod programs;
mod server;

pub use cluster::Cluster;
pub use disk::{Disk, MountRefused};
pub use server::{Durability, Server, Stop};
