//! One connection that is always to be there: made, bound, kept, and made again after a while.

mod connect;

use std::sync::Arc;
use std::time::Duration;

use sms_core::random::Random;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

pub use connect::ConnectFailed;

use crate::pdu::BindMode;
use crate::session::{Arrival, BindFailed, Session, Settings};
use crate::settings::RouteSettings;

/// The wait after the first failure; it doubles with each, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A session that lasted so long was a good one: the waits begin anew.
const LASTED: Duration = Duration::from_secs(30);

/// Why there is no session now.
#[derive(Debug, thiserror::Error)]
pub enum LinkFailed {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectFailed),
    /// No bind.
    #[error(transparent)]
    Bind(#[from] BindFailed),
}

/// One connection of a route.
#[derive(Debug)]
pub struct Link {
    settings: Arc<RouteSettings>,
    mode: BindMode,
    random: Arc<dyn Random>,
    session: watch::Sender<Option<Session>>,
}

impl Link {
    /// A connection that is not there yet; [`run`](Link::run) makes it.
    pub fn new(settings: Arc<RouteSettings>, mode: BindMode, random: Arc<dyn Random>) -> Self {
        Self { settings, mode, random, session: watch::Sender::new(None) }
    }

    /// In which directions it carries texts.
    pub fn mode(&self) -> BindMode {
        self.mode
    }

    /// The session, while there is one.
    pub fn session(&self) -> Option<Session> {
        self.session.borrow().as_ref().filter(|session| session.is_open()).cloned()
    }

    /// Tells of sessions that begin and end.
    pub fn watch(&self) -> watch::Receiver<Option<Session>> {
        self.session.subscribe()
    }

    /// Keeps the connection and passes on what arrives, until dropped. `route` names it in logs.
    pub async fn run(&self, route: &str, arrivals: mpsc::Sender<Arrival>) {
        let mut failures = 0;
        loop {
            match self.begin().await {
                Ok((session, incoming)) => {
                    tracing::info!(route, mode = ?self.mode, "bound");
                    let began = tokio::time::Instant::now();
                    self.session.send_replace(Some(session.clone()));
                    let end = pass_on(&session, incoming, &arrivals).await;
                    self.session.send_replace(None);
                    tracing::warn!(route, mode = ?self.mode, reason = %end, "no longer bound");
                    if began.elapsed() >= LASTED {
                        failures = 0;
                    }
                }
                Err(error) => {
                    tracing::warn!(route, mode = ?self.mode, error = %error, "cannot bind");
                }
            }
            sleep(wait(failures, self.random.as_ref())).await;
            failures += 1;
        }
    }

    async fn begin(&self) -> Result<(Session, mpsc::Receiver<Arrival>), LinkFailed> {
        let RouteSettings { peer, bind, window, patience, idle, .. } = &*self.settings;
        let settings = Settings {
            mode: self.mode,
            bind: bind.clone(),
            window: *window,
            patience: *patience,
            idle: *idle,
        };
        let stream = connect::connect(peer, *patience).await?;
        Ok(crate::session::bind(stream, settings).await?)
    }
}

/// Passes on what arrives until the session is over.
async fn pass_on(
    session: &Session,
    mut incoming: mpsc::Receiver<Arrival>,
    arrivals: &mpsc::Sender<Arrival>,
) -> crate::session::Ended {
    // The session drops its end when it is over, and what it brought until then is passed on.
    while let Some(arrival) = incoming.recv().await {
        // Nobody listens any more: dropped, the peer sends it again later.
        let _ = arrivals.send(arrival).await;
    }
    session.ended().await
}

/// How long to wait after so many failures in a row: doubling, and anything from half of it to all
/// of it, so that many do not come back at one moment.
pub fn wait(failures: u32, random: &dyn Random) -> Duration {
    let longest = 2_u32
        .checked_pow(failures)
        .and_then(|factor| FIRST_WAIT.checked_mul(factor))
        .map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT));
    let half = u64::try_from(longest.as_millis() / 2).unwrap_or(u64::MAX);
    Duration::from_millis(half + random.next_u64() % (half + 1))
}

#[cfg(test)]
mod tests {
    use sms_core::random::SeededRandom;

    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_are_never_the_same_for_all() {
        let random = SeededRandom::new(7);
        let longest = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
        for (failures, longest) in longest.into_iter().enumerate() {
            let failures = u32::try_from(failures).unwrap();
            let waits: Vec<u128> = (0..50).map(|_| wait(failures, &random).as_millis()).collect();
            assert!(waits.iter().all(|wait| (longest / 2..=longest).contains(wait)), "{waits:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]));
        }
        assert!(wait(u32::MAX, &random) <= LONGEST_WAIT);
    }
}
