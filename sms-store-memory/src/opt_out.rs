//! Opt-outs.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Bound;

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::message::filter::Search;
use sms_core::opt_out::store::{OptOutStore, ReadsOptOuts};
use sms_core::opt_out::{Added, OptOut};
use sms_core::page::{OffsetPage, OffsetRequest};
use sms_core::phone::E164;
use sms_core::store::{StoreError, let_others_run};
use sms_core::time::Timestamp;

use crate::MemoryStore;
use crate::search::PORTION;
use crate::state::State;

#[async_trait]
impl ReadsOptOuts for MemoryStore {
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

    async fn opt_out_list(
        &self,
        account: AccountId,
        search: Option<&Search>,
        wanted: OffsetRequest,
    ) -> Result<OffsetPage<OptOut>, StoreError> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let (more, end) = self.state().opt_outs_found(account, search, after);
            found.extend(more);
            if end.is_none() {
                break;
            }
            after = end;
            let_others_run().await;
        }
        found.sort_unstable_by_key(|place| Reverse(*place));
        let total = found.len() as u64;
        let offset = usize::try_from(wanted.offset).unwrap_or(usize::MAX);
        let places = found.into_iter().skip(offset).take(wanted.limit.get());
        let state = self.state();
        let room = state.accounts.get(&account);
        let items = places.filter_map(|(_, phone)| room?.opt_outs.get(&phone).cloned()).collect();
        Ok(OffsetPage { items, total })
    }
}

#[async_trait]
impl OptOutStore for MemoryStore {
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

    async fn opt_outs_add(
        &self,
        account: AccountId,
        opt_outs: Vec<OptOut>,
    ) -> Result<BTreeSet<E164>, StoreError> {
        let mut state = self.state();
        let doing = "opting out of an account that does not exist";
        let room = state.accounts.get_mut(&account);
        let room = room.ok_or(StoreError::Internal { doing, source: None })?;
        let mut new = BTreeSet::new();
        for opt_out in opt_outs {
            let phone = opt_out.phone;
            if room.opt_outs.contains_key(&phone) {
                continue;
            }
            room.opt_outs.insert(phone, opt_out);
            new.insert(phone);
        }
        Ok(new)
    }

    async fn opt_out_delete(&self, account: AccountId, phone: E164) -> Result<bool, StoreError> {
        let mut state = self.state();
        let room = state.accounts.get_mut(&account);
        Ok(room.and_then(|room| room.opt_outs.remove(&phone)).is_some())
    }
}

impl State {
    /// The next opt-outs that a search finds, by their time, and where to go on.
    fn opt_outs_found(
        &self,
        account: AccountId,
        search: Option<&Search>,
        after: Option<E164>,
    ) -> (Vec<(Timestamp, E164)>, Option<E164>) {
        let Some(room) = self.accounts.get(&account) else { return (Vec::new(), None) };
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = Vec::new();
        for (place, (phone, one)) in room.opt_outs.range((start, Bound::Unbounded)).enumerate() {
            if search.is_none_or(|search| one.is_found_by(search)) {
                found.push((one.created_at, *phone));
            }
            if place + 1 == PORTION {
                return (found, Some(*phone));
            }
        }
        (found, None)
    }
}
