//! What is handed to a route, and what the route says of it.

use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};

use super::name::RouteName;
use crate::account::Mode;
use crate::ids::MessageId;
use crate::message::{Body, ErrorCode};
use crate::phone::E164;
use crate::receipt::ReceiptStatus;
use crate::receipt::report::NetworkId;
use crate::text::{Encoding, Segments};
use crate::time::Timestamp;

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
    /// It left. The route reports what comes back to the [`RouteSink`](super::RouteSink), by the id
    /// of the text.
    Taken {
        /// What shall come back from a network that is only simulated.
        simulated: Vec<Simulated>,
    },
    /// It left for a network that reports what comes back by ids of its own
    /// ([`RouteSink::reports`](super::RouteSink::reports)).
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

/// What became of each message that was handed over, by its place among them.
pub type HandOvers<'a> = BoxStream<'a, (usize, HandOver)>;

/// The answer of a route that knows what became of all messages at the same time: `answers` are in
/// the order of the messages.
pub fn all_at_once<'a>(answers: impl Future<Output = Vec<HandOver>> + Send + 'a) -> HandOvers<'a> {
    stream::once(answers).flat_map(|all| stream::iter(all.into_iter().enumerate())).boxed()
}
