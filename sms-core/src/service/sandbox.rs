//! Letting time pass by hand: months of it in moments, with all that falls due on the way.

use std::time::Duration;

use super::{Sms, Work};
use crate::clock::MovableClock;
use crate::error::Error;
use crate::time::Timestamp;

/// How much of a kind of work is done at once.
const PORTION: usize = 100;
/// How often work that fell due this moment is looked at again before it counts as held up.
const MOST_LOOKS: usize = 1_000;

impl Sms {
    /// Moves the service's clock on by `by`, from one moment at which something falls due to the
    /// next, and does it there: texts leave, receipts come back, webhooks are tried again, each at
    /// its time and in the order of their times. In the end what is past its keep is removed.
    ///
    /// `clock` has to be the one that the service was built with, the routes simulated and the
    /// store in memory, and no other worker may be at work meanwhile: what one holds could not be
    /// waited for.
    ///
    /// # Errors
    ///
    /// When the store fails, or something due cannot be done; the clock stands there then.
    pub async fn pass(&self, clock: &MovableClock, by: Duration) -> Result<(), Error> {
        let mut left = by;
        let mut looks = 0;
        loop {
            self.do_all_that_is_due().await?;
            let Some(next) = self.next_of_all().await? else { break };
            let wait = next.since(self.now());
            if wait.is_zero() {
                // It fell due since.
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

    /// The earliest moment at which there is work of any kind.
    async fn next_of_all(&self) -> Result<Option<Timestamp>, Error> {
        let mut next: Option<Timestamp> = None;
        for work in Work::ALL {
            let at = self.next_work(work).await?;
            next = [next, at].into_iter().flatten().min();
        }
        Ok(next)
    }
}
