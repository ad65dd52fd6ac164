//! Texts that come in.

use async_trait::async_trait;
use sms_core::account::Mode;
use sms_core::ids::{AccountId, MessageId};
use sms_core::inbound::store::InboundStore;
use sms_core::inbound::{
    InboundFacts, InboundPlan, InboundVerdict, OptOutChange, Origin, RoutingFacts, TakenIn,
    Unrouted,
};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl InboundStore for MemoryStore {
    async fn inbound_take(&self, mut plan: InboundPlan) -> Result<TakenIn, StoreError> {
        let mut state = self.state();
        if let Origin::Answer { follow_up, .. } = plan.origin
            && !state.follow_ups.remove(follow_up)
        {
            return Ok(TakenIn::AlreadyDone);
        }
        let owner = plan.owner(state.routing_facts(&plan));
        let known = owner.filter(|(account, _)| state.accounts.contains_key(account));
        let Some((account, mode)) = known else {
            let unrouted = plan.unrouted();
            state.unrouted.insert(unrouted.id, unrouted.clone());
            return Ok(TakenIn::Unrouted(unrouted));
        };
        Ok(TakenIn::Routed(state.take_in(&mut plan, account, mode)))
    }

    async fn last_texted_tidy(&self, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let mut state = self.state();
        let old = state.last_texted.iter().filter(|(_, (_, at))| *at < before);
        let contacts: Vec<_> = old.map(|(contact, _)| *contact).take(limit).collect();
        for contact in &contacts {
            state.last_texted.remove(contact);
        }
        Ok(contacts.len())
    }

    async fn unrouted_list(&self, page: PageRequest) -> Result<Page<Unrouted>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(MessageId::from_u128(u128::MAX), Cursor::id);
        let rows = state.unrouted.range(..end).rev().take(page.limit.get() + 1);
        let rows = rows.map(|(_, text)| text.clone()).collect();
        Ok(Page::of(rows, page.limit, |text: &Unrouted| text.id))
    }
}

impl State {
    fn routing_facts(&self, plan: &InboundPlan) -> RoutingFacts {
        let number = self.number_ids.get(&plan.text.to).and_then(|id| self.numbers.get(id));
        let answered = match plan.origin {
            Origin::Network => None,
            Origin::Answer { to, .. } => self.messages.get(&to),
        };
        RoutingFacts {
            holder: number.map(|number| number.holder),
            last_texted: self.last_texted.get(&(plan.text.to, plan.text.from)).copied(),
            answered: answered.map(|stored| (stored.message.account, stored.message.mode)),
        }
    }

    fn take_in(
        &mut self,
        plan: &mut InboundPlan,
        account: AccountId,
        mode: Mode,
    ) -> sms_core::message::Message {
        let opted_out = self
            .accounts
            .get(&account)
            .is_some_and(|room| room.opt_outs.contains_key(&plan.text.from));
        let InboundVerdict { message, timeline, opt_out, events } =
            plan.settle(InboundFacts { account, mode, opted_out });
        self.insert_message(message.clone(), vec![timeline]);
        if let Some(room) = self.accounts.get_mut(&account) {
            match opt_out {
                OptOutChange::Keep => {}
                OptOutChange::Add(opt_out) => {
                    room.opt_outs.insert(opt_out.phone, opt_out);
                }
                OptOutChange::Remove(phone) => {
                    room.opt_outs.remove(&phone);
                }
            }
        }
        self.raise(&events, &mut plan.ids);
        message
    }
}
