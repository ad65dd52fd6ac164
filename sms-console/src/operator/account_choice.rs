//! The accounts that the operator can choose from.

use sms_core::Error;
use sms_core::account::Account;
use sms_core::page::{Limit, PageRequest};
use sms_core::service::Operator;

/// How many accounts are offered, about.
const MOST: usize = 500;

/// The accounts, newest first.
pub(super) async fn every_account(operator: &Operator) -> Result<Vec<Account>, Error> {
    let mut request = PageRequest::default().limit(Limit::new(Limit::MAX).unwrap_or_default());
    let mut accounts = Vec::new();
    loop {
        let page = operator.account_list(request).await?;
        accounts.extend(page.items);
        match page.next {
            Some(next) if accounts.len() < MOST => request = request.after(next),
            _ => return Ok(accounts),
        }
    }
}
