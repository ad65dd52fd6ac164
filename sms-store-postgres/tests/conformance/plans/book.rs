//! Contacts and lists: the largest account has a hundred thousand contacts, all of them on three
//! lists.

use sms_core::contact::ContactFields;
use sms_core::contact::filter::ContactFilter;
use sms_core::ids::{AccountId, ContactId, ListId};
use sms_core::page::{Cursor, PageRequest};
use sms_core::store::Store;

use super::Plans;
use super::hot::{A_PAGE, judge, nth};

/// The contacts of a list that a send reads at a time.
const A_PORTION: usize = 1_000;

/// Pages of contacts and portions of a list cost the same at every position.
pub(super) async fn contacts_and_lists(store: &dyn Store, account: AccountId) {
    let list = ListId::from_u128(nth(11, 1));
    let contact = |n: u128| ContactId::from_u128(nth(10, n));
    let deep =
        PageRequest { after: Some(Cursor::after(contact(50_000))), ..PageRequest::default() };
    let all = ContactFilter::default();
    let on_list = ContactFilter { list_id: Some(list), ..ContactFilter::default() };
    for page in [PageRequest::default(), deep] {
        judge!(
            store,
            "contacts",
            ["contact_pkey"],
            A_PAGE,
            store.contact_list(account, &all, page).await.expect("listed")
        );
        judge!(
            store,
            "contacts of a list",
            ["contact_list_member_pkey"],
            A_PAGE,
            store.contact_list(account, &on_list, page).await.expect("listed")
        );
    }
    for after in [None, Some(contact(90_000))] {
        judge!(
            store,
            "a portion of a list",
            ["contact_list_member_pkey"],
            1_000.0,
            store
                .list_portion(account, list, after, A_PORTION, &ContactFields::default())
                .await
                .expect("read")
        );
    }
}
