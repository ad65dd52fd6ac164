//! A part of the page: a component, and when to use it.

use maud::{Markup, html};

pub(super) fn section(title: &str, about: &str, content: &Markup) -> Markup {
    html! {
        section.card.stack aria-label=(title) {
            h2 { (title) }
            p.faint { (about) }
            (content)
        }
    }
}
