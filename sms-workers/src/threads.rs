//! Threads on which long computations run, apart from those of the runtime.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread::available_parallelism;

use async_trait::async_trait;
use sms_core::service::Compute;
use sms_core::service::compute::{Portions, Progress};
use tokio::task::spawn_blocking;

/// Runs long computations, such as the plan of a send to a long list, on tokio's threads for
/// blocking work. So they never hold up a task of the runtime.
///
/// ```
/// # use std::sync::Arc;
/// # use sms_core::Sms;
/// # use sms_store_memory::MemoryStore;
/// use sms_workers::Threads;
///
/// let sms = Sms::builder(MemoryStore::new()).compute(Arc::new(Threads::default())).build();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    at_once: NonZeroUsize,
}

impl Threads {
    /// Uses this many threads at once.
    pub fn new(at_once: NonZeroUsize) -> Self {
        Self { at_once }
    }
}

/// As many threads as half of the machine's cores, at least one: the other half is left to the
/// runtime.
impl Default for Threads {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Self::new(NonZeroUsize::new(cores / 2).unwrap_or(NonZeroUsize::MIN))
    }
}

#[async_trait]
impl Compute for Threads {
    fn at_once(&self) -> NonZeroUsize {
        self.at_once
    }

    async fn run(&self, mut portions: Portions) {
        let computing = spawn_blocking(move || while portions() == Progress::More {});
        if let Err(ended) = computing.await
            && let Ok(panic) = ended.try_into_panic()
        {
            resume_unwind(panic);
        }
    }
}
