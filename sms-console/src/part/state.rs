//! The states a page can be in while it has nothing to show.

use maud::{Markup, html};

/// A list has nothing to show.
pub fn empty(title: &str, text: &Markup, action: Option<&Markup>) -> Markup {
    html! {
        div.state {
            h2 { (title) }
            p { (text) }
            @if let Some(action) = action { (action) }
        }
    }
}

/// The whole page has nothing to show.
pub fn state(title: &str, text: &Markup, action: Option<&Markup>) -> Markup {
    html! {
        div.state {
            h1 tabindex="-1" { (title) }
            p { (text) }
            @if let Some(action) = action { (action) }
        }
    }
}
