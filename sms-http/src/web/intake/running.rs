//! The handlers that run, including those whose clients have gone.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The running handlers. A server that stops waits for [`RunningHandlers::ended`].
#[derive(Debug, Clone, Default)]
pub struct RunningHandlers {
    running: Arc<Count>,
}

#[derive(Debug, Default)]
struct Count {
    handlers: AtomicUsize,
    /// Notified when the last handler has ended.
    none: Notify,
}

impl RunningHandlers {
    /// The number of running handlers.
    pub fn count(&self) -> usize {
        self.running.handlers.load(Ordering::Acquire)
    }

    /// Waits until no handler runs.
    pub async fn ended(&self) {
        loop {
            let mut none = pin!(self.running.none.notified());
            // From here on no notification is missed.
            none.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            none.await;
        }
    }

    pub(super) fn enter(&self) -> Running {
        self.running.handlers.fetch_add(1, Ordering::AcqRel);
        Running { running: Arc::clone(&self.running) }
    }
}

/// One running handler.
pub(super) struct Running {
    running: Arc<Count>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.running.handlers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.running.none.notify_waiters();
        }
    }
}
