//! The route of the rig: a network that records every message before it answers.
//!
//! The last digits of a number decide the outcome of its messages; see [`fate`].

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sms_core::clock::{Clock, SystemClock};
use sms_core::message::ErrorCode;
use sms_core::phone::E164;
use sms_core::receipt::{Receipt, ReceiptStatus};
use sms_core::route::{
    Comeback, HandOver, HandOvers, OutboundMessage, Route, RouteKind, RouteName, RouteSink,
    Simulated, all_at_once,
};
use tokio::time::sleep;

/// How long the network takes for a batch, so that kills hit messages in flight.
const NETWORK_TIME: Duration = Duration::from_millis(40);
/// The time until the receipt.
const DELIVERY_TIME: Duration = Duration::from_millis(200);
/// How often a held batch checks whether it may go on.
const LOOK: Duration = Duration::from_millis(10);

/// The outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is sent and delivered.
    Arrives,
    /// It is sent; its receipt comes before the hand-over is recorded, and again later.
    ArrivesEarly,
    /// It is sent and not delivered.
    DoesNotArrive,
    /// It is throttled the first time.
    Delayed,
    /// It is refused.
    Refused,
}

/// The outcome of a message to this number at attempt `attempt`, from 0.
pub fn fate(number: E164, attempt: u32) -> Fate {
    match number.digits() % 20 {
        1 => Fate::Refused,
        2 => Fate::DoesNotArrive,
        3 if attempt == 0 => Fate::Delayed,
        4 => Fate::ArrivesEarly,
        _ => Fate::Arrives,
    }
}

impl Fate {
    /// Whether the message is sent.
    pub fn leaves(self) -> bool {
        !matches!(self, Self::Delayed | Self::Refused)
    }

    fn result(self) -> HandOver {
        let receipt = |status| HandOver::Taken {
            simulated: vec![Simulated { after: DELIVERY_TIME, what: Comeback::Receipt(status) }],
        };
        match self {
            Self::Arrives | Self::ArrivesEarly => receipt(ReceiptStatus::Delivered),
            Self::DoesNotArrive => receipt(ReceiptStatus::Undelivered(ErrorCode::AbsentSubscriber)),
            Self::Delayed => HandOver::TryLater { detail: "throttled by the rig".to_owned() },
            Self::Refused => {
                HandOver::Refused { error: ErrorCode::RejectedByNetwork, detail: None }
            }
        }
    }
}

/// The network.
#[derive(Debug)]
pub struct Carrier {
    name: RouteName,
    /// One line for each message handed over: id, attempt, `left` or `stayed`, time.
    written: Mutex<File>,
    /// Answers wait until this file exists.
    hold: Option<PathBuf>,
}

impl Carrier {
    /// A network that writes to this file.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn new(file: &Path, hold: Option<PathBuf>) -> std::io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(Self { name: RouteName::new("carrier"), written: Mutex::new(file), hold })
    }

    /// One write per batch, so that a kill leaves all of it or nothing.
    fn write_down(&self, messages: &[OutboundMessage]) -> std::io::Result<()> {
        let at = SystemClock.now().as_millis();
        let mut lines = String::new();
        for text in messages {
            let left = if fate(text.to, text.attempt).leaves() { "left" } else { "stayed" };
            let _ = writeln!(lines, "{} {} {left} {at}", text.message, text.attempt);
        }
        let mut file = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(lines.as_bytes())
    }
}

#[async_trait]
impl Route for Carrier {
    fn name(&self) -> &RouteName {
        &self.name
    }

    fn kind(&self) -> RouteKind {
        RouteKind::Real
    }

    fn hand_over<'a>(
        &'a self,
        messages: &'a [OutboundMessage],
        sink: &'a dyn RouteSink,
    ) -> HandOvers<'a> {
        all_at_once(async move {
            if self.write_down(messages).is_err() {
                let detail = "the rig cannot write its file".to_owned();
                return vec![HandOver::TryLater { detail }; messages.len()];
            }
            sleep(NETWORK_TIME).await;
            while self.hold.as_ref().is_some_and(|file| !file.exists()) {
                sleep(LOOK).await;
            }
            let mut results = Vec::with_capacity(messages.len());
            for text in messages {
                let fate = fate(text.to, text.attempt);
                if fate == Fate::ArrivesEarly {
                    // If this one is not stored, the later one will be.
                    let _ =
                        sink.receipt(Receipt::new(text.message, ReceiptStatus::Delivered)).await;
                }
                results.push(fate.result());
            }
            results
        })
    }

    async fn run(&self, _sink: Arc<dyn RouteSink>) {}
}
