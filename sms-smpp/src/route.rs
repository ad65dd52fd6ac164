//! Implements the core's [`Route`] over the connections of a [`Carrier`].
//!
//! | Module | What |
//! |---|---|
//! | `hand_over` | submits one message, segment by segment |
//! | `arrival` | stores receipts and inbound messages, then acknowledges them |

mod arrival;
mod hand_over;
mod inner;
mod patience;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use sms_core::clock::Clock;
use sms_core::dispatch::Lane;
use sms_core::dispatch::journal::Journal;
use sms_core::random::Random;
use sms_core::route::{
    Connections, Fitness, HandOvers, HandedOver, OutboundMessage, Reading, Route, RouteKind,
    RouteName, RouteSink,
};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use self::inner::{InHand, InHandCounts, Inner};
use self::patience::{Interrupted, Patience};
use crate::carrier::Carrier;
use crate::settings::RouteSettings;

/// How often the route checks that a connection is bound.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many checks pass between two reports to the core.
const LOOKS_PER_CHECK_IN: u32 = 60;
/// How many `deliver_sm`s may wait to be processed, besides those queued in each session.
const ARRIVALS: usize = 256;

/// A route over SMPP. It is connected only while [`run`](Route::run) is polled.
pub struct SmppRoute {
    inner: Arc<Inner>,
}

impl fmt::Debug for SmppRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, carrier, .. } = &*self.inner;
        f.debug_struct("SmppRoute")
            .field("name", name)
            .field("standing", &carrier.standing())
            .finish_non_exhaustive()
    }
}

impl SmppRoute {
    /// A route with this name and these settings.
    pub fn new(
        name: RouteName,
        settings: RouteSettings,
        clock: Arc<dyn Clock>,
        random: &Arc<dyn Random>,
    ) -> Self {
        let settings = Arc::new(settings);
        let carrier = Carrier::new(name.clone(), &settings, random);
        let (in_hand, closing) = (InHandCounts::default(), watch::Sender::new(false));
        let keeping = Semaphore::new(arrival::MESSAGES_AT_ONCE);
        let (patience, interrupted) = (Patience::default(), Interrupted::default());
        let journal = OnceLock::new();
        let inner = Inner {
            name,
            settings,
            clock,
            carrier,
            in_hand,
            closing,
            patience,
            interrupted,
            journal,
            keeping,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Writes to this journal, which is that of the service, that it is about to submit a message.
    #[must_use]
    pub fn journal(self, journal: Arc<dyn Journal>) -> Self {
        // The first one counts.
        let _ = self.inner.journal.set(journal);
        self
    }

    /// Reports to the core once a minute that the SMSC is connected.
    async fn check_in(&self, sink: &dyn RouteSink) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut until_told = 0;
        loop {
            looks.tick().await;
            until_told = u32::saturating_sub(until_told, 1);
            if until_told > 0 || self.inner.carrier.standing().bound == 0 {
                continue;
            }
            match sink.connected(&self.inner.name).await {
                Ok(()) => until_told = LOOKS_PER_CHECK_IN,
                Err(error) => {
                    let route = self.inner.name.as_str();
                    tracing::warn!(route, error = %error, "cannot record that the route is online");
                }
            }
        }
    }
}

#[async_trait]
impl Route for SmppRoute {
    fn name(&self) -> &RouteName {
        &self.inner.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    /// Submits the messages independently: one that waits for the window, or is throttled, does
    /// not delay the others.
    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        _sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let (tell, told) = mpsc::unbounded_channel();
        // On tasks, so that submitting continues while the caller records outcomes.
        let mut tasks = JoinSet::new();
        for (place, text) in messages.iter().cloned().enumerate() {
            let in_hand = InHand::new(&self.inner, text.lane);
            let (inner, tell) = (Arc::clone(&self.inner), tell.clone());
            tasks.spawn(async move {
                let (result, room) = inner.carry(&text, in_hand).await;
                // The caller has dropped the stream; it treats the outcome as unknown.
                let _ = tell.send(HandedOver { place, result, room });
            });
        }
        drop(tell);
        stream::unfold((tasks, told), async |(tasks, mut told)| {
            let outcome = told.recv().await?;
            Some((outcome, (tasks, told)))
        })
        .boxed()
    }

    /// While no connection is bound, messages wait in the queue, until the next route takes over
    /// after the `failover` time.
    fn fitness(&self, lane: Lane) -> Fitness {
        match self.inner.carrier.standing().down_for {
            Some(time) if time >= self.inner.settings.failover => Fitness::Down,
            Some(_) => Fitness::Full,
            None if !self.inner.is_worth_a_claim(lane) => Fitness::Full,
            None => Fitness::Ready,
        }
    }

    fn room(&self, lane: Lane) -> usize {
        self.inner.room(lane)
    }

    fn journals_submissions(&self) -> bool {
        self.inner.journal.get().is_some()
    }

    fn connections(&self) -> Option<Connections> {
        let standing = self.inner.carrier.standing();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 1")]
        let pace_percent = (standing.pace * 100.0).round() as u8;
        Some(Connections {
            up: standing.bound,
            wanted: standing.wanted,
            in_hand: self.inner.in_hand.all(),
            pace_percent,
            down_for: standing.down_for,
        })
    }

    fn readings(&self, id: &str) -> Vec<Reading> {
        self.inner.settings.ids.readings(id)
    }

    async fn run(&self, sink: Arc<dyn RouteSink>) {
        let (tell, arrivals) = mpsc::channel(ARRIVALS);
        tokio::select! {
            () = self.inner.carrier.run(tell) => {}
            () = arrival::take_in(&self.inner, arrivals, &sink) => {}
            () = self.check_in(&*sink) => {}
        }
    }

    async fn close(&self) {
        self.inner.closing.send_replace(true);
        self.inner.carrier.unbind().await;
    }
}

#[cfg(test)]
mod tests;
