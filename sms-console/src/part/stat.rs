//! Figures: a number with its name.

use maud::{Markup, html};

/// A figure, with what there is to say about it.
pub fn stat(name: &str, value: &str, note: Option<Markup>) -> Markup {
    html! {
        div.stat {
            dt.stat-name { (name) }
            dd.stat-value { (value) }
            @if let Some(note) = note { dd.stat-note { (note) } }
        }
    }
}

/// Figures beside each other.
pub fn stats(figures: &[Markup]) -> Markup {
    html! { dl.stats { @for figure in figures { (figure) } } }
}
