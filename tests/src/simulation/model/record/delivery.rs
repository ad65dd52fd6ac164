//! A webhook delivery.

use sms_core::time::Timestamp;
use sms_core::webhook::DeliveryStatus;
use sms_core::webhook::delivery::Delivery;

/// The expected state of a delivery.
#[derive(Debug)]
pub struct DeliveryModel {
    /// As last compared.
    pub last: Delivery,
    /// Requests that the receiver got.
    pub seen: u32,
    /// Retries by hand.
    pub by_hand: u32,
}

impl DeliveryModel {
    /// A new delivery.
    pub fn new(last: Delivery) -> Self {
        Self { last, seen: 0, by_hand: 0 }
    }

    pub(crate) fn claimable_at(&self) -> Option<Timestamp> {
        let pending = self.last.status == DeliveryStatus::Pending;
        pending.then_some(self.last.leased_until.max(self.last.next_attempt_at)).flatten()
    }
}
