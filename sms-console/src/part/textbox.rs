//! Where a message is written. What it would cost is a fragment that the server makes, put below it
//! by a module that asks for it while somebody writes.

use maud::{Markup, html};

use crate::part::field::Field;

/// The box, and the place below it for the preview with this id.
pub fn textbox(field: &Field<'_>, preview_id: &str, preview: &Markup) -> Markup {
    html! {
        div.stack-tight {
            (field)
            div id=(preview_id) .counter aria-live="polite" { (preview) }
        }
    }
}
