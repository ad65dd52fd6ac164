//! Opt-outs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::ids::AccountId;
use sms_core::opt_out::store::OptOutStore;
use sms_core::phone::E164;
use sms_core::store::StoreError;

use crate::MemoryStore;

#[async_trait]
impl OptOutStore for MemoryStore {
    async fn opt_outs_among(
        &self,
        account: AccountId,
        numbers: &[E164],
    ) -> Result<BTreeSet<E164>, StoreError> {
        let state = self.state();
        let Some(room) = state.accounts.get(&account) else { return Ok(BTreeSet::new()) };
        let opted_out = |number: &&E164| room.opt_outs.contains_key(number);
        Ok(numbers.iter().filter(opted_out).copied().collect())
    }
}
