//! The balance and the ledger of an account, as the operator changes and reads them.

use super::keyed::{Keyed, made};
use super::operator::{Operator, valid};
use crate::credits::adjust::{AdjustPlan, Adjusted, MAX_NOTE};
use crate::credits::ledger::Entry;
use crate::credits::{Change, Credits};
use crate::error::Error;
use crate::field_error::FieldError;
use crate::idempotency::Made;
use crate::ids::AccountId;
use crate::page::{Page, PageRequest};

impl Operator {
    /// Adds credits to an account, or takes some back. Returns the balance afterwards. Rent that
    /// the account owes is taken afterwards from what was added.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the note is too long; [`Error::BalanceOutOfRange`] if the balance
    /// would go below zero. Nothing is taken then.
    pub async fn credits_adjust(
        &self,
        id: AccountId,
        amount: Change,
        note: Option<String>,
    ) -> Result<Credits, Error> {
        Ok(self.keyed(None).credits_adjust(id, amount, note).await?.value)
    }

    /// A page of an account's ledger, newest first.
    pub async fn ledger_list(
        &self,
        id: AccountId,
        page: PageRequest,
    ) -> Result<Page<Entry>, Error> {
        self.account_get(id).await?;
        Ok(self.sms.store().ledger_list(id, page).await?)
    }
}

impl Keyed<Operator> {
    /// [`Operator::credits_adjust`], once for the key. A repetition returns the balance of then.
    pub async fn credits_adjust(
        &self,
        id: AccountId,
        amount: Change,
        note: Option<String>,
    ) -> Result<Made<Credits>, Error> {
        let bad_note =
            note.as_deref().and_then(|note| FieldError::of_text("note", note, 0..=MAX_NOTE));
        valid(bad_note.into_iter().collect())?;
        let claim = self.claim("credits_adjust", |fields| {
            fields.add("account", [id.to_string()]);
            fields.add("amount", [amount.get().to_string()]);
            fields.add("note", note.as_deref());
        });
        let claim = claim.as_ref();
        let sms = &self.handle.sms;
        let adjusted = if let Some(kept) = self.earlier::<Adjusted>(claim).await? {
            Made::again(kept.into())
        } else {
            let at = sms.now();
            let plan = AdjustPlan::new(id, amount, note, at, &mut sms.ids(at));
            made(sms.store().credits_adjust(plan, claim).await?, claim, Adjusted::from)?
        };
        // Also on a repetition: the first request may have been cut off here.
        if amount.get() > 0 {
            sms.charge_account(id).await;
        }
        Ok(adjusted.map(|adjusted| adjusted.balance))
    }
}
