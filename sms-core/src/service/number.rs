//! An account's numbers and their rent.

use super::account::AccountHandle;
use super::sms::Sms;
use crate::error::Error;
use crate::ids::AccountId;
use crate::number::Number;
use crate::number::rent::{RentPlan, RentScope, RentsCharged};
use crate::number::store::NumbersWanted;

impl AccountHandle {
    /// The account's dedicated numbers, newest first.
    pub async fn number_list(&self) -> Result<Vec<Number>, Error> {
        Ok(self.sms.store().number_list(NumbersWanted::HeldBy(self.id)).await?)
    }
}

impl Sms {
    /// Charges the rent that is owed for up to `limit` numbers: every period once and in order,
    /// whichever program does it and however late. Rent that a balance does not cover is tried
    /// again in an hour. Call it again at once as long as it charges anything.
    pub async fn charge_rents(&self, limit: usize) -> Result<RentsCharged, Error> {
        self.charge(RentScope::Due(limit)).await
    }

    /// Charges what an account owes at once, because a number was assigned to it or credits were
    /// added. If the store fails, a worker does it later.
    pub(super) async fn charge_account(&self, account: AccountId) {
        let _ = self.charge(RentScope::Account(account)).await;
    }

    async fn charge(&self, scope: RentScope) -> Result<RentsCharged, Error> {
        let at = self.now();
        let plan = RentPlan { at, scope, ids: self.ids(at) };
        Ok(self.store().rents_charge(plan).await?)
    }
}
