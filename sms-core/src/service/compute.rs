//! Where long computations run.

use std::fmt;
use std::num::NonZeroUsize;

use async_trait::async_trait;

pub use crate::sending::plan::Progress;
use crate::store::let_others_run;

/// A computation in portions of less than a millisecond each.
pub type Portions = Box<dyn FnMut() -> Progress + Send>;

/// Runs long computations, such as the plan of a send to a long list.
///
/// `Threads` of `sms-workers` runs them on tokio's threads for blocking work.
#[async_trait]
pub trait Compute: Send + Sync + fmt::Debug {
    /// How many long computations may run at once. The service starts no more.
    fn at_once(&self) -> NonZeroUsize;

    /// Calls `portions` until it returns [`Progress::Done`]. Dropping the future may leave one call
    /// under way.
    async fn run(&self, portions: Portions);
}

/// Runs long computations where they are asked for, and lets other tasks run after each portion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InPlace;

#[async_trait]
impl Compute for InPlace {
    fn at_once(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    async fn run(&self, mut portions: Portions) {
        while portions() == Progress::More {
            let_others_run().await;
        }
    }
}
