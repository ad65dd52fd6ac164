//! Webhook deliveries: by id, by endpoint, and by the time at which they can be claimed.

use std::collections::{BTreeMap, BTreeSet};

use sms_core::ids::{DeliveryId, EndpointId, EventId};
use sms_core::time::Timestamp;
use sms_core::webhook::delivery::Delivery;

/// All deliveries, with the indexes by which they are found.
#[derive(Default)]
pub(crate) struct Deliveries {
    rows: BTreeMap<DeliveryId, Delivery>,
    by_endpoint: BTreeSet<(EndpointId, DeliveryId)>,
    by_age: BTreeSet<(Timestamp, DeliveryId)>,
    /// The claimable deliveries of each endpoint, so that no endpoint hides those of another.
    claimable: BTreeMap<EndpointId, BTreeSet<(Timestamp, DeliveryId)>>,
    /// The events of the claimable deliveries of each endpoint.
    waiting: BTreeSet<(EndpointId, EventId, DeliveryId)>,
    /// When each endpoint's first delivery can be claimed.
    first_due: BTreeSet<(Timestamp, EndpointId)>,
}

impl Deliveries {
    /// Adds a delivery, or replaces it.
    pub(crate) fn put(&mut self, delivery: Delivery) {
        self.remove(delivery.id);
        self.by_endpoint.insert((delivery.endpoint, delivery.id));
        self.by_age.insert((delivery.created_at, delivery.id));
        if let Some(at) = delivery.claimable_at() {
            let (endpoint, id) = (delivery.endpoint, delivery.id);
            self.waiting.insert((endpoint, delivery.event_id, id));
            self.change_claimable(endpoint, |waiting| waiting.insert((at, id)));
        }
        self.rows.insert(delivery.id, delivery);
    }

    pub(crate) fn remove(&mut self, id: DeliveryId) {
        let Some(delivery) = self.rows.remove(&id) else { return };
        self.by_endpoint.remove(&(delivery.endpoint, id));
        self.by_age.remove(&(delivery.created_at, id));
        if let Some(at) = delivery.claimable_at() {
            self.waiting.remove(&(delivery.endpoint, delivery.event_id, id));
            self.change_claimable(delivery.endpoint, |waiting| waiting.remove(&(at, id)));
        }
    }

    pub(crate) fn get(&self, id: DeliveryId) -> Option<&Delivery> {
        self.rows.get(&id)
    }

    /// The endpoints with deliveries to claim at `at`, the longest due first.
    pub(crate) fn endpoints_due(&self, at: Timestamp) -> Vec<EndpointId> {
        let due = self.first_due.iter().take_while(|(time, _)| *time <= at);
        due.map(|(_, endpoint)| *endpoint).collect()
    }

    /// Up to `limit` of an endpoint's deliveries that can be claimed at `at`, the longest due
    /// first.
    pub(crate) fn claimable(
        &self,
        endpoint: EndpointId,
        at: Timestamp,
        limit: usize,
    ) -> Vec<Delivery> {
        let waiting = self.claimable.get(&endpoint).into_iter().flatten();
        let due = waiting.take_while(|(time, _)| *time <= at).take(limit);
        due.filter_map(|(_, id)| self.rows.get(id).cloned()).collect()
    }

    /// Whether a delivery of this event is pending.
    pub(crate) fn waits(&self, endpoint: EndpointId, event: EventId) -> bool {
        let [first, last] = [0, u128::MAX].map(|id| (endpoint, event, DeliveryId::from_u128(id)));
        self.waiting.range(first..=last).next().is_some()
    }

    /// Whether a delivery of this endpoint can be claimed at `at`.
    pub(crate) fn is_due(&self, endpoint: EndpointId, at: Timestamp) -> bool {
        let waiting = self.claimable.get(&endpoint).and_then(BTreeSet::first);
        waiting.is_some_and(|(time, _)| *time <= at)
    }

    /// An endpoint's pending deliveries.
    pub(crate) fn pending(&self, endpoint: EndpointId) -> Vec<Delivery> {
        let waiting = self.claimable.get(&endpoint).into_iter().flatten();
        waiting.filter_map(|(_, id)| self.rows.get(id).cloned()).collect()
    }

    /// An endpoint's deliveries with ids below `before`, newest first; all of them for `None`.
    pub(crate) fn newest_first(
        &self,
        endpoint: EndpointId,
        before: Option<DeliveryId>,
    ) -> impl Iterator<Item = &Delivery> {
        let first = (endpoint, DeliveryId::from_u128(0));
        let end = before.unwrap_or(DeliveryId::from_u128(u128::MAX));
        let ids = self.by_endpoint.range(first..(endpoint, end)).rev();
        ids.filter_map(|(_, id)| self.rows.get(id))
    }

    /// Removes all of an endpoint's deliveries.
    pub(crate) fn remove_endpoint(&mut self, endpoint: EndpointId) {
        let ids: Vec<DeliveryId> =
            self.newest_first(endpoint, None).map(|delivery| delivery.id).collect();
        for id in ids {
            self.remove(id);
        }
    }

    /// Removes up to `limit` deliveries created before `before`, the oldest first. Returns how
    /// many.
    pub(crate) fn tidy(&mut self, before: Timestamp, limit: usize) -> usize {
        let old = self.by_age.iter().take_while(|(made, _)| *made < before);
        let ids: Vec<DeliveryId> = old.take(limit).map(|(_, id)| *id).collect();
        for id in &ids {
            self.remove(*id);
        }
        ids.len()
    }

    /// When each endpoint's first delivery can be claimed, the earliest first.
    pub(crate) fn first_due(&self) -> impl Iterator<Item = (Timestamp, EndpointId)> {
        self.first_due.iter().copied()
    }

    fn change_claimable(
        &mut self,
        endpoint: EndpointId,
        change: impl FnOnce(&mut BTreeSet<(Timestamp, DeliveryId)>) -> bool,
    ) {
        let waiting = self.claimable.entry(endpoint).or_default();
        if let Some((time, _)) = waiting.first() {
            self.first_due.remove(&(*time, endpoint));
        }
        change(waiting);
        match waiting.first() {
            Some((time, _)) => {
                self.first_due.insert((*time, endpoint));
            }
            None => {
                self.claimable.remove(&endpoint);
            }
        }
    }
}
