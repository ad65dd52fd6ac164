//! The sandbox: a server whose clock the operator moves.
//!
//! Between moves the server's loops do what falls due, in turns. A move has the service to itself:
//! it waits until no turn is under way, and goes from one moment at which something falls due to
//! the next by [`Sms::pass`].

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sms_core::clock::MovableClock;
use sms_core::ids::NumberId;
use sms_core::service::Work;
use sms_core::{Error, Sms};
use tokio::sync::RwLock;

/// A service and the clock that it goes by.
#[derive(Debug, Clone)]
pub struct Sandbox {
    sms: Sms,
    clock: Arc<MovableClock>,
    /// Held for reading by a loop at work, for writing by a move.
    turns: Arc<RwLock<()>>,
    /// The demo's own number: its gateway checks in on real time, which a move leaves behind.
    demo_number: Arc<OnceLock<NumberId>>,
}

impl Sandbox {
    /// A sandbox over a service that was built with this clock.
    pub fn new(sms: Sms, clock: Arc<MovableClock>) -> Self {
        Self { sms, clock, turns: Arc::default(), demo_number: Arc::default() }
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
        let _alone = self.turns.write().await;
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

    /// Does up to `batch` pieces of one kind of work, while the clock stands still.
    pub async fn take_turn(&self, kind: Work, batch: usize) -> Result<usize, Error> {
        let _turn = self.turns.read().await;
        self.sms.do_work(kind, batch).await
    }
}
