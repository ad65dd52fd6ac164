//! Filters above a list. They are part of the address, so that links can be shared.

use maud::{Markup, html};

use crate::part::button::submit;

/// A form whose fields narrow down the list at `action`. A module sends it when a field changes.
pub fn filters(label: &str, action: &str, fields: &Markup) -> Markup {
    html! {
        form.filters method="get" action=(action) role="search" aria-label=(label) data-filters {
            (fields)
            (submit("Search"))
        }
    }
}
