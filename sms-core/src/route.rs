//! Routes: what carries texts to a network and brings back receipts and answers.
//!
//! [`simulator`] is a route without a network, for demonstrations and tests. This module knows no
//! protocol.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::inbound::InboundText;
use crate::inbound::part::InboundPart;
use crate::receipt::Receipt;
use crate::receipt::report::NetworkReport;

mod hand_over;
mod name;
pub mod simulator;

pub use hand_over::{Comeback, HandOver, HandOvers, OutboundText, Simulated, all_at_once};
pub use name::RouteName;

/// Where a route reports what comes back from its network.
#[async_trait]
pub trait RouteSink: Send + Sync {
    /// A receipt came. When this returns an error it was not kept: the route should have the
    /// network send it again.
    async fn receipt(&self, receipt: Receipt) -> Result<(), crate::Error>;

    /// What a network says of parts that it took, each under the id that it gave. Answers in the
    /// order given; an error means that the report was not kept, as with
    /// [`receipt`](Self::receipt).
    async fn reports(&self, reports: Vec<NetworkReport>) -> Vec<Result<(), crate::Error>>;

    /// Someone texted one of our numbers. When this returns an error it was not kept.
    async fn inbound(&self, text: InboundText) -> Result<(), crate::Error>;

    /// A part of a long text to one of our numbers came. When this returns an error it was not
    /// kept.
    async fn inbound_part(&self, part: InboundPart) -> Result<(), crate::Error>;

    /// The route is connected: the numbers behind it are online. To be called every few minutes,
    /// see [`ONLINE_FOR`](crate::number::ONLINE_FOR).
    async fn connected(&self, route: &RouteName) -> Result<(), crate::Error>;
}

/// Whether a route can carry texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// It takes texts.
    Ready,
    /// It takes none for now: it has as many in hand as it can use, or no connection for a moment.
    /// Its texts wait in the queue.
    Full,
    /// It has been down for so long that another route should carry its texts. Where there is no
    /// other they wait as well.
    Down,
}

impl Fitness {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Ready, Self::Full, Self::Down];

    /// The name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Full => "full",
            Self::Down => "down",
        }
    }
}

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// A network, which brings texts to people.
    Real,
    /// Nothing: what comes back is made up. It stands in for no route that is down, lest live texts
    /// be told as delivered that never left.
    Simulated,
}

/// How a route's connections stand, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Those that are up.
    pub up: usize,
    /// Those there should be.
    pub wanted: usize,
    /// Texts that it has in hand: waiting for their turn, or for the network's answer.
    pub in_hand: usize,
    /// The pace, in hundredths of the agreed one: less than 100 where the network asked for it.
    pub pace_percent: u8,
    /// For how long none of them has carried texts; `None` while one does.
    pub down_for: Option<Duration>,
}

/// Carries texts to a network.
#[async_trait]
pub trait Route: Send + Sync + fmt::Debug {
    /// The name it is configured under.
    fn name(&self) -> &RouteName;

    /// What it leads to.
    fn kind(&self) -> RouteKind;

    /// Submits messages to the network, and says what became of each, by its place among `texts`,
    /// as soon as that is known: an outcome is recorded without waiting for the slowest. A message
    /// of which nothing is said is handed over again when the claim on it runs out.
    ///
    /// A route that knows all answers at the same time makes its answer with [`all_at_once`].
    ///
    /// Dropping the stream must be safe: what was under way may then have been sent.
    fn hand_over<'a>(&'a self, texts: &'a [OutboundText], sink: &'a dyn RouteSink)
    -> HandOvers<'a>;

    /// Whether it can carry texts now.
    fn fitness(&self) -> Fitness {
        Fitness::Ready
    }

    /// How its connections stand; `None` for a route that keeps none.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// Keeps connections and reports what comes back, until dropped. A route that has nothing to
    /// do in between returns at once.
    async fn run(&self, sink: Arc<dyn RouteSink>);

    /// Takes no more texts, waits for what is under way, and disconnects in order. To be called
    /// while [`run`](Self::run) still goes on.
    async fn close(&self) {}
}
