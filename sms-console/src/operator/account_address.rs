//! Where the pages of one account are.

use sms_core::ids::AccountId;

use crate::reply::Trouble;
use crate::visit::Visit;

/// The list of accounts.
pub(super) const ACCOUNTS: &str = "/console/operator/accounts";

/// The page of an account.
pub(super) fn address(id: AccountId) -> String {
    format!("{ACCOUNTS}/{id}")
}

/// The account that the path names.
pub(super) fn account_id(visit: &Visit) -> Result<AccountId, Trouble> {
    visit.params.id()
}
