//! Where a page begins, and how many rows to read for it.

use sms_core::page::PageRequest;

use crate::row::size;

/// All rows of the page have smaller ids.
pub(crate) fn before(page: PageRequest) -> [u8; 16] {
    raw_before(page).to_be_bytes()
}

pub(crate) fn raw_before(page: PageRequest) -> u128 {
    // The id of any kind: a cursor holds the id of the last item shown.
    let id = |cursor: sms_core::page::Cursor| cursor.id::<sms_core::ids::MessageKind>().as_u128();
    page.after.map_or(u128::MAX, id)
}

/// One row more than the page holds: if it is there, more follow.
pub(crate) fn limit_of(page: PageRequest) -> i64 {
    size(page.limit.get() + 1)
}
