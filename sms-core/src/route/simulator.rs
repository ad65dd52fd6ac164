//! A simulated network. The recipient's number decides the outcome, for test keys and for live
//! messages alike, so that every outcome can be tried:
//!
//! | number | outcome |
//! |---|---|
//! | 07700 900901 | refused, so it fails without being sent |
//! | 07700 900902 | undelivered, `unknown_subscriber` |
//! | 07700 900903 | undelivered, `absent_subscriber` |
//! | 07700 900904 | sent, and no receipt ever comes |
//! | 07700 900905 | delivered only after 30 s |
//! | 07700 900906 | throttled twice, then sent |
//! | 07700 900907 | delivered, and replies `STOP` |
//! | 07700 900908 | delivered, and replies with the same text |
//! | 07700 900909 | delivered, with two receipts |
//! | 07700 900910 | its receipt comes before the hand-over is recorded |
//! | 07700 900911 | always throttled |
//! | any other | delivered after 2 s |

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};

use super::{Route, RouteKind, RouteSink};
use crate::hand_over::{
    Comeback, HandOver, HandOvers, HandedOver, OutboundMessage, Room, Simulated,
};
use crate::message::error_code::ErrorCode;
use crate::message::record::Body;
use crate::phone::E164;
use crate::receipt::{Receipt, ReceiptStatus};
use crate::route_name::RouteName;

/// How long the simulated network takes to deliver.
pub const DELIVERY_TIME: Duration = Duration::from_secs(2);
/// How long it takes for 07700 900905.
pub const SLOW_DELIVERY_TIME: Duration = Duration::from_secs(30);
/// How long after delivery a recipient replies.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// The number 07700 900900. Those with a fixed outcome follow it.
const BASE: u64 = 447_700_900_900;

/// What the simulated network does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Delivers it, in the usual time or a longer one.
    Deliver(Duration),
    /// Refuses it for good, so the message fails without being sent.
    Refuse,
    /// Accepts it, and reports later that it could not be delivered.
    Undeliver(ErrorCode),
    /// Accepts it, and never sends a receipt.
    Silence,
    /// Throttles the first attempts.
    Throttle {
        /// How many attempts it throttles.
        attempts: u32,
    },
    /// Delivers it; the recipient opts out.
    AnswerStop,
    /// Delivers it; the recipient replies with the same text.
    Echo,
    /// Delivers it, and sends two receipts.
    ReceiptTwice,
    /// Delivers it, and sends the receipt before it accepts the message.
    ReceiptFirst,
}

/// What the simulated network does with a message to this number.
pub(crate) fn outcome_for(number: E164) -> Outcome {
    match number.digits().checked_sub(BASE) {
        Some(1) => Outcome::Refuse,
        Some(2) => Outcome::Undeliver(ErrorCode::UnknownSubscriber),
        Some(3) => Outcome::Undeliver(ErrorCode::AbsentSubscriber),
        Some(4) => Outcome::Silence,
        Some(5) => Outcome::Deliver(SLOW_DELIVERY_TIME),
        Some(6) => Outcome::Throttle { attempts: 2 },
        Some(7) => Outcome::AnswerStop,
        Some(8) => Outcome::Echo,
        Some(9) => Outcome::ReceiptTwice,
        Some(10) => Outcome::ReceiptFirst,
        Some(11) => Outcome::Throttle { attempts: u32::MAX },
        _ => Outcome::Deliver(DELIVERY_TIME),
    }
}

/// A simulated network. It is stateless: the number and the attempt decide the outcome.
#[derive(Debug, Clone)]
pub struct Simulator {
    name: RouteName,
}

impl Simulator {
    /// A simulator with this name.
    pub fn new(name: RouteName) -> Self {
        Self { name }
    }
}

#[async_trait]
impl Route for Simulator {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Simulated
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        let each = stream::iter(messages.iter().enumerate());
        each.then(move |(place, text)| async move {
            if outcome_for(text.to) == Outcome::ReceiptFirst {
                let delivered = Receipt::new(text.message, ReceiptStatus::Delivered);
                if let Err(error) = sink.receipt(delivered).await {
                    let message_id = text.message;
                    tracing::warn!(%message_id, %error, "a simulated receipt was lost");
                }
            }
            let result = if text.look.is_fresh() { simulate(text) } else { HandOver::GivenBack };
            HandedOver { place, result, room: Room::unbounded() }
        })
        .boxed()
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}

/// The outcome of one message.
fn simulate(text: &OutboundMessage) -> HandOver {
    let receipt = |after, status| Simulated { after, what: Comeback::Receipt(status) };
    let delivered = |after| receipt(after, ReceiptStatus::Delivered);
    let answer =
        |body| Simulated { after: DELIVERY_TIME + ANSWER_TIME, what: Comeback::Reply(body) };
    let simulated = match outcome_for(text.to) {
        Outcome::Refuse => {
            return HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None };
        }
        Outcome::Throttle { attempts } if text.attempt < attempts => {
            return HandOver::TryLater { detail: "throttled by the network".to_owned() };
        }
        Outcome::Throttle { .. } => vec![delivered(DELIVERY_TIME)],
        Outcome::Deliver(after) => vec![delivered(after)],
        Outcome::Undeliver(error) => {
            vec![receipt(DELIVERY_TIME, ReceiptStatus::Undelivered(error))]
        }
        Outcome::Silence | Outcome::ReceiptFirst => Vec::new(),
        Outcome::AnswerStop => vec![delivered(DELIVERY_TIME), answer(Body::new("STOP"))],
        Outcome::Echo => vec![delivered(DELIVERY_TIME), answer(text.body.clone())],
        Outcome::ReceiptTwice => vec![delivered(DELIVERY_TIME), delivered(DELIVERY_TIME)],
    };
    HandOver::Taken { simulated }
}

#[cfg(test)]
mod tests;
