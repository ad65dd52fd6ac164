//! The lists that somebody can choose from.

use sms_core::Error;
use sms_core::list::ContactList;
use sms_core::page::{Limit, PageRequest};
use sms_core::service::AccountHandle;

/// How many lists are offered, about.
const MOST: usize = 500;

/// The account's lists, newest first.
pub(crate) async fn every_list(account: &AccountHandle) -> Result<Vec<ContactList>, Error> {
    let mut request = PageRequest::default().limit(Limit::new(Limit::MAX).unwrap_or_default());
    let mut lists = Vec::new();
    loop {
        let page = account.list_list(request).await?;
        lists.extend(page.items);
        match page.next {
            Some(next) if lists.len() < MOST => request = request.after(next),
            _ => return Ok(lists),
        }
    }
}
