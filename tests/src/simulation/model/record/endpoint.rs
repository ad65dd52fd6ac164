//! A webhook endpoint.

use std::collections::{BTreeSet, VecDeque};

use sms_core::event::EventType;
use sms_core::ids::{DeliveryId, EventId};
use sms_core::webhook::endpoint::{Endpoint, Power};

/// The expected state of an endpoint.
#[derive(Debug)]
pub struct EndpointModel {
    /// As last compared.
    pub last: Endpoint,
    /// Its deliveries.
    pub deliveries: BTreeSet<DeliveryId>,
    /// What the replay under way still has to send, in order.
    pub rest: VecDeque<EventId>,
}

impl EndpointModel {
    /// Whether events of this type make deliveries to it.
    pub fn hears_of(&self, kind: EventType) -> bool {
        self.last.power == Power::On && self.last.events.contains(&kind)
    }
}
