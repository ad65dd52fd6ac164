//! What a worker holds.

use std::collections::BTreeMap;

use sms_core::ids::MessageId;
use sms_core::route::OutboundMessage;
use sms_core::time::Timestamp;

use crate::simulation::executor::TaskId;

/// The messages that a worker claimed.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The task that asked.
    pub task: TaskId,
    /// The step in which it got them.
    pub step: u64,
    /// When the messages were accepted, if the worker holds them from the start.
    pub since: Option<Timestamp>,
    /// The messages as claimed, and how often the worker handed each to a route.
    pub messages: BTreeMap<MessageId, (OutboundMessage, u32)>,
}
