//! A message as a route gets it, and the outcome that the route returns.

use std::fmt;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};

use crate::ids::MessageId;
use crate::lane::Lane;
use crate::message::error_code::ErrorCode;
use crate::message::record::Body;
use crate::mode::Mode;
use crate::phone::E164;
use crate::receipt::ReceiptStatus;
use crate::receipt::report::NetworkId;
use crate::route_name::RouteName;
use crate::text::encoding::{Encoding, Segments};
use crate::time::Timestamp;

pub(crate) mod look;

use look::Look;

/// A message on its way to a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundMessage {
    /// The message's id, under which a route reports its receipt.
    pub message: MessageId,
    /// The recipient, in E.164.
    pub to: E164,
    /// The account's number that it is sent from.
    pub from: E164,
    /// The name to show instead of `from`.
    pub sender: Option<String>,
    /// Its text after merging, with the opt-out line and short links, if any.
    pub body: Body,
    /// How the text is encoded.
    pub encoding: Encoding,
    /// How many segments it takes.
    pub segments: Segments,
    /// The route that is to carry it.
    pub route: RouteName,
    /// Whether it is live or a test.
    pub mode: Mode,
    /// The normal lane if a person waits for it, or bulk.
    pub lane: Lane,
    /// How many attempts were made before this one.
    pub attempt: u32,
    /// When it expires; the network must not deliver it later.
    pub expires_at: Timestamp,
    /// When it was last checked whether the message may be sent. A route asks it at the last moment
    /// before it submits the message, and [gives the message back](HandOver::GivenBack) once that
    /// check is too old.
    pub look: Look,
}

/// The outcome of handing one message over to a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandOver {
    /// It was sent. The route reports its receipt to the [`RouteSink`](crate::route::RouteSink), by
    /// the id of the message.
    Taken {
        /// What a simulated network brings back later; empty for a real one.
        simulated: Vec<Simulated>,
    },
    /// It was sent, and the network reports its receipts by ids that it chose
    /// ([`RouteSink::reports`](crate::route::RouteSink::reports)).
    Submitted {
        /// The network's id of each segment.
        parts: Vec<NetworkId>,
    },
    /// The network refuses it for good.
    Refused {
        /// Why, as the message shows it from then on.
        error: ErrorCode,
        /// What the network said, for people; without the numbers and the text of the message.
        detail: Option<String>,
    },
    /// It was not sent, but may be later: the network throttles, or is not connected.
    TryLater {
        /// The reason, for people.
        detail: String,
    },
    /// It was not submitted at all, because it has to be [looked at](Look) again: it may be claimed
    /// at once from its old place in the queue, and the timeline does not show it.
    GivenBack,
    /// It got no answer, so it, or some of its segments, may have been sent. It is handed over
    /// again, up to [`AGAIN_UNANSWERED`](crate::dispatch::AGAIN_UNANSWERED) times, so the recipient
    /// may get it more than once; then it ends as with [`Abandoned`](Self::Abandoned). From now on
    /// it is never refunded.
    Unanswered {
        /// What happened, for people.
        detail: String,
    },
    /// It, or some of its segments, may have been sent, and it is not handed over again. It ends as
    /// `undelivered` without a refund.
    Abandoned {
        /// Why, as the message shows it from then on.
        error: ErrorCode,
        /// What happened, for people.
        detail: String,
    },
}

impl HandOver {
    /// Whether a simulated network brings something back later.
    pub(crate) fn comes_back(&self) -> bool {
        matches!(self, Self::Taken { simulated } if !simulated.is_empty())
    }
}

/// Something that a simulated network brings back later. The store keeps it in the commit that
/// records the hand-over, so it is neither lost nor repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// How long after the hand-over it comes back.
    pub after: Duration,
    /// A receipt, or a reply by the recipient.
    pub what: Comeback,
}

/// What a simulated network can bring back for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comeback {
    /// A receipt that says this of the message.
    Receipt(ReceiptStatus),
    /// A reply from the recipient.
    Reply(Body),
}

/// The outcome of one of the messages handed over.
#[derive(Debug)]
pub struct HandedOver {
    /// Its index among those handed over.
    pub place: usize,
    /// The outcome, as the route reports it.
    pub result: HandOver,
    /// The room that it takes in the route until the outcome is safe.
    pub room: Room,
}

/// The room that a message takes in its route. It is free once this is dropped, which happens when
/// the outcome is recorded, or is in the program's journal. So a route that bounds its rooms bounds
/// how many messages are sent twice if the program is killed.
#[must_use = "dropping it frees the room"]
pub struct Room {
    permit: Option<Box<dyn Send>>,
    /// How many rooms the route has, as far as it says so.
    of: Option<usize>,
}

impl Room {
    /// No room, for a route that has no bound.
    pub fn unbounded() -> Self {
        Self { permit: None, of: None }
    }

    /// The room that `permit` holds until it is dropped.
    pub fn held_by(permit: impl Send + 'static) -> Self {
        Self { permit: Some(Box::new(permit)), of: None }
    }

    /// The same, of a route with this number of rooms. Where outcomes that wait for others hold
    /// much of a route, they are recorded sooner.
    pub fn one_of(rooms: usize, permit: impl Send + 'static) -> Self {
        Self { of: Some(rooms), ..Self::held_by(permit) }
    }

    /// What part of its route's rooms it is, in thousandths.
    pub(crate) fn thousandths(&self) -> usize {
        self.of.map_or(0, |rooms| 1_000 / rooms.max(1))
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.permit.is_some() { "held" } else { "unbounded" })
    }
}

/// The outcome of each message, as soon as it is known.
pub type HandOvers<'a> = BoxStream<'a, HandedOver>;

/// The outcomes of a route that learns all of them at the same time; `answers` has the order of the
/// messages.
pub fn all_at_once<'a>(answers: impl Future<Output = Vec<HandOver>> + Send + 'a) -> HandOvers<'a> {
    let handed = |(place, result)| HandedOver { place, result, room: Room::unbounded() };
    let each = move |all: Vec<_>| stream::iter(all.into_iter().enumerate().map(handed));
    stream::once(answers).flat_map(each).boxed()
}
