//! Sender names.

use async_trait::async_trait;
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::{AccountId, SenderNameId};
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::sender_name::review::{ReviewPlan, ReviewRefused};
use sms_core::sender_name::store::{NamesWanted, ReadsSenderNames, SenderNameStore};
use sms_core::sender_name::{ReviewStatus, SenderName, SenderNameExists, settle_request};
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;
use crate::state::State;

#[async_trait]
impl ReadsSenderNames for MemoryStore {
    async fn sender_name_list(
        &self,
        account: AccountId,
        wanted: NamesWanted,
    ) -> Result<Vec<SenderName>, StoreError> {
        Ok(match wanted {
            NamesWanted::All => self.all_sender_names(account),
            NamesWanted::Approved => self.approved_sender_names(account),
        })
    }

    async fn sender_names_for_review(
        &self,
        status: Option<ReviewStatus>,
        page: PageRequest,
    ) -> Result<Page<SenderName>, StoreError> {
        let state = self.state();
        let end = page.after.map_or(SenderNameId::from_u128(u128::MAX), Cursor::id);
        let owners = state.sender_name_owners.range(..end).rev();
        let rows = owners.filter_map(|(id, account)| state.name(*account, *id));
        let rows = rows.filter(|name| status.is_none_or(|status| name.status == status));
        let rows = rows.take(page.limit.get() + 1).cloned().collect();
        Ok(Page::of(rows, page.limit, |name: &SenderName| name.id))
    }
}

#[async_trait]
impl SenderNameStore for MemoryStore {
    async fn sender_name_create(
        &self,
        name: SenderName,
        claim: Option<&Claim>,
    ) -> Result<Once<SenderName>, CommitError<SenderNameExists>> {
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        if !state.accounts.contains_key(&name.account) {
            let doing = "saving a sender name of an account that does not exist";
            return Err(StoreError::Internal { doing, source: None }.into());
        }
        settle_request(state.same_names(&name)).map_err(CommitError::Refused)?;
        state.put_name(name.clone());
        state.remember(claim, &name);
        Ok(Once::Done(name))
    }

    async fn sender_name_review(
        &self,
        plan: ReviewPlan,
    ) -> Result<SenderName, CommitError<ReviewRefused>> {
        let mut state = self.state();
        let owner = state.sender_name_owners.get(&plan.id);
        let name = owner.and_then(|account| state.name(*account, plan.id));
        let same = name.into_iter().flat_map(|name| state.same_names(name));
        let decided = plan.settle(name, same).map_err(CommitError::Refused)?;
        state.put_name(decided.clone());
        Ok(decided)
    }
}

impl MemoryStore {
    fn all_sender_names(&self, account: AccountId) -> Vec<SenderName> {
        self.state().names_of(account).cloned().collect()
    }

    fn approved_sender_names(&self, account: AccountId) -> Vec<SenderName> {
        let state = self.state();
        let is_approved = |name: &&SenderName| name.status == ReviewStatus::Approved;
        state.names_of(account).filter(is_approved).cloned().collect()
    }
}

impl State {
    fn name(&self, account: AccountId, id: SenderNameId) -> Option<&SenderName> {
        self.accounts.get(&account)?.sender_names.get(&id)
    }

    fn put_name(&mut self, name: SenderName) {
        if let Some(room) = self.accounts.get_mut(&name.account) {
            self.sender_name_owners.insert(name.id, name.account);
            room.sender_names.insert(name.id, name);
        }
    }

    /// An account's sender names, newest first.
    fn names_of(&self, account: AccountId) -> impl Iterator<Item = &SenderName> {
        let room = self.accounts.get(&account).into_iter();
        room.flat_map(|room| room.sender_names.values().rev())
    }

    /// The account's sender names that equal this one, ignoring case.
    fn same_names(&self, name: &SenderName) -> impl Iterator<Item = &SenderName> {
        let folded = name.value.folded();
        self.names_of(name.account).filter(move |other| other.value.folded() == folded)
    }
}
