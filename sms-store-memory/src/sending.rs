//! Accepts sends.

use std::collections::VecDeque;

use async_trait::async_trait;
use sms_core::commit::{LedgerWrites, SendWrites};
use sms_core::idempotency::Owner;
use sms_core::ids::AccountId;
use sms_core::message::Message;
use sms_core::sending::idempotency::{EarlierSend, IdempotencyKey};
use sms_core::sending::plan::{SendPlan, new_messages};
use sms_core::sending::settle::{
    DepartureFacts, SendFacts, SendRefused, SendVerdict, Sent, TEST_MESSAGES_KEPT, TEST_WINDOW,
    TestMessages,
};
use sms_core::sending::store::SendingStore;
use sms_core::store::{CommitError, StoreError};
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::remembered::Remembered;
use crate::state::State;

#[async_trait]
impl SendingStore for MemoryStore {
    async fn send_accept(
        &self,
        plans: Vec<SendPlan>,
    ) -> Vec<Result<Sent, CommitError<SendRefused>>> {
        let mut refused = Vec::new();
        let mut state = self.state();
        let settled = plans.into_iter().map(|plan| match state.judge(&plan) {
            Ok(verdict) => Ok(state.write_verdict(plan, verdict)),
            Err(error) => {
                refused.push(plan);
                Err(error)
            }
        });
        let answers = settled.collect();
        drop(state);
        // Freeing a large plan takes a while, and no other command should wait for the lock
        // meanwhile.
        drop(refused);
        answers
    }

    async fn send_earlier(
        &self,
        account: AccountId,
        key: &IdempotencyKey,
        at: Timestamp,
    ) -> Result<Option<EarlierSend>, StoreError> {
        let state = self.state();
        let found = state.remembered.get(&(Owner::Account(account), key.clone()));
        Ok(match found {
            Some(Remembered::Send(earlier)) if earlier.is_kept(at) => Some(earlier.clone()),
            _ => None,
        })
    }

    async fn send_replay(
        &self,
        account: AccountId,
        earlier: EarlierSend,
    ) -> Result<Sent, StoreError> {
        Ok(self.state().replay(account, earlier))
    }
}

impl MemoryStore {
    pub(crate) fn test_sends_tidy(&self, before: Timestamp, limit: usize) -> usize {
        let mut state = self.state();
        let mut removed = 0;
        for room in state.accounts.values_mut() {
            // Not sorted by time: an older plan may have been committed after a newer one.
            room.test_messages.retain(|(at, _)| {
                let goes = removed < limit && *at < before;
                removed += usize::from(goes);
                !goes
            });
        }
        removed
    }
}

impl State {
    pub(crate) fn accept(&mut self, plan: SendPlan) -> Result<Sent, CommitError<SendRefused>> {
        let verdict = self.judge(&plan)?;
        Ok(self.write_verdict(plan, verdict))
    }

    fn judge(&self, plan: &SendPlan) -> Result<SendVerdict, CommitError<SendRefused>> {
        let facts = self.send_facts(plan)?;
        plan.settle(&facts)
    }

    /// Nothing here can fail: every check is in `settle`.
    fn write_verdict(&mut self, plan: SendPlan, verdict: SendVerdict) -> Sent {
        match verdict {
            SendVerdict::Replay(earlier) => self.replay(plan.account, earlier),
            SendVerdict::Accept(writes) => {
                self.insert_new(new_messages([&plan]));
                let balance = writes.balance;
                self.write_send(plan.account, writes);
                plan.sent(balance)
            }
        }
    }

    fn send_facts(&self, plan: &SendPlan) -> Result<SendFacts, CommitError<SendRefused>> {
        let room = self.accounts.get(&plan.account);
        let room = room.ok_or(CommitError::Refused(SendRefused::NoSuchAccount))?;
        let key = plan.idempotency.as_ref().map(|claim| claim.key.clone());
        let earlier = key.and_then(|key| self.remembered.get(&(Owner::Account(plan.account), key)));
        let test_messages =
            if plan.mode.is_test() { recent(&room.test_messages, plan.at) } else { Vec::new() };
        let of_held = plan.held.and(plan.messages.first());
        Ok(SendFacts {
            status: room.account.status,
            balance: room.account.balance,
            earlier: earlier.map(Remembered::key_use).filter(|used| used.is_kept(plan.at)),
            opted_out: plan.messages.iter().any(|text| room.opt_outs.contains_key(&text.to)),
            codes_taken: self.links.has_code_of(&plan.links),
            test_messages,
            has_conversations: !room.inbox.is_empty(),
            departure: of_held.map(|message| DepartureFacts {
                name: room.standing(message.sender.as_deref()),
                number: self.number_of(message.from).cloned(),
            }),
        })
    }

    fn replay(&self, account: AccountId, earlier: EarlierSend) -> Sent {
        let room = self.accounts.get(&account);
        let ids = room.into_iter().flat_map(|room| room.index.batch(earlier.batch));
        let stored = ids.filter_map(|id| self.messages.get(&id));
        let messages: Vec<Message> = stored.map(|stored| stored.message.clone()).collect();
        earlier.sent(messages)
    }

    fn write_send(&mut self, account: AccountId, writes: SendWrites) {
        let SendWrites { entry, balance, remembered, test_messages, conversations } = writes;
        self.write_ledger(LedgerWrites::of(account, entry, balance));
        self.remember_test_messages(test_messages);
        if let Some((key, earlier)) = remembered {
            self.remember_key(Owner::Account(account), key, Remembered::Send(earlier));
        }
        let Some(room) = self.accounts.get_mut(&account) else { return };
        for (number, message) in conversations {
            room.inbox.shift(number, message);
        }
    }

    /// Keeps more than the hour: a plan made before this one may be committed after it.
    pub(crate) fn remember_test_messages(&mut self, made: Option<TestMessages>) {
        let Some(TestMessages { account, batch: _, at, count }) = made else { return };
        if let Some(room) = self.accounts.get_mut(&account) {
            room.test_messages.retain(|(earlier, _)| at.since(*earlier) < TEST_MESSAGES_KEPT);
            room.test_messages.push_back((at, count));
        }
    }
}

/// The test messages sent within the hour before `now`.
pub(crate) fn recent(made: &VecDeque<(Timestamp, u32)>, now: Timestamp) -> Vec<(Timestamp, u32)> {
    made.iter().filter(|(at, _)| now.since(*at) < TEST_WINDOW).copied().collect()
}
