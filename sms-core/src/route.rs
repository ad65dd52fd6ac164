//! Routes: what carries texts to a network and brings back receipts and answers.
//!
//! [`simulator`] is a route without a network, for demonstrations and tests. This module knows no
//! protocol.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::account::Mode;
use crate::ids::MessageId;
use crate::inbound::InboundText;
use crate::message::{Body, ErrorCode};
use crate::phone::E164;
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
    /// It left for the network.
    Taken {
        /// What shall come back from a network that is only simulated. Real routes leave it empty
        /// and report to the [`RouteSink`] when something does.
        simulated: Vec<Simulated>,
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

    /// Someone texted one of our numbers. When this returns an error it was not kept.
    async fn inbound(&self, text: InboundText) -> Result<(), crate::Error>;
}

/// Carries texts to a network.
#[async_trait]
pub trait Route: Send + Sync + fmt::Debug {
    /// The name it is configured under.
    fn name(&self) -> &RouteName;

    /// Hands texts to the network and says, in the order given, what became of each.
    ///
    /// Dropping the future must be safe: what was under way has then perhaps left.
    async fn hand_over(&self, texts: &[OutboundText], sink: &dyn RouteSink) -> Vec<HandOver>;

    /// Keeps connections and reports what comes back, until dropped. A route that has nothing to
    /// do in between returns at once.
    async fn run(&self, sink: Arc<dyn RouteSink>);
}
