//! What runs futures: the part of a scenario that depends on the store's runtime.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;

use futures_util::future::BoxFuture;

/// Runs the futures of scenarios. The author of a store that needs a runtime writes one over it.
pub trait Runner: Send + Sync + fmt::Debug {
    /// Runs one future to its end. A panic in it continues in the caller.
    fn block_on(&self, future: BoxFuture<'_, ()>);

    /// Runs all of them to their ends, concurrently: none may wait for another to be done. A panic
    /// in one continues in the caller when all have ended.
    ///
    /// It is called within [`Runner::block_on`], and may block its thread.
    fn race(&self, futures: Vec<BoxFuture<'static, ()>>);
}

/// A thread for each future, for stores that need no runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadRunner;

impl Runner for ThreadRunner {
    fn block_on(&self, future: BoxFuture<'_, ()>) {
        futures_executor::block_on(future);
    }

    fn race(&self, futures: Vec<BoxFuture<'static, ()>>) {
        let start = Barrier::new(futures.len());
        let run = |future| {
            start.wait();
            futures_executor::block_on(future);
        };
        thread::scope(|scope| {
            let spawn = |future| scope.spawn(|| run(future));
            let threads: Vec<_> = futures.into_iter().map(spawn).collect();
            let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
            for result in results {
                result.unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
    }
}
