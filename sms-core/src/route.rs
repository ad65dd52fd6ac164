//! Routes: a route carries messages to one network, and brings back receipts and inbound messages.
//!
//! [`simulator`] is a route without a network, for demonstrations and tests. This module knows no
//! protocol.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::error::Error;
use crate::inbound::InboundMessage;
use crate::inbound::segment::InboundSegment;
use crate::lane::Lane;
use crate::receipt::Receipt;
use crate::receipt::report::{NetworkReport, Reported};

pub mod simulator;

pub use crate::hand_over::look::{FRESH_FOR, Look};
pub use crate::hand_over::{
    Comeback, HandOver, HandOvers, HandedOver, OutboundMessage, Room, Simulated, all_at_once,
};
pub use crate::route_name::RouteName;

/// Where a route reports what comes back from its network.
#[async_trait]
pub trait RouteSink: Send + Sync {
    /// Records a receipt for a message, by the message's own id. After an error it is not stored:
    /// the route should have the network send it again.
    async fn receipt(&self, receipt: Receipt) -> Result<(), Error>;

    /// Records receipts for segments, by the ids that the network gave them. Returns for each,
    /// in the order given, what became of it; an error means the same as with
    /// [`receipt`](Self::receipt).
    async fn reports(&self, reports: Vec<NetworkReport>) -> Vec<Result<Reported, Error>>;

    /// Records an inbound message to one of our numbers. After an error it is not stored.
    async fn inbound(&self, text: InboundMessage) -> Result<(), Error>;

    /// Records one segment of a long inbound message. After an error it is not stored.
    async fn inbound_segment(&self, part: InboundSegment) -> Result<(), Error>;

    /// Records that the route is connected, so its numbers are online. Call it more often than
    /// every [`ONLINE_FOR`](crate::number::ONLINE_FOR).
    async fn connected(&self, route: &RouteName) -> Result<(), Error>;
}

/// Whether a route accepts messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fitness {
    /// It accepts messages at once.
    Ready,
    /// It accepts none for now: it has enough in hand, or has just lost its connections. Its
    /// messages wait in the queue.
    Full,
    /// It has been down for so long that another route should carry its messages. If there is no
    /// other, they wait.
    Down,
}

impl Fitness {
    /// Every value, in the order in which the API lists them.
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
    /// A network that delivers messages to people.
    Real,
    /// A simulation that makes up receipts. It never replaces a route that is down: live messages
    /// would be reported as delivered although they were never sent.
    Simulated,
}

/// The state of a route's connections, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// How many connections are up.
    pub up: usize,
    /// How many connections there should be.
    pub wanted: usize,
    /// How many messages it has in hand: waiting to be submitted, or for the network's response.
    pub in_hand: usize,
    /// The current rate in percent of the configured one; below 100 after throttling.
    pub pace_percent: u8,
    /// For how long no connection could submit; `None` while one can.
    pub down_for: Option<Duration>,
}

/// Another way to read the id of a receipt than the one that is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What the operator is advised if it is the right one.
    pub hint: &'static str,
    /// The ids under which the segment of the receipt would then have been recorded.
    pub ids: Vec<String>,
}

/// Carries messages to a network.
#[async_trait]
pub trait Route: Send + Sync + fmt::Debug {
    /// The name that it is configured under.
    fn name(&self) -> &RouteName;

    /// What it leads to.
    fn kind(&self) -> RouteKind;

    /// Submits messages to the network, and says what became of each, by its place among
    /// `messages`, as soon as that is known: an outcome is recorded without waiting for the
    /// slowest. A message of which nothing is said is handed over again when the claim on it runs
    /// out.
    ///
    /// A route gives back what it cannot submit while the [look](OutboundMessage::look) at the
    /// message counts.
    ///
    /// A route that bounds how many messages may be sent twice gives each a [`Room`], which is free
    /// once its outcome is safe.
    ///
    /// A route that knows all answers at the same time makes its answer with [`all_at_once`].
    ///
    /// Dropping the stream must be safe: what was under way may then have been sent.
    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        sink: &'a dyn RouteSink,
    ) -> HandOvers<'a>;

    /// Whether it accepts messages of this lane now. A route that bounds what it has in hand keeps
    /// room for each lane, so that one that a person waits for is not kept out by many others. If
    /// it is [down](Fitness::Down), it is so for both lanes.
    fn fitness(&self, _lane: Lane) -> Fitness {
        Fitness::Ready
    }

    /// How many more messages of this lane it can submit in about a second, as far as it knows. A
    /// claim takes no more: what waits longer has to be given back.
    fn room(&self, _lane: Lane) -> usize {
        usize::MAX
    }

    /// Whether it writes to the program's journal that it is about to submit a message
    /// ([`Entry::Submitting`](crate::dispatch::journal::Entry::Submitting)). If it does not, a
    /// message counts as submitted from the moment it is handed over.
    fn journals_submissions(&self) -> bool {
        false
    }

    /// The state of its connections; `None` for a route without connections.
    fn connections(&self) -> Option<Connections> {
        None
    }

    /// Other ways to read the id of a receipt that matches no message. If most such receipts match
    /// messages by one of them, the operator is advised.
    fn readings(&self, _id: &str) -> Vec<Reading> {
        Vec::new()
    }

    /// Keeps the route connected and reports what comes back, until dropped. A route without
    /// connections returns at once.
    async fn run(&self, sink: Arc<dyn RouteSink>);

    /// Accepts no more messages, waits for those under way, and disconnects. Call it while
    /// [`run`](Self::run) is still running.
    async fn close(&self) {}
}
