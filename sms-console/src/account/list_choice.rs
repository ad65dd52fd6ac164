//! The lists to choose from.

use sms_core::Error;
use sms_core::ids::ListId;
use sms_core::list::ContactList;
use sms_core::page::{Limit, PageRequest};
use sms_core::service::AccountHandle;

/// How many lists are offered, about.
const MOST: usize = 500;

/// The account's lists, newest first.
async fn every_list(account: &AccountHandle) -> Result<Vec<ContactList>, Error> {
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

/// The same, and those of `chosen` that are too old to be offered: what was chosen before stays.
pub(crate) async fn every_list_and(
    account: &AccountHandle,
    chosen: &[ListId],
) -> Result<Vec<ContactList>, Error> {
    let mut lists = every_list(account).await?;
    for id in chosen {
        if lists.iter().any(|list| list.id == *id) {
            continue;
        }
        match account.list_get(*id).await {
            Ok(list) => lists.push(list),
            // It was deleted.
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lists)
}
