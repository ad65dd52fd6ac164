//! Opt-outs.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::message::filter::Search;
use sms_core::opt_out::store::OptOutStore;
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest};
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

    async fn opt_out_create(
        &self,
        account: AccountId,
        opt_out: OptOut,
        claim: Option<&Claim>,
    ) -> Result<Once<Added>, StoreError> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let doing = "opting out of an account that does not exist";
        let room = state.accounts.get_mut(&account);
        let room = room.ok_or(StoreError::Internal { doing, source: None })?;
        let existing = room.opt_outs.get(&opt_out.phone).cloned();
        let added = opt_out.settle(existing);
        if let Added::New(opt_out) = &added {
            room.opt_outs.insert(opt_out.phone, opt_out.clone());
        }
        state.remember(claim, &added);
        Ok(Once::Done(added))
    }

    async fn opt_out_list(
        &self,
        account: AccountId,
        search: Option<&Search>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, StoreError> {
        let state = self.state();
        let all = state.accounts.get(&account).into_iter().flat_map(|room| room.opt_outs.values());
        let found = all.filter(|opt_out| search.is_none_or(|search| opt_out.is_found_by(search)));
        let mut found: Vec<&OptOut> = found.collect();
        found.sort_unstable_by_key(|opt_out| Reverse((opt_out.created_at, opt_out.phone)));
        let total = found.len() as u64;
        let offset = usize::try_from(wanted.offset).unwrap_or(usize::MAX);
        let items = found.into_iter().skip(offset).take(wanted.limit.get()).cloned().collect();
        Ok(OffsetPage { items, total })
    }

    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&account);
        Ok(room.and_then(|room| room.opt_outs.remove(&phone)).is_some())
    }
}
