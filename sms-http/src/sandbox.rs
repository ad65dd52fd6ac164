//! The sandbox: a server whose clock the operator moves.
//!
//! Between moves its workers do what falls due, as in any other server. A move pauses them: it
//! waits until they have finished what they do, and goes from one moment at which something falls
//! due to the next by [`Sms::pass`].

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sms_core::clock::MovableClock;
use sms_core::ids::NumberId;
use sms_core::{Error, Sms};
use sms_workers::{PauseSwitch, WorkerOptions};

/// A service and the clock that it goes by.
#[derive(Debug, Clone)]
pub struct Sandbox {
    sms: Sms,
    clock: Arc<MovableClock>,
    /// Pauses the workers while the clock moves.
    workers: PauseSwitch,
    /// The demo's own number: its gateway checks in on real time, which a move leaves behind.
    demo_number: Arc<OnceLock<NumberId>>,
}

impl Sandbox {
    /// A sandbox over a service that was built with this clock.
    pub fn new(sms: Sms, clock: Arc<MovableClock>) -> Self {
        Self { sms, clock, workers: PauseSwitch::default(), demo_number: Arc::default() }
    }

    /// Keeps this number online however far the clock is moved.
    pub fn keep_online(&self, number: NumberId) {
        // There is one demo.
        let _ = self.demo_number.set(number);
    }

    /// The service whose clock it is.
    pub fn sms(&self) -> &Sms {
        &self.sms
    }

    /// How far the clock was moved since the start.
    pub fn moved(&self) -> Duration {
        self.clock.moved()
    }

    /// Moves the clock on, and returns when all that fell due on the way was done.
    pub async fn advance(&self, by: Duration) -> Result<(), Error> {
        let _paused = self.workers.pause().await;
        self.sms.pass(&self.clock, by).await?;
        if let Some(number) = self.demo_number.get() {
            match self.sms.operator().number_check_in(*number).await {
                // The operator removed it.
                Ok(()) | Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Lets this sandbox pause the workers.
    pub(crate) fn worker_options(&self) -> WorkerOptions {
        WorkerOptions::new().pausable(&self.workers)
    }
}
