//! How workers are set up.

use std::num::NonZeroUsize;

use sms_webhooks::SlotLimits;

use crate::pause::PauseSwitch;

/// How workers are set up. The defaults suit a server.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct WorkerOptions {
    pub(crate) dispatch_loops: Option<NonZeroUsize>,
    pub(crate) webhook_slots: SlotLimits,
    pub(crate) pausable: Option<PauseSwitch>,
}

impl WorkerOptions {
    /// All options at their defaults, which their setters state.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many loops hand messages to routes side by side, each up to 500 at a time. By default 2
    /// for each route that carries live messages, and 8 at most.
    pub fn dispatch_loops(mut self, loops: NonZeroUsize) -> Self {
        self.dispatch_loops = Some(loops);
        self
    }

    /// How many webhook attempts are made side by side, in all and for each endpoint.
    pub fn webhook_slots(mut self, limits: SlotLimits) -> Self {
        self.webhook_slots = limits;
        self
    }

    /// Lets `switch` pause the loops. One loop then runs for each kind of work, and it waits for
    /// each batch as a whole: this is for sandboxes and tests that move the clock, not for load.
    pub fn pausable(mut self, switch: &PauseSwitch) -> Self {
        self.pausable = Some(switch.clone());
        self
    }
}
