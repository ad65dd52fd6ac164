//! Reserves room for the messages of a send while they are committed: the first two steps of the
//! life that [`from_birth`](super::from_birth) draws.

use std::sync::Arc;

use super::hold::Hold;
use super::room::{Born, Doubtful, Permit};
use crate::dispatch::held::HeldMessage;
use crate::dispatch::queue::Lease;
use crate::lane::{Lane, RouteLane};
use crate::route::{Fitness, Route};
use crate::sending::plan::SendPlan;
use crate::sending::settle::Sent;
use crate::service::sms::Sms;
use crate::service::wake::Work;
use crate::time::Timestamp;

/// Messages that are being committed as held. If this is dropped before the end of the commit is
/// known, they are in doubt.
pub(in crate::service) struct Reserved {
    sms: Sms,
    /// How many recalls there had been before.
    recalls: u64,
    waits: Option<(Vec<HeldMessage>, Hold, Timestamp, Permit)>,
}

impl Reserved {
    /// They were committed: passes them to the worker that offered the room.
    pub(in crate::service) fn committed(mut self) {
        let Some((messages, hold, until, permit)) = self.waits.take() else { return };
        let (recalls, permit) = (self.recalls, Arc::new(permit));
        let born = Born { messages, hold, recalls, until, permit };
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
        let is_ready = || {
            let has_room = |it: &Arc<dyn Route>| {
                it.fitness(of.lane) == Fitness::Ready && it.room(of.lane) >= count
            };
            carrier().is_some_and(has_room)
        };
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
            recalls: self.inner.recalls.count(),
            waits: Some((plan.held_messages(), hold, until, permit)),
        })
    }
}
