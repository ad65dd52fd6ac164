//! The queue of texts that wait to leave.

use async_trait::async_trait;
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{
    ClaimFacts, ClaimPlan, ClaimVerdict, Claimed, FollowUp, LeaseToken, OutcomePlan,
    OutcomeRecorded, OutcomeVerdict, QueueEntry,
};
use sms_core::event::Event;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl DispatchStore for MemoryStore {
    async fn dispatch_claim(&self, mut plan: ClaimPlan) -> Result<Claimed, StoreError> {
        let mut state = self.state();
        let mut claimed = Claimed::default();
        let mut events = Vec::new();
        for entry in state.queue.claimable(plan.at, plan.limit, &plan.wanted) {
            events.extend(state.claim(entry, &mut plan, &mut claimed));
        }
        // Named by the ids that are left once all is settled, as every store does.
        state.raise(&events, &mut plan.ids);
        Ok(claimed)
    }

    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        let mut state = self.state();
        Ok(plans.into_iter().map(|plan| state.record_outcome(plan)).collect())
    }

    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        Ok(self.state().queue.renew(token, until))
    }

    async fn dispatch_next(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.state().queue.next())
    }

    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError> {
        Ok(self.state().follow_ups.due(at, limit))
    }

    async fn follow_ups_next(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.state().follow_ups.next())
    }
}

impl State {
    /// Settles one entry; the events that this raises.
    fn claim(
        &mut self,
        entry: QueueEntry,
        plan: &mut ClaimPlan,
        claimed: &mut Claimed,
    ) -> Vec<Event> {
        let stored = self.messages.get(&entry.message);
        let room = self.accounts.get(&entry.account);
        let (Some(stored), Some(room)) = (stored, room) else {
            self.queue.remove(entry.message);
            return Vec::new();
        };
        let facts = ClaimFacts {
            message: &stored.message,
            entry: &entry,
            account_status: room.account.status,
            opted_out: room.opt_outs.contains_key(&stored.message.to),
            campaign_cancelled: stored.message.campaign_id.is_some_and(|id| {
                let launch = room.campaigns.get(&id).and_then(|it| it.launch.as_ref());
                launch.is_some_and(|launch| launch.cancelled_at.is_some())
            }),
        };
        match plan.settle(facts) {
            ClaimVerdict::Take { changed, text, entry } => {
                let events = changed.map(|changed| self.write_change(*changed));
                self.queue.replace(entry);
                claimed.texts.push(text);
                events.unwrap_or_default()
            }
            ClaimVerdict::Fail(changed) => {
                claimed.failed += 1;
                self.write_change(*changed)
            }
            ClaimVerdict::GiveUp(changed) => {
                claimed.given_up += 1;
                self.write_change(*changed)
            }
            ClaimVerdict::Cancel(changed) => {
                claimed.cancelled += 1;
                self.write_change(*changed)
            }
            ClaimVerdict::Drop => {
                self.queue.remove(entry.message);
                Vec::new()
            }
        }
    }

    fn record_outcome(&mut self, mut plan: OutcomePlan) -> OutcomeRecorded {
        let stored = self.messages.get(&plan.message).map(|stored| &stored.message);
        let early = self.sent_parts.early(plan.parts());
        match plan.settle(stored.zip(self.queue.get(plan.message)), &early) {
            OutcomeVerdict::Done { changes, follow_ups, parts } => {
                let mut recorded = OutcomeRecorded::LeaseLost;
                for changed in changes {
                    recorded = OutcomeRecorded::Done(changed.message.status);
                    self.apply(changed, &mut plan.ids);
                }
                for follow_up in follow_ups {
                    self.follow_ups.insert(follow_up);
                }
                for part in parts {
                    self.sent_parts.keep_part(part);
                }
                recorded
            }
            OutcomeVerdict::Retry { entry, note } => {
                self.queue.replace(entry);
                if let Some(stored) = self.messages.get_mut(&plan.message) {
                    stored.timeline.extend(note);
                }
                OutcomeRecorded::Retry
            }
            OutcomeVerdict::LeaseLost => OutcomeRecorded::LeaseLost,
        }
    }
}
