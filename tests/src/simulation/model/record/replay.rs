//! A replay to a webhook endpoint.

use sms_core::event::position::Position;
use sms_core::ids::EndpointId;
use sms_core::service::replay::ReplayRequest;
use sms_core::webhook::endpoint::Endpoint;
use sms_core::webhook::replay::ReplayBegun;
use sms_core::webhook::replay::plan::ReplayRefused;

/// A request for a replay that is under way.
#[derive(Debug)]
pub struct ReplayAsked {
    /// The endpoint that it names.
    pub endpoint: EndpointId,
    /// What it asks for.
    pub request: ReplayRequest,
    /// How far the log could be read before: the replay must have all until there.
    pub end: Position,
    /// How many events had been removed from the log before.
    pub removed: usize,
    /// The endpoint as the service read it; `None` if it found none, or has not read it.
    pub found: Option<Endpoint>,
    /// The answer of the commit, if there was one.
    pub verdict: Option<Result<ReplayBegun, ReplayRefused>>,
}
