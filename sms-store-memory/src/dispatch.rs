//! The queue of messages that wait to be handed over.

use async_trait::async_trait;
use sms_core::account::Share;
use sms_core::commit::{Claim, ClaimWrites, OutcomeWrites, Outcomes};
use sms_core::dispatch::store::DispatchStore;
use sms_core::dispatch::{
    ClaimFacts, ClaimPlan, Claimed, FollowUp, LeaseToken, NameStanding, NewSender, OutcomePlan,
    OutcomeRecorded, keeps_number,
};
use sms_core::ids::MessageId;
use sms_core::message::Message;
use sms_core::number::Number;
use sms_core::sender_name::{ReviewStatus, SenderName};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::{AccountState, State};

#[async_trait]
impl DispatchStore for MemoryStore {
    async fn dispatch_claim(&self, plan: ClaimPlan) -> Result<Claimed, StoreError> {
        Ok(self.state().claim(plan))
    }

    async fn dispatch_record(
        &self,
        plans: Vec<OutcomePlan>,
    ) -> Result<Vec<OutcomeRecorded>, StoreError> {
        let mut state = self.state();
        Ok(plans.into_iter().flat_map(|plan| state.record_outcome(plan)).collect())
    }

    async fn dispatch_renew(
        &self,
        token: LeaseToken,
        until: Timestamp,
    ) -> Result<usize, StoreError> {
        Ok(self.state().queue.renew(token, until))
    }

    async fn follow_ups_due(
        &self,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<FollowUp>, StoreError> {
        Ok(self.state().follow_ups.due(at, limit))
    }
}

impl MemoryStore {
    pub(crate) fn dispatch_next(&self) -> Option<Timestamp> {
        self.state().queue.next()
    }

    pub(crate) fn follow_ups_next(&self) -> Option<Timestamp> {
        self.state().follow_ups.next()
    }
}

impl AccountState {
    /// Whether the sender name of a message is still approved.
    pub(crate) fn standing(&self, name: Option<&str>) -> NameStanding {
        let Some(name) = name else { return NameStanding::NotUsed };
        let is_approved =
            |own: &SenderName| own.status == ReviewStatus::Approved && own.value.same_as(name);
        if self.sender_names.values().any(is_approved) {
            NameStanding::Approved
        } else {
            NameStanding::NotApproved
        }
    }
}

impl State {
    fn claim(&mut self, plan: ClaimPlan) -> Claimed {
        let at = plan.at;
        let share = |account| match self.accounts.get(&account) {
            Some(room) => room.account.share,
            None => Share::default(),
        };
        let which = (&plan.wanted, &plan.turns);
        let due = self.queue.claimable(at, plan.limit, which, share);
        let mut claim = Claim::new(plan);
        for entry in &due {
            let stored = self.messages.get(&entry.message);
            let room = self.accounts.get(&entry.account);
            let Some((stored, room)) = stored.zip(room) else { continue };
            let message = &stored.message;
            let numbers = self.numbers_to_send(message, at);
            claim.settle(ClaimFacts {
                message,
                entry,
                account_status: room.account.status,
                opted_out: room.opt_outs.contains_key(&message.to),
                campaign_cancelled: message.campaign_id.is_some_and(|id| room.is_cancelled(id)),
                name: room.standing(message.sender.as_deref()),
                numbers: &numbers,
            });
        }
        let (ClaimWrites { queue, senders, changes }, claimed) = claim.finish();
        for entry in queue {
            self.queue.replace(entry);
        }
        for NewSender { account: _, message, from, route } in senders {
            if let Some(entry) = self.queue.get(message).copied() {
                self.queue.insert(entry, &route);
            }
            if let Some(stored) = self.messages.get_mut(&message) {
                stored.message = Message { from, route, ..stored.message.clone() };
            }
        }
        self.write_changes(changes);
        claimed
    }

    /// The number of a message, and the others of its account if it does not keep it.
    fn numbers_to_send(&self, message: &Message, at: Timestamp) -> Vec<Number> {
        let own = self.number_of(message.from);
        if keeps_number(message, own, at) {
            return own.cloned().into_iter().collect();
        }
        self.numbers_for(message.account)
    }

    fn record_outcome(&mut self, mut plan: OutcomePlan) -> Vec<OutcomeRecorded> {
        let stored = self.messages.get(&plan.message).map(|stored| &stored.message);
        let early = stored.map(|message| self.sent_segments.early(plan.parts(), message));
        let mut outcomes = Outcomes::new(early.unwrap_or_default());
        let found = stored.zip(self.queue.get(plan.message));
        outcomes.settle(&mut plan, found);
        let (writes, recorded) = outcomes.finish();
        let OutcomeWrites { queue, follow_ups, parts, beside, changes } = writes;
        for entry in queue {
            self.queue.replace(entry);
        }
        for follow_up in follow_ups {
            self.follow_ups.insert(follow_up);
        }
        for part in parts {
            let former = self.sent_segments.holder(&part.id).filter(|it| *it != part.message);
            let recipient = |id: MessageId| self.messages.get(&id).map(|stored| stored.message.to);
            let to = former.and_then(recipient);
            if let Some(to) = to.filter(|to| Some(*to) != recipient(part.message)) {
                self.sent_segments.move_beside(&part.id, to);
            }
            self.sent_segments.keep_part(part);
        }
        self.sent_segments.keep_beside(beside);
        self.write_changes(changes);
        recorded
    }
}
