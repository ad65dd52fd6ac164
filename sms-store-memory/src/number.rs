//! The operator's numbers.

use async_trait::async_trait;
use sms_core::ids::{AccountId, NumberId};
use sms_core::number::store::{NumberCreated, NumberStore};
use sms_core::number::{Holder, Number};
use sms_core::store::StoreError;
use sms_core::time::Timestamp;

use crate::MemoryStore;

#[async_trait]
impl NumberStore for MemoryStore {
    async fn number_create(&self, number: Number) -> Result<NumberCreated, StoreError> {
        let mut state = self.state();
        if state.number_ids.contains_key(&number.phone) {
            return Ok(NumberCreated::NumberExists);
        }
        if number.holder.account().is_some_and(|id| !state.accounts.contains_key(&id)) {
            return Ok(NumberCreated::NoSuchAccount);
        }
        state.number_ids.insert(number.phone, number.id);
        state.numbers.insert(number.id, number);
        Ok(NumberCreated::Created)
    }

    async fn number_list(&self) -> Result<Vec<Number>, StoreError> {
        Ok(self.state().numbers.values().rev().cloned().collect())
    }

    async fn numbers_for(&self, account: AccountId) -> Result<Vec<Number>, StoreError> {
        let state = self.state();
        let usable = |number: &&Number| match number.holder {
            Holder::Shared => true,
            Holder::Dedicated(holder) => holder == account,
        };
        Ok(state.numbers.values().filter(usable).cloned().collect())
    }

    async fn number_delete(&self, id: NumberId) -> Result<bool, StoreError> {
        let mut state = self.state();
        let removed = state.numbers.remove(&id);
        Ok(removed.is_some_and(|number| state.number_ids.remove(&number.phone).is_some()))
    }

    async fn number_check_in(&self, id: NumberId, at: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some(number) = state.numbers.get_mut(&id) else { return Ok(false) };
        number.checked_in_at = Some(at);
        Ok(true)
    }
}
