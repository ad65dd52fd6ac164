//! Keeps one connection: connects, binds, and reconnects with backoff when it is lost.

mod connect;

use std::sync::Arc;
use std::time::Duration;

use sms_core::random::Random;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

pub use connect::ConnectFailed;

use crate::counts::not_kept;
use crate::pdu::BindMode;
use crate::session::{Arrival, BindFailed, Ended, Session, Settings};
use crate::settings::RouteSettings;

/// The pause after the first failure. It doubles with each failure, up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// A session that lasted this long resets the pauses.
const LASTED: Duration = Duration::from_secs(5);

/// Why a link could not bind.
#[derive(Debug, thiserror::Error)]
pub enum LinkFailed {
    /// There was no connection: the host, the port or TLS.
    #[error(transparent)]
    Connect(#[from] ConnectFailed),
    /// There was a connection, and the SMSC did not accept the bind.
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
    /// Whether [`Link::close`] was called.
    closing: watch::Sender<bool>,
}

impl Link {
    /// A link that is not connected yet; [`run`](Link::run) connects it.
    pub fn new(settings: Arc<RouteSettings>, mode: BindMode, random: Arc<dyn Random>) -> Self {
        let (session, closing) = (watch::Sender::new(None), watch::Sender::new(false));
        Self { settings, mode, random, session, closing }
    }

    /// Transmitter, receiver or transceiver.
    pub fn mode(&self) -> BindMode {
        self.mode
    }

    /// The open session, if there is one.
    pub fn session(&self) -> Option<Session> {
        self.session.borrow().as_ref().filter(|session| session.is_open()).cloned()
    }

    /// Reports when a session begins or ends.
    pub fn watch(&self) -> watch::Receiver<Option<Session>> {
        self.session.subscribe()
    }

    /// Unbinds the session, if there is one, and does not reconnect.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        let session = self.session.borrow().clone();
        if let Some(session) = session {
            session.unbind().await;
        }
    }

    /// Keeps the connection bound and passes on what arrives, until dropped or closed. Log lines
    /// carry the name `route`.
    pub async fn run(&self, route: &str, arrivals: mpsc::Sender<Arrival>) {
        // When this future is dropped nothing processes arrivals, so the session must end.
        let _guard = NoSession(&self.session);
        let mut closing = self.closing.subscribe();
        let mut failures = 0;
        while !*closing.borrow() {
            match self.begin(route).await {
                Ok((session, _)) if *closing.borrow() => {
                    session.unbind().await;
                    return;
                }
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
            let wait = sleep(wait(failures, self.random.as_ref()));
            tokio::select! {
                () = wait => {}
                _ = closing.wait_for(|closing| *closing) => return,
            }
            failures += 1;
        }
    }

    async fn begin(&self, route: &str) -> Result<(Session, mpsc::Receiver<Arrival>), LinkFailed> {
        let RouteSettings { peer, roots, bind, window, patience, idle, .. } = &*self.settings;
        let settings = Settings {
            mode: self.mode,
            bind: bind.clone(),
            window: *window,
            patience: *patience,
            idle: *idle,
            refused: not_kept(route),
        };
        let stream = connect::connect(peer, roots, *patience).await?;
        Ok(crate::session::bind(stream, settings).await?)
    }
}

/// Drops the session when this is dropped.
struct NoSession<'l>(&'l watch::Sender<Option<Session>>);

impl Drop for NoSession<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

/// Passes on what arrives until the session is over. What is left then can no longer be answered,
/// so the SMSC sends it again.
async fn pass_on(
    session: &Session,
    mut incoming: mpsc::Receiver<Arrival>,
    arrivals: &mpsc::Sender<Arrival>,
) -> Ended {
    let passing = async {
        while let Some(arrival) = incoming.recv().await {
            // If the receiver is gone, the arrival is dropped, and the SMSC sends it again later.
            let _ = arrivals.send(arrival).await;
        }
        session.ended().await
    };
    tokio::select! {
        biased;
        end = session.ended() => end,
        end = passing => end,
    }
}

/// How long to pause after this many failures in a row: a random time between half and all of an
/// exponentially growing one, so that connections do not all return at once.
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
    fn pauses_double_up_to_a_limit_and_are_randomised() {
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
