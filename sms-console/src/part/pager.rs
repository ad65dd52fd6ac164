//! The way through a list, page by page. The address says which page is shown.

use maud::{Markup, html};
use sms_core::page::{Cursor, PageRequest};

use crate::part::button::link;
use crate::part::state::empty;
use crate::visit::Visit;

/// Which page of a list an address asks for. One that no list gave leads to the first page.
pub fn page_request(visit: &Visit) -> PageRequest {
    let cursor: Option<Cursor> = visit.query("cursor").and_then(|cursor| cursor.parse().ok());
    PageRequest::default().after(cursor)
}

/// What a search shows that has found nothing so far.
pub fn nothing_so_far(visit: &Visit, next: Cursor) -> Markup {
    let text = html! { "There is more to search: go on with “Older”." };
    html! {
        (empty("Nothing found so far", &text, None))
        (pager(visit, Some(next)))
    }
}

/// Links to the newest and to older items.
pub fn pager(visit: &Visit, next: Option<Cursor>) -> Markup {
    let next = next.map(|next| next.to_string());
    let (path, queries) = (&*visit.page, visit.queries());
    let first = queries.get("cursor").map(|_| queries.address(path, "cursor", None));
    let older = next.map(|next| queries.address(path, "cursor", Some(&next)));
    html! {
        @if first.is_some() || older.is_some() {
            nav.pager aria-label="Pages of the list" {
                @if let Some(first) = first { (link("Newest", first)) }
                @if let Some(older) = older { (link("Older", older)) }
            }
        }
    }
}
