//! PostgreSQL servers of the tests' own: made in a temporary folder, started on a free port, gone
//! when the tests are.
//!
//! [`Cluster`] is what most tests want: databases of their own, on a server started here or on the
//! one that `TEST_DATABASE_URL` names. [`Server`] is a server started here, which can be stopped
//! and started again, for what is tried with that. Nothing here knows a table.

#![deny(missing_docs)]
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod cluster;
mod programs;
mod server;

pub use cluster::Cluster;
pub use server::{Durability, Server, Stop};
