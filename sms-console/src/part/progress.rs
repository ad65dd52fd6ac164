//! How far something has got.

use maud::{Markup, html};

use crate::format::whole;

/// A bar with its words.
pub fn progress(label: &str, done: u64, total: u64) -> Markup {
    html! {
        div.progress {
            progress max=(total.max(1)) value=(done) aria-label=(label) {}
            div.small.faint { (label) ": " (whole(done)) " of " (whole(total)) }
        }
    }
}
