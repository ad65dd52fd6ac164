//! Accepting sends.

use std::collections::VecDeque;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::SendPlan;
use sms_core::sending::settle::{
    Replay, SendFacts, SendRefused, SendVerdict, Sent, TEST_TEXTS_KEPT, TEST_WINDOW,
};
use sms_core::sending::store::SendingStore;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl SendingStore for MemoryStore {
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        let mut state = self.state();
        plans.into_iter().map(|plan| state.accept(plan)).collect()
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        let state = self.state();
        let earlier = state.accounts.get(&account).and_then(|room| room.earlier.get(key));
        Ok(earlier.filter(|earlier| earlier.is_kept(at)).cloned())
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        Ok(self.state().replay(account, earlier))
    }

    async fn idempotency_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut state = self.state();
        let mut removed = 0;
        while removed < limit {
            if state.key_ages.first().is_none_or(|(accepted_at, _, _)| *accepted_at >= before) {
                break;
            }
            let Some((accepted_at, account, key)) = state.key_ages.pop_first() else { break };
            if let Some(room) = state.accounts.get_mut(&account) {
                // The key may have been used again since.
                let is_same = |earlier: &EarlierSend| earlier.accepted_at == accepted_at;
                if room.earlier.get(&key).is_some_and(is_same) {
                    room.earlier.remove(&key);
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    async fn test_sends_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut state = self.state();
        let mut removed = 0;
        for room in state.accounts.values_mut() {
            // One that was planned earlier may have been committed behind a younger one.
            room.test_texts.retain(|(at, _)| {
                let goes = removed < limit && *at < before;
                removed += usize::from(goes);
                !goes
            });
        }
        Ok(removed)
    }
}

impl State {
    pub(crate) fn accept(&mut self, plan: SendPlan) -> Result<Sent, CommitError<SendRefused>> {
        let facts = self.send_facts(&plan)?;
        match plan.settle(&facts)? {
            SendVerdict::Replay(earlier) => Ok(self.replay(plan.account, earlier)),
            SendVerdict::Accept { entry, balance } => {
                // Nothing below can fail: every check is in `settle`.
                if let Some(room) = self.accounts.get_mut(&plan.account) {
                    room.book(entry, balance);
                }
                Ok(self.write_send(plan, balance))
            }
        }
    }

    fn send_facts(&self, plan: &SendPlan) -> Result<SendFacts, CommitError<SendRefused>> {
        let room = self.accounts.get(&plan.account);
        let room = room.ok_or(CommitError::Refused(SendRefused::NoSuchAccount))?;
        let earlier = plan.idempotency.as_ref().and_then(|claim| room.earlier.get(&claim.key));
        let test_texts =
            if plan.mode.is_test() { recent(&room.test_texts, plan.at) } else { Vec::new() };
        Ok(SendFacts {
            status: room.account.status,
            balance: room.account.balance,
            earlier: earlier.filter(|earlier| earlier.is_kept(plan.at)).cloned(),
            opted_out: plan.messages.iter().any(|text| room.opt_outs.contains_key(&text.to)),
            codes_taken: self.links.has_code_of(&plan.links),
            test_texts,
        })
    }

    fn replay(&self, account: AccountId, earlier: EarlierSend) -> Sent {
        let EarlierSend { fingerprint: _, batch, rejected, credits, balance, accepted_at: _ } =
            earlier;
        let room = self.accounts.get(&account);
        let ids = room.into_iter().flat_map(|room| room.index.batch(batch));
        let stored = ids.filter_map(|id| self.messages.get(&id));
        let messages = stored.map(|stored| stored.message.clone().as_accepted()).collect();
        Sent { batch, messages, rejected, credits, balance, replay: Replay::Repeated }
    }

    fn write_send(&mut self, plan: SendPlan, balance: sms_core::credits::Credits) -> Sent {
        for message in &plan.messages {
            self.queue.insert(plan.queue_entry(message), &message.route);
            self.insert_message(message.clone(), vec![plan.accepted(message)]);
        }
        let SendPlan {
            account,
            mode,
            batch,
            idempotency,
            messages,
            links,
            rejected,
            price: _,
            charge,
            entry_id: _,
            claimable_at: _,
            expires_at: _,
            at,
        } = plan;
        for link in links {
            self.links.insert(link);
        }
        if let Some(room) = self.accounts.get_mut(&account) {
            if mode.is_test() && !messages.is_empty() {
                forget_old(&mut room.test_texts, at);
                room.test_texts.push_back((at, u32::try_from(messages.len()).unwrap_or(u32::MAX)));
            }
            if let Some(claim) = idempotency {
                let earlier = EarlierSend {
                    fingerprint: claim.fingerprint,
                    batch,
                    rejected: rejected.clone(),
                    credits: charge,
                    balance,
                    accepted_at: at,
                };
                self.key_ages.insert((at, account, claim.key.clone()));
                room.earlier.insert(claim.key, earlier);
            }
        }
        Sent { batch, messages, rejected, credits: charge, balance, replay: Replay::First }
    }
}

/// What was made within the hour before `now`.
pub(crate) fn recent(made: &VecDeque<(Timestamp, u32)>, now: Timestamp) -> Vec<(Timestamp, u32)> {
    made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW).copied().collect()
}

/// Twice the hour is kept: another plan, made before this one, may be committed after it.
pub(crate) fn forget_old(made: &mut VecDeque<(Timestamp, u32)>, now: Timestamp) {
    made.retain(|(at, _)| now.since(*at) < TEST_TEXTS_KEPT);
}
