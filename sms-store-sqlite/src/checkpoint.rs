//! Writes the log back to the file, and counts how long that takes. The writer does it after it has
//! answered the commands of a commit, so only those that come next wait for it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::SqlResult;

thread_local! {
    /// How many pages the log had after the last commit of this thread.
    static LOG: Cell<u32> = const { Cell::new(0) };
}

/// How often the log was written back to the file, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Checkpoints {
    /// How often, since the file was opened.
    pub count: u64,
    /// How long all of them took together.
    pub took: Duration,
}

/// Counts checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    count: AtomicU64,
    micros: AtomicU64,
}

impl Counted {
    pub(crate) fn read(&self) -> Checkpoints {
        Checkpoints {
            count: self.count.load(Ordering::Relaxed),
            took: Duration::from_micros(self.micros.load(Ordering::Relaxed)),
        }
    }

    fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

/// Has the connection say how long its log is. It then writes nothing back by itself.
pub(crate) fn watch(connection: &Connection) {
    connection.wal_hook(Some(|_, pages| {
        LOG.set(u32::try_from(pages).unwrap_or_default());
        Ok(())
    }));
}

/// Writes the log back if it has as many pages. 0 leaves that to another program. What readers
/// still need stays for the next time.
pub(crate) fn after_commit(connection: &Connection, pages: u32, counted: &Counted) {
    if pages == 0 || LOG.get() < pages {
        return;
    }
    let began = Instant::now();
    if let Err(error) = run(connection) {
        // The log grows, and the next commit tries again.
        tracing::warn!(%error, "the log could not be written back to the file");
        return;
    }
    counted.add(began.elapsed());
    LOG.set(0);
}

fn run(connection: &Connection) -> SqlResult<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
