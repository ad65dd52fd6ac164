//! The choice of colours, light or dark.

use maud::{Markup, html};

use crate::part::button::submit;
use crate::part::field::Field;
use crate::visit::Visit;

/// Light or dark. A module does it at once; without script a button does, and leads to `next`.
pub(crate) fn theme_form(visit: &Visit, next: &str) -> Markup {
    let options = [("system", "As the system"), ("light", "Light"), ("dark", "Dark")];
    html! {
        form method="post" action="/console/theme" data-theme-form {
            input type="hidden" name="csrf" value=(visit.csrf());
            input type="hidden" name="next" value=(next);
            (Field::select("theme", "Colours", options).value(visit.theme.as_str()))
            noscript { (submit("Change").small()) }
        }
    }
}
