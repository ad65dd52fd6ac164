//! The operator's numbers.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::commit::LedgerWrites;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::release::{AddPlan, Release};
use sms_core::number::rent::{RentPlan, RentScope, RentVerdict, RentsCharged};
use sms_core::number::store::{CheckedIn, NumberCreated, NumberStore, NumbersWanted, ReadsNumbers};
use sms_core::number::{Holder, Number};
use sms_core::phone::E164;
use sms_core::route::RouteName;
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReadsNumbers for MemoryStore {
    async fn number_list(&self, wanted: NumbersWanted) -> Result<Vec<Number>, StoreError> {
        Ok(match wanted {
            NumbersWanted::All => self.all_numbers(),
            NumbersWanted::HeldBy(account) => self.numbers_held(account),
            NumbersWanted::Phone(phone) => self.number_by_phone(phone).into_iter().collect(),
            NumbersWanted::UsableBy(account) => self.numbers_for(account),
        })
    }

    async fn numbers_among(&self, phones: &[E164]) -> Result<BTreeSet<E164>, StoreError> {
        let state = self.state();
        let is_ours = |phone: &&E164| state.number_ids.contains_key(phone);
        Ok(phones.iter().filter(is_ours).copied().collect())
    }
}

#[async_trait]
impl NumberStore for MemoryStore {
    async fn number_create(
        &self,
        plan: AddPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<NumberCreated>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let verdict = plan.settle(state.releases.get(&plan.number.phone));
        let AddPlan { number, quarantine: _ } = plan;
        if state.number_ids.contains_key(&number.phone) {
            return Ok(Once::Done(NumberCreated::NumberExists));
        }
        if number.holder.account().is_some_and(|id| !state.accounts.contains_key(&id)) {
            return Ok(Once::Done(NumberCreated::NoSuchAccount));
        }
        if let Err(until) = verdict {
            return Ok(Once::Done(NumberCreated::Quarantined(until)));
        }
        state.number_ids.insert(number.phone, number.id);
        state.rents.extend(number.next_rent_at.map(|at| (at, number.id)));
        state.remember(claim, &number);
        state.numbers.insert(number.id, number);
        Ok(Once::Done(NumberCreated::Created))
    }

    async fn number_delete(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(number) = state.numbers.remove(&id) else { return Ok(false) };
        if let Some(rent_at) = number.next_rent_at {
            state.rents.remove(&(rent_at, id));
        }
        state.releases.insert(number.phone, Release::of(&number, at));
        Ok(state.number_ids.remove(&number.phone).is_some())
    }

    async fn number_check_in(&self, who: CheckedIn, at: Timestamp) -> Result<usize, StoreError> {
        Ok(match who {
            CheckedIn::Number(id) => usize::from(self.one_checks_in(id, at)),
            CheckedIn::Routes(routes) => self.routes_check_in(&routes, at),
        })
    }

    async fn rents_charge(&self, mut plan: RentPlan) -> Result<RentsCharged, StoreError> {
        let mut state = self.state();
        let mut charged = RentsCharged::default();
        for id in state.numbers_to_charge(&plan) {
            if let Some(verdict) = state.settle_rent(&mut plan, id) {
                charged.add(&verdict, plan.at);
                state.write_rent(verdict);
            }
        }
        Ok(charged)
    }
}

impl MemoryStore {
    fn one_checks_in(&self, id: NumberId, at: Timestamp) -> bool {
        let mut state = self.state();
        let Some(number) = state.numbers.get_mut(&id) else { return false };
        number.checked_in_at = Some(at);
        true
    }

    fn routes_check_in(&self, routes: &[Option<RouteName>], at: Timestamp) -> usize {
        let mut state = self.state();
        let behind = state.numbers.values_mut().filter(|number| routes.contains(&number.route));
        behind.map(|number| number.checked_in_at = Some(at)).count()
    }

    fn all_numbers(&self) -> Vec<Number> {
        self.state().numbers.values().rev().cloned().collect()
    }

    fn number_by_phone(&self, phone: E164) -> Option<Number> {
        self.state().number_of(phone).cloned()
    }

    fn numbers_for(&self, account: AccountId) -> Vec<Number> {
        self.state().numbers_for(account)
    }

    fn numbers_held(&self, account: AccountId) -> Vec<Number> {
        let state = self.state();
        let newest_first = state.numbers.values().rev();
        let held = newest_first.filter(|number| number.holder == Holder::Dedicated(account));
        held.cloned().collect()
    }

    pub(crate) fn rents_next(&self) -> Option<Timestamp> {
        self.state().rents.first().map(|(at, _)| *at)
    }
}

impl State {
    /// The numbers of an account, and the shared ones.
    pub(crate) fn numbers_for(&self, account: AccountId) -> Vec<Number> {
        let usable = |number: &&Number| match number.holder {
            Holder::Shared => true,
            Holder::Dedicated(holder) => holder == account,
        };
        self.numbers.values().filter(usable).cloned().collect()
    }

    /// The operator's number with this phone number.
    pub(crate) fn number_of(&self, phone: E164) -> Option<&Number> {
        self.numbers.get(self.number_ids.get(&phone)?)
    }

    fn numbers_to_charge(&self, plan: &RentPlan) -> Vec<NumberId> {
        match plan.scope {
            RentScope::Due(limit) => {
                let due = self.rents.iter().take_while(|(at, _)| *at <= plan.at);
                due.take(limit).map(|(_, id)| *id).collect()
            }
            RentScope::Account(account) => {
                let held = self.numbers.values();
                let held = held.filter(|number| number.holder == Holder::Dedicated(account));
                held.map(|number| number.id).collect()
            }
        }
    }

    fn settle_rent(&self, plan: &mut RentPlan, id: NumberId) -> Option<RentVerdict> {
        let number = self.numbers.get(&id)?;
        let room = self.accounts.get(&number.holder.account()?)?;
        plan.settle(number, room.account.balance)
    }

    fn write_rent(&mut self, verdict: RentVerdict) {
        let RentVerdict { number, entries, balance } = verdict;
        if let Some(account) = number.holder.account() {
            self.write_ledger(LedgerWrites::of(account, entries, balance));
        }
        let before = self.numbers.get(&number.id).and_then(|before| before.next_rent_at);
        if let Some(at) = before {
            self.rents.remove(&(at, number.id));
        }
        self.rents.extend(number.next_rent_at.map(|at| (at, number.id)));
        self.numbers.insert(number.id, number);
    }
}
