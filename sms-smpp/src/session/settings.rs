//! How a session binds and keeps its connection.

use std::time::Duration;

use metrics::Counter;

use crate::pdu::{Bind, BindMode};

/// The settings of a session.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Transmitter, receiver or transceiver.
    pub mode: BindMode,
    /// The account to bind with.
    pub bind: Bind,
    /// How many `submit_sm`s may await their response at once.
    pub window: usize,
    /// How long to wait for a response. A `submit_sm` without one becomes
    /// [`Submitted::Unanswered`](super::Submitted::Unanswered); an `enquire_link` without one ends
    /// the session.
    pub patience: Duration,
    /// How long the SMSC may be silent before an `enquire_link` is sent.
    pub idle: Duration,
    /// Counts the `deliver_sm`s that found no room for a third of `patience`, and that the SMSC was
    /// asked to send again.
    pub refused: Counter,
}

impl Settings {
    /// A transceiver with a window of 10, 30 s to respond, and an `enquire_link` after 30 s. What
    /// it refuses is not counted.
    pub fn new(bind: Bind) -> Self {
        Self {
            mode: BindMode::Transceiver,
            bind,
            window: 10,
            patience: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            refused: Counter::noop(),
        }
    }
}
