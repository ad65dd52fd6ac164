//! What the console needs of a sandbox: a server whose clock the operator moves.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sms_core::Error;

/// The clock of a sandbox.
pub trait SandboxClock: fmt::Debug + Send + Sync {
    /// How far the clock was moved since the start.
    fn moved(&self) -> Duration;

    /// Moves the clock, and returns when everything that fell due on the way is done.
    fn advance(&self, by: Duration) -> BoxFuture<'_, Result<(), Error>>;
}
