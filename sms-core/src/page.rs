//! Pages of a list: newest first, with a cursor that says where the last page ended.

use std::fmt;

use crate::ids::{Id, Kind, crockford};
use crate::setters::setters;

/// The maximum number of items on a page: 1 to 100, by default 25.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(u32);

impl Limit {
    /// The largest page that a client may ask for, in items.
    pub const MAX: u32 = 100;

    /// The page size of an export, larger than a client may ask for.
    pub const EXPORT: Self = Self(1_000);

    /// The maximum number of messages in a conversation's thread.
    pub const THREAD: Self = Self(200);

    /// A portion of a replay to a webhook endpoint: so few events that seven failed attempts at
    /// each do not disable the endpoint.
    pub const REPLAY: Self = Self(14);

    /// A single item, to see whether there is one.
    pub const ONE: Self = Self(1);

    /// A page of `size` items; `None` unless `size` is 1 to 100.
    pub fn new(size: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&size).then_some(Self(size))
    }

    /// What is left of the limit after this many items; `None` if nothing is.
    pub(crate) fn less(self, items: usize) -> Option<Self> {
        let left = self.0.saturating_sub(u32::try_from(items).unwrap_or(u32::MAX));
        (left > 0).then_some(Self(left))
    }

    /// The limit as a number of items.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(25)
    }
}

/// How many rows a search looks at for one page. A page that ends there may have few items or none;
/// its cursor leads on.
pub const LOOKED_AT: usize = 10_000;

/// Where a page ended. Its text has 26 characters and is opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(u128);

/// The text is not a cursor that a page returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid cursor; use next_cursor of the previous page")]
pub struct NotACursor;

impl Cursor {
    /// The cursor that continues after the item with this id.
    pub fn after<K: Kind>(id: Id<K>) -> Self {
        Self(id.as_u128())
    }

    /// The cursor that continues after the entry at `position`, for lists kept in the order in
    /// which they were written.
    pub fn after_position(position: u64) -> Self {
        Self(u128::from(position))
    }

    /// The cursor with this number.
    pub(crate) const fn from_u128(value: u128) -> Self {
        Self(value)
    }

    /// The number that the text encodes.
    pub(crate) const fn as_u128(self) -> u128 {
        self.0
    }

    /// The position with which the previous page ended.
    pub fn position(self) -> u64 {
        u64::try_from(self.0).unwrap_or(u64::MAX)
    }

    /// The id with which the previous page ended.
    pub fn id<K: Kind>(self) -> Id<K> {
        Id::from_u128(self.0)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crockford::encode(self.0).as_str())
    }
}

impl std::str::FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        crockford::decode(text).map(Self).ok_or(NotACursor)
    }
}

/// Which page of a list to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageRequest {
    /// The maximum number of items.
    pub limit: Limit,
    /// Where the previous page ended; `None` for the first page, which has the newest items.
    pub after: Option<Cursor>,
}

setters! { PageRequest {
    /// Sets the maximum number of items.
    limit(limit: Limit) = limit;
    /// Continues where the previous page ended.
    after(cursor: impl Into<Option<Cursor>>) = cursor.into();
} }

/// One page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` at the end of the list.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Makes a page from rows that a store has read newest first. The store reads one row more than
    /// the limit; if that row is there, the page has a next cursor.
    pub fn of<K: Kind>(mut rows: Vec<T>, limit: Limit, id_of: impl Fn(&T) -> Id<K>) -> Self {
        let more = rows.len() > limit.get();
        rows.truncate(limit.get());
        let next = if more { rows.last().map(|row| Cursor::after(id_of(row))) } else { None };
        Self { items: rows, next }
    }

    /// The same for a search. `end` is the last row that it looked at, if it ended before the last
    /// row: the next page begins there unless this one is full.
    pub fn of_search<K: Kind>(
        rows: Vec<T>,
        limit: Limit,
        end: Option<Id<K>>,
        id_of: impl Fn(&T) -> Id<K>,
    ) -> Self {
        let Self { items, next } = Self::of(rows, limit, id_of);
        Self { items, next: next.or_else(|| end.map(Cursor::after)) }
    }

    /// The same page with each item converted.
    pub fn map<U>(self, into: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(into).collect(), next: self.next }
    }
}

/// Which part of a list to read by offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OffsetRequest {
    /// The maximum number of items.
    pub limit: Limit,
    /// The number of items to skip.
    pub offset: u64,
}

setters! { OffsetRequest {
    /// Sets the maximum number of items.
    limit(limit: Limit) = limit;
    /// Skips this many items.
    offset(count: u64) = count;
} }

/// One part of a list that is read by offset, with the length of the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetPage<T> {
    /// The items of this part.
    pub items: Vec<T>,
    /// The number of items in the whole list.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::{MessageId, MessageKind};

    #[test]
    fn a_limit_is_1_to_100_and_25_by_default() {
        assert_eq!(Limit::default().get(), 25);
        for (size, is_limit) in [(0, false), (1, true), (100, true), (101, false)] {
            assert_eq!(Limit::new(size).is_some(), is_limit, "{size}");
        }
    }

    #[test]
    fn a_cursor_parses_back_from_its_text() {
        let cursor = Cursor(u128::MAX / 3);
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        assert_eq!("x".parse::<Cursor>(), Err(NotACursor));
    }

    fn id_of(row: &u128) -> Id<MessageKind> {
        MessageId::from_u128(*row)
    }

    #[test]
    fn a_page_has_a_next_cursor_only_if_more_items_follow() {
        let limit = Limit::new(2).unwrap();
        for (rows, items, next) in [
            (vec![], vec![], None),
            (vec![9], vec![9], None),
            (vec![9, 8], vec![9, 8], None),
            (vec![9, 8, 7], vec![9, 8], Some(8)),
        ] {
            let next = next.map(|row| Cursor::after(id_of(&row)));
            assert_eq!(Page::of(rows, limit, id_of), Page { items, next });
        }
    }

    #[test]
    fn a_search_that_ends_early_goes_on_where_it_ended_unless_its_page_is_full() {
        let limit = Limit::new(2).unwrap();
        let end = Some(MessageId::from_u128(1));
        for (rows, end, items, next) in [
            (vec![], None, vec![], None),
            (vec![], end, vec![], Some(1)),
            (vec![9, 8], end, vec![9, 8], Some(1)),
            (vec![9, 8, 7], end, vec![9, 8], Some(8)),
        ] {
            let next = next.map(|row| Cursor::after(id_of(&row)));
            assert_eq!(Page::of_search(rows, limit, end, id_of), Page { items, next });
        }
    }

    #[test]
    fn a_converted_page_keeps_its_cursor() {
        let page = Page { items: vec![1, 2], next: Some(Cursor(7)) };
        assert_eq!(page.map(|n| n * 10), Page { items: vec![10, 20], next: Some(Cursor(7)) });
    }

    #[test]
    fn the_default_request_is_for_the_first_page() {
        assert_eq!(PageRequest::default(), PageRequest { limit: Limit(25), after: None });
        assert!(Limit::EXPORT.get() > 100);
    }

    proptest! {
        #[test]
        fn a_cursor_holds_the_id_it_was_made_from(value in any::<u128>()) {
            let id = MessageId::from_u128(value);
            let cursor: Cursor = Cursor::after(id).to_string().parse().unwrap();
            prop_assert_eq!(cursor.id::<MessageKind>(), id);
        }

        #[test]
        fn following_the_cursors_shows_every_row_once(
            count in 0u128..70,
            size in 1u32..30,
        ) {
            let rows: Vec<u128> = (0..count).rev().collect();
            let limit = Limit::new(size).unwrap();
            let (mut seen, mut after) = (Vec::new(), None::<Cursor>);
            loop {
                let older = rows.iter().copied().filter(|row| {
                    after.is_none_or(|cursor| id_of(row) < cursor.id())
                });
                let page = Page::of(older.take(limit.get() + 1).collect(), limit, id_of);
                seen.extend(page.items);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            prop_assert_eq!(seen, rows);
        }
    }
}
