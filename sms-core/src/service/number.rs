//! An account's numbers, and the rent for them.

use super::{AccountHandle, Sms};
use crate::error::Error;
use crate::ids::AccountId;
use crate::number::Number;
use crate::number::rent::{RentPlan, RentScope, RentsCharged};

impl AccountHandle {
    /// The numbers that the account has to itself, newest first.
    pub async fn number_list(&self) -> Result<Vec<Number>, Error> {
        Ok(self.sms.store().numbers_held(self.id).await?)
    }
}

impl Sms {
    /// Takes the rent that is owed for up to `limit` numbers: every period once, in order,
    /// whichever program does it and however late. What a balance does not cover is tried for
    /// again in an hour. To be called again at once while it takes anything.
    pub async fn charge_rents(&self, limit: usize) -> Result<RentsCharged, Error> {
        self.charge(RentScope::Due(limit)).await
    }

    /// Takes what an account owes at once: a number was assigned to it, or credits came. Should the
    /// store fail, a worker does it later.
    pub(super) async fn charge_account(&self, account: AccountId) {
        let _ = self.charge(RentScope::Account(account)).await;
    }

    async fn charge(&self, scope: RentScope) -> Result<RentsCharged, Error> {
        let at = self.now();
        let plan = RentPlan { at, scope, ids: self.ids(at) };
        Ok(self.store().rents_charge(plan).await?)
    }
}
