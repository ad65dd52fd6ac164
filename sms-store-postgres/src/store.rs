//! The store: its connections, its lanes of group commits and its caches. Each noun implements its
//! trait in a separate file, and [`connect`](crate::connect) starts the lanes.

use std::fmt;
use std::sync::Arc;

use sqlx::PgPool;
use tokio::sync::Semaphore;

use crate::cache::Caches;
use crate::group_commit::Lane;
use crate::group_commit::pooled::Pooled;
use crate::link::Clicks;
use crate::primary::Primary;
use crate::receipt::{Receipts, Reports};
use crate::sending::Sends;
use crate::webhook::attempt::Attempts;

/// Keeps everything in PostgreSQL 15 or later. Clones share the connections.
#[derive(Clone)]
pub struct PgStore {
    pub(crate) pool: PgPool,
    pub(crate) primary: Arc<Primary>,
    pub(crate) sends: Sends,
    pub(crate) receipts: Lane<Pooled<Receipts>>,
    pub(crate) reports: Lane<Pooled<Reports>>,
    pub(crate) attempts: Lane<Pooled<Attempts>>,
    pub(crate) clicks: Lane<Pooled<Clicks>>,
    pub(crate) launches: Arc<Semaphore>,
    pub(crate) caches: Arc<Caches>,
}

impl fmt::Debug for PgStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgStore").finish_non_exhaustive()
    }
}
