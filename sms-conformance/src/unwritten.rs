//! Stores in progress: methods that are not written yet, and the scenarios that need them.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Arc;

use sms_core::store::Store;

use crate::{Runner, Scenario};

/// What a stub panics with.
#[derive(Debug)]
struct Unwritten(&'static str);

/// The body of a method that a store in progress does not have yet.
///
/// [`Scenario::try_run`] recognises it, so that a scenario that needs the method counts as skipped
/// and not as failed.
///
/// # Panics
///
/// Always.
pub fn unwritten(method: &'static str) -> ! {
    panic_any(Unwritten(method))
}

/// How a scenario ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The store behaves as the scenario says.
    Passed,
    /// The scenario called this method, which the store does not have yet: see [`unwritten`].
    Needs(&'static str),
}

impl Scenario {
    /// Runs the scenario on a store in progress. It does what [`run`](Self::run) does, but a
    /// scenario that calls an [`unwritten`] method ends there.
    ///
    /// # Panics
    ///
    /// When the store does not behave as the scenario says, or an invariant does not hold.
    pub fn try_run(&self, store: Arc<dyn Store>, runner: Arc<dyn Runner>) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| self.run(store, runner))) {
            Ok(()) => Outcome::Passed,
            Err(panic) => match panic.downcast::<Unwritten>() {
                Ok(unwritten) => Outcome::Needs(unwritten.0),
                Err(failure) => resume_unwind(failure),
            },
        }
    }
}
