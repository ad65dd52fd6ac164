//! Parts of a page that a preview replaces. A fragment has each new part with the id of its place,
//! where `preview.js` puts it.

use maud::{Markup, html};

/// The new content of the element with this id.
pub fn region(id: &str, content: &Markup) -> Markup {
    html! { div data-region=(id) { (content) } }
}
