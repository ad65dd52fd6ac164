//! How a loop learns that it is to stop, and by when.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// What a loop sees of a request to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<Option<Instant>>);

impl Stopping {
    /// The sending side, which sets the deadline once, and the receiving side.
    pub(crate) fn channel() -> (watch::Sender<Option<Instant>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Whether the loop is to stop.
    pub(crate) fn is_requested(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Resolves when the loop is to stop, at once if it already is.
    pub(crate) async fn requested(&mut self) {
        // An error means that the sender is gone, and the loops with it.
        let _ = self.0.wait_for(Option::is_some).await;
    }

    /// How long the loop may take from now on: nothing before it is to stop.
    pub(crate) fn time_left(&self) -> Duration {
        let by = *self.0.borrow();
        by.map_or(Duration::ZERO, |by| by.saturating_duration_since(Instant::now()))
    }
}
