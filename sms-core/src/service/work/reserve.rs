//! Reserves room for the messages of a send while they are committed.

use std::sync::Arc;

use super::Work;
use super::hold::Hold;
use super::room::{Born, Doubtful, Permit};
use crate::dispatch::{HeldMessage, Lane, Lease, RouteLane};
use crate::route::Fitness;
use crate::sending::{SendPlan, Sent};
use crate::service::Sms;
use crate::time::Timestamp;

/// Messages that are being committed as held. Unless this is told how that ended, they are in
/// doubt.
pub(in crate::service) struct Reserved {
    sms: Sms,
    waits: Option<(Vec<HeldMessage>, Hold, Timestamp, Permit)>,
}

impl Reserved {
    /// They were committed.
    pub(in crate::service) fn committed(mut self) {
        let Some((messages, hold, until, permit)) = self.waits.take() else { return };
        let born = Born { messages, hold, until, permit: Arc::new(permit) };
        // The worker has stopped meanwhile.
        if let Err(Born { messages, .. }) = self.sms.inner.rooms.put_born(born) {
            self.doubt(&messages, hold, until);
        }
    }

    /// They were not committed, and never will be.
    pub(in crate::service) fn not_committed(mut self) {
        self.waits = None;
    }

    fn doubt(&self, messages: &[HeldMessage], hold: Hold, until: Timestamp) {
        let messages = messages.iter().map(|held| held.message.id).collect();
        let again_at = self.sms.now();
        self.sms.inner.rooms.doubt(Doubtful { messages, hold, until, again_at });
        self.sms.wake(Work::Dispatch);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some((messages, hold, until, permit)) = self.waits.take() {
            drop(permit);
            self.doubt(&messages, hold, until);
        }
        self.sms.inner.rooms.commit_ended();
    }
}

impl Sms {
    /// Messages that are due wait in the queue from now on.
    pub(in crate::service) fn is_queued(&self, sent: &Sent, lane: Lane) {
        if let Some(message) = sent.messages.first() {
            self.inner.rooms.goes_to_queue(&RouteLane::new(message.route.clone(), lane));
        }
        self.wake(Work::Dispatch);
    }

    /// Has a worker of this program hold the messages of a plan from the start, if they are due and
    /// there is room for all of them. Else they go to the queue.
    pub(in crate::service) fn hold(&self, plan: &mut SendPlan) -> Option<Reserved> {
        let of = RouteLane::new(plan.messages.first()?.route.clone(), plan.lane);
        if !plan.is_due() {
            return None;
        }
        let (rooms, count) = (&self.inner.rooms, plan.messages.len());
        let carrier = || self.carrier(&of.route);
        let is_ready = || carrier().is_some_and(|it| it.fitness(of.lane) == Fitness::Ready);
        if !rooms.is_open(&of) || !is_ready() || !rooms.take(&of, count) {
            rooms.goes_to_queue(&of);
            return None;
        }
        let lease = self.lease(plan.at, self.inner.lease);
        let Lease { token, until } = lease;
        let permit = rooms.permit(of, count, token);
        plan.hold(lease);
        let hold = Hold { token, since: plan.at };
        Some(Reserved {
            sms: self.clone(),
            waits: Some((plan.held_messages(), hold, until, permit)),
        })
    }
}
