//! Attempts that have ended and wait to be recorded together.

use std::time::Duration;

use sms_core::ids::EndpointId;
use sms_core::webhook::attempt::AttemptPlan;
use tokio::time::Instant;

/// How long successes are gathered.
const GATHERED_FOR: Duration = Duration::from_millis(10);
/// The number that is recorded without waiting for more.
const ENOUGH: usize = 200;

/// What an attempt that is not recorded yet still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    /// Nothing: it succeeded, so its slot is free already.
    None,
    /// The slot of its endpoint.
    Slot(EndpointId),
}

/// Attempts in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    plans: Vec<AttemptPlan>,
    holders: Vec<Holder>,
    /// When they are recorded; `None` while there are none.
    due_at: Option<Instant>,
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        self.plans.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.plans.is_empty()
    }

    /// When they are to be recorded; `None` if there are none.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// Adds an attempt that ended at `now`. One that holds a slot does not wait for others.
    pub(super) fn add(&mut self, plan: AttemptPlan, holder: Holder, now: Instant) {
        self.plans.push(plan);
        self.holders.push(holder);
        let is_enough = self.plans.len() >= ENOUGH || holder != Holder::None;
        let due_at = if is_enough { now } else { now + GATHERED_FOR };
        self.due_at = Some(self.due_at.map_or(due_at, |at| at.min(due_at)));
    }

    /// Takes all of them.
    pub(super) fn take(&mut self) -> (Vec<AttemptPlan>, Vec<Holder>) {
        self.due_at = None;
        (std::mem::take(&mut self.plans), std::mem::take(&mut self.holders))
    }
}

#[cfg(test)]
mod tests {
    use sms_core::dispatch::LeaseToken;
    use sms_core::ids::{AccountId, DeliveryId};
    use sms_core::time::Timestamp;
    use sms_core::webhook::delivery::DeliveryError;
    use sms_core::webhook::retry::{Jitter, RetrySchedule};

    use super::*;

    fn plan(of: u128, result: Result<(), DeliveryError>) -> AttemptPlan {
        let at = Timestamp::from_millis(1_795_000_000_000);
        AttemptPlan {
            account: AccountId::from_u128(1),
            delivery: DeliveryId::from_u128(of),
            token: LeaseToken(of),
            result,
            status_code: None,
            retry_after: None,
            began: at,
            at,
            schedule: RetrySchedule::default(),
            jitter: Jitter(0),
        }
    }

    #[test]
    fn successes_wait_for_others_and_a_failure_takes_them_along_at_once_in_order() {
        let start = Instant::now();
        let later = start + Duration::from_millis(4);
        let mut gathered = Gathered::default();
        assert_eq!(gathered.due_at(), None);
        gathered.add(plan(1, Ok(())), Holder::None, start);
        gathered.add(plan(2, Ok(())), Holder::None, later);
        assert_eq!(gathered.due_at(), Some(start + GATHERED_FOR), "the first one's");
        let slot = Holder::Slot(EndpointId::from_u128(1));
        gathered.add(plan(3, Err(DeliveryError::Timeout)), slot, later);
        assert_eq!(gathered.due_at(), Some(later));
        let (plans, holders) = gathered.take();
        let order: Vec<u128> = plans.iter().map(|plan| plan.token.0).collect();
        assert_eq!(order, [1, 2, 3]);
        assert_eq!(holders, [Holder::None, Holder::None, slot]);
        assert!(gathered.is_empty() && gathered.due_at().is_none());
    }

    #[test]
    fn many_successes_wait_for_no_more() {
        let start = Instant::now();
        let mut gathered = Gathered::default();
        for of in 1..200 {
            gathered.add(plan(of, Ok(())), Holder::None, start);
        }
        assert_eq!(gathered.due_at(), Some(start + GATHERED_FOR));
        gathered.add(plan(200, Ok(())), Holder::None, start);
        assert_eq!((gathered.due_at(), gathered.len()), (Some(start), 200));
    }
}
