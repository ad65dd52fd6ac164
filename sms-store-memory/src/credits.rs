//! Credit adjustments by the operator, and the ledger.

use async_trait::async_trait;
use sms_core::commit::LedgerWrites;
use sms_core::credits::adjust::{AdjustPlan, AdjustRefused, Adjusted};
use sms_core::credits::ledger::Entry;
use sms_core::credits::store::{CreditStore, ReadsCredits};
use sms_core::idempotency::{Claim, Once};
use sms_core::ids::AccountId;
use sms_core::page::{Cursor, Page, PageRequest};
use sms_core::store::{CommitError, StoreError};

use crate::MemoryStore;

#[async_trait]
impl ReadsCredits for MemoryStore {
    async fn ledger_list(
        &self,
        account: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, StoreError> {
        let state = self.state();
        let ledger = state.accounts.get(&account).map_or(&[][..], |room| &room.ledger);
        let position = page
            .after
            .map_or(usize::MAX, |cursor| usize::try_from(cursor.position()).unwrap_or(usize::MAX));
        // In every store, entries are numbered from 1 and a cursor names the last one shown.
        let end = position.saturating_sub(1).min(ledger.len());
        let start = end.saturating_sub(page.limit.get());
        let items = ledger[start..end].iter().rev().cloned().collect();
        let next = (start > 0).then(|| Cursor::after_position(start as u64 + 1));
        Ok(Page { items, next })
    }
}

#[async_trait]
impl CreditStore for MemoryStore {
    async fn credits_adjust(
        &self,
        plan: AdjustPlan,
        claim: Option<&Claim>,
    ) -> Result<Once<Adjusted>, CommitError<AdjustRefused>> {
        let AdjustPlan { account, draft } = plan;
        let mut state = self.state();
        if let Some(earlier) = state.earlier(claim) {
            return Ok(Once::Earlier(earlier));
        }
        let room = state.accounts.get(&account);
        let room = room.ok_or(CommitError::Refused(AdjustRefused::NoSuchAccount))?;
        let mut ledger = LedgerWrites::default();
        let balance = ledger
            .post(account, room.account.balance, vec![draft])
            .map_err(|reason| CommitError::Refused(reason.into()))?;
        state.write_ledger(ledger);
        let adjusted = Adjusted { balance };
        state.remember(claim, &adjusted);
        Ok(Once::Done(adjusted))
    }
}
