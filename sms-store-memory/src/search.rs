//! Pages that are looked for among other rows, in portions: the lock is released after each, so
//! that no search holds up the other accounts.

use sms_core::ids::{Id, Kind};
use sms_core::page::{Cursor, LOOKED_AT, Page, PageRequest};
use sms_core::store::let_others_run;

/// How many rows are looked at with the lock held.
pub(crate) const PORTION: usize = 1_000;

/// What was found in a portion.
pub(crate) struct Portion<T, K: Kind> {
    found: Vec<T>,
    /// The last row that was looked at, if there may be more.
    end: Option<Id<K>>,
}

/// Looks for a page. `read` locks the store and reads a portion: the rows below an id, and a
/// bounded number of those that fit.
pub(crate) async fn search<T, K: Kind>(
    page: PageRequest,
    id_of: impl Fn(&T) -> Id<K>,
    read: impl Fn(Option<Id<K>>, usize) -> Portion<T, K>,
) -> Page<T> {
    let most = page.limit.get() + 1;
    let (mut found, mut before) = (Vec::new(), page.after.map(Cursor::id));
    for _ in 0..LOOKED_AT / PORTION {
        let portion = read(before, most - found.len());
        found.extend(portion.found);
        if portion.end.is_none() || found.len() == most {
            return Page::of(found, page.limit, id_of);
        }
        before = portion.end;
        let_others_run().await;
    }
    Page::of_search(found, page.limit, before, id_of)
}

/// Looks at the next rows, each with its id, newest first.
pub(crate) fn portion<R, T, K: Kind>(
    rows: impl Iterator<Item = (Id<K>, R)>,
    most: usize,
    fitting: impl Fn(R) -> Option<T>,
) -> Portion<T, K> {
    let mut found = Vec::new();
    for (place, (id, row)) in rows.enumerate() {
        found.extend(fitting(row));
        if found.len() == most || place + 1 == PORTION {
            return Portion { found, end: Some(id) };
        }
    }
    Portion { found, end: None }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;
    use sms_core::ids::{MessageId, MessageKind};
    use sms_core::page::Limit;

    use super::*;

    #[test]
    fn a_search_in_memory_lets_others_in_after_each_thousand_rows() {
        let portions = Cell::new(0);
        let looking = search(
            PageRequest { limit: Limit::ONE, after: None },
            |id: &MessageId| *id,
            |before: Option<sms_core::ids::Id<MessageKind>>, most| {
                portions.set(portions.get() + 1);
                let first = before.map_or(2_500, MessageId::as_u128);
                let rows = (1..first).rev().map(|n| (MessageId::from_u128(n), n));
                portion(rows, most, |n| (n == 7).then(|| MessageId::from_u128(n)))
            },
        );
        let mut looking = Box::pin(looking);
        for others_run in 1..=2 {
            assert!(looking.as_mut().now_or_never().is_none());
            assert_eq!(portions.get(), others_run);
        }
        let page = looking.as_mut().now_or_never().unwrap();
        assert_eq!((page.items, page.next), (vec![MessageId::from_u128(7)], None));
    }
}
