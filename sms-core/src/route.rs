//! Routes: what carries texts to a network and brings back receipts and answers.
//!
//! [`simulator`] is a route without a network, for demonstrations and tests. This module knows no
//! protocol.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};

use crate::account::Mode;
use crate::ids::MessageId;
use crate::inbound::InboundText;
use crate::inbound::part::InboundPart;
use crate::message::{Body, ErrorCode};
use crate::phone::E164;
use crate::receipt::report::{NetworkId, NetworkReport};
use crate::receipt::{Receipt, ReceiptStatus};
use crate::text::{Encoding, Segments};
use crate::time::Timestamp;

pub mod simulator;

/// The name of a configured route, such as `simulator`; `test` carries the texts of test keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouteName(Arc<str>);

impl RouteName {
    /// A route of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The route of test keys.
    pub fn test() -> Self {
        Self::new("test")
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RouteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RouteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

/// A text on its way to a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundText {
    /// Which text.
    pub message: MessageId,
    /// Who it goes to.
    pub to: E164,
    /// The account's number it comes from.
    pub from: E164,
    /// The name to show instead of `from`.
    pub sender: Option<String>,
    /// Its words.
    pub body: Body,
    /// How they are coded.
    pub encoding: Encoding,
    /// How many parts they take.
    pub segments: Segments,
    /// The route that shall carry it.
    pub route: RouteName,
    /// Whether it is real.
    pub mode: Mode,
    /// How often it was tried before: 0 the first time.
    pub attempt: u32,
    /// Until when it may be delivered.
    pub expires_at: Timestamp,
}

/// What a route did with one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandOver {
    /// It left. The route reports what comes back to the [`RouteSink`], by the id of the text.
    Taken {
        /// What shall come back from a network that is only simulated.
        simulated: Vec<Simulated>,
    },
    /// It left for a network that reports what comes back by ids of its own
    /// ([`RouteSink::reports`]).
    Submitted {
        /// What the network calls each part.
        parts: Vec<NetworkId>,
    },
    /// The network refuses it for good.
    Refused {
        /// Why.
        error: ErrorCode,
        /// What the network said, for people; without numbers and words of the text.
        detail: Option<String>,
    },
    /// It did not leave, but may later: throttled, or no connection.
    TryLater {
        /// What stood in the way, for people.
        detail: String,
    },
    /// It left perhaps, or some parts of it did: no answer came. It is handed over again, up to
    /// [so many](crate::dispatch::AGAIN_UNANSWERED) times, and the person texted perhaps gets it
    /// more than once; then it ends as with [`Abandoned`](Self::Abandoned). Whatever ends it from
    /// now on, it is not refunded.
    Unanswered {
        /// What happened, for people.
        detail: String,
    },
    /// It left perhaps, or some parts of it did, and is not handed over again: it ends as
    /// `undelivered`, and is not refunded.
    Abandoned {
        /// Why.
        error: ErrorCode,
        /// What happened, for people.
        detail: String,
    },
}

/// Something that a simulated network brings back after a while. It is kept by the store in the
/// commit that records the hand-over, so it is neither lost nor done twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// How long after the hand-over.
    pub after: Duration,
    /// What comes back.
    pub what: Comeback,
}

/// What can come back for a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comeback {
    /// A receipt.
    Receipt(ReceiptStatus),
    /// An answer from the person texted.
    Reply(Body),
}

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

    /// Hands texts to the network and says, in the order given, what became of each.
    ///
    /// Dropping the future must be safe: what was under way has then perhaps left.
    async fn hand_over(&self, texts: &[OutboundText], sink: &dyn RouteSink) -> Vec<HandOver>;

    /// The same, but says what became of each text, by its place among `texts`, as soon as that is
    /// known: what is recorded at once does not wait for the slowest. A text of which nothing is
    /// said is handed over again when the claim on it runs out.
    fn hand_over_each<'a>(
        &'a self,
        texts: &'a [OutboundText],
        sink: &'a dyn RouteSink,
    ) -> BoxStream<'a, (usize, HandOver)> {
        let all = stream::once(self.hand_over(texts, sink));
        all.flat_map(|results| stream::iter(results.into_iter().enumerate())).boxed()
    }

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
