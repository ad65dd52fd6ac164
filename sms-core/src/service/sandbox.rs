//! Moving the clock by hand: months pass in moments, with everything that falls due on the way.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::sms::Sms;
use super::wake::Work;
use crate::clock::MovableClock;
use crate::error::Error;
use crate::time::Timestamp;

/// How much work of one kind is done at once.
const PORTION: usize = 100;
/// How often work that is due now is tried before it counts as stuck.
const MOST_LOOKS: usize = 1_000;

/// The clock of a sandbox: a server whose operator moves the clock by hand.
#[async_trait]
pub trait SandboxClock: fmt::Debug + Send + Sync {
    /// How far the clock was moved since the start.
    fn moved(&self) -> Duration;

    /// Moves the clock, and returns when everything that fell due on the way is done.
    ///
    /// # Errors
    ///
    /// If the store fails or due work cannot be done. The clock stays at that time.
    async fn advance(&self, by: Duration) -> Result<(), Error>;
}

impl Sms {
    /// Moves the service's clock forward by `by`. It stops at each time at which something is due
    /// and does it there: messages are sent, receipts come back, webhooks are retried, each at its
    /// time and in order. At the end, data past its retention is removed.
    ///
    /// `clock` has to be the clock that the service was built with, the routes have to be
    /// simulated, and the store has to be in memory. No other worker may run meanwhile, because
    /// this call cannot wait for what it has claimed.
    ///
    /// # Errors
    ///
    /// If the store fails or due work cannot be done. The clock stays at that time.
    pub async fn pass(&self, clock: &MovableClock, by: Duration) -> Result<(), Error> {
        let mut left = by;
        let mut looks = 0;
        loop {
            self.do_all_that_is_due().await?;
            let Some(next) = self.next_of_all().await? else { break };
            let wait = next.since(self.now());
            if wait.is_zero() {
                // It has become due since.
                looks += 1;
                if looks > MOST_LOOKS {
                    return Err(Error::Busy);
                }
                continue;
            }
            if wait > left {
                break;
            }
            looks = 0;
            clock.advance(wait);
            left = left.saturating_sub(wait);
        }
        clock.advance(left);
        self.do_all_that_is_due().await?;
        while self.tidy(PORTION).await? > 0 {}
        Ok(())
    }

    async fn do_all_that_is_due(&self) -> Result<(), Error> {
        loop {
            let mut done = 0;
            for work in Work::ALL {
                done += self.do_work(work, PORTION).await?;
            }
            if done == 0 {
                return Ok(());
            }
        }
    }

    /// The earliest time at which work of any kind is due.
    async fn next_of_all(&self) -> Result<Option<Timestamp>, Error> {
        let mut next: Option<Timestamp> = None;
        for work in Work::ALL {
            let at = self.next_work(work).await?;
            next = [next, at].into_iter().flatten().min();
        }
        Ok(next)
    }
}
