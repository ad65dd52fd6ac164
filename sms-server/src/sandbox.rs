//! The sandbox: a server whose clock the operator can advance.
//!
//! In between, its workers do what falls due, as in any other server. To advance the clock, the
//! sandbox pauses the workers, waits until they have finished their current work, and calls
//! [`Sms::pass`], which goes from each time at which something falls due to the next.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::clock::MovableClock;
use sms_core::ids::NumberId;
use sms_core::service::sandbox::SandboxClock;
use sms_core::{Error, Sms};
use sms_workers::{PauseSwitch, WorkerOptions};

/// A service and its clock.
#[derive(Debug, Clone)]
pub struct Sandbox {
    sms: Sms,
    clock: Arc<MovableClock>,
    /// Pauses the workers while the clock advances.
    workers: PauseSwitch,
    /// The demo's number. Its gateway checks in on real time, so it must check in after each
    /// advance.
    demo_number: Arc<OnceLock<NumberId>>,
}

impl Sandbox {
    /// A sandbox for a service that was built with this clock.
    pub fn new(sms: Sms, clock: Arc<MovableClock>) -> Self {
        Self { sms, clock, workers: PauseSwitch::default(), demo_number: Arc::default() }
    }

    /// Keeps this number online, however far the clock advances.
    pub fn keep_online(&self, number: NumberId) {
        // There is only one demo, so the cell is empty.
        let _ = self.demo_number.set(number);
    }

    /// Lets this sandbox pause the workers.
    pub(crate) fn worker_options(&self) -> WorkerOptions {
        WorkerOptions::new().pausable(&self.workers)
    }
}

#[async_trait]
impl SandboxClock for Sandbox {
    fn moved(&self) -> Duration {
        self.clock.moved()
    }

    async fn advance(&self, by: Duration) -> Result<(), Error> {
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
}
