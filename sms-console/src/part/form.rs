//! A form: its fields, one main button, and what the service says is wrong.

use maud::{Markup, html};
use sms_core::Error;

use crate::form::{FieldTroubles, label_of, sentence};
use crate::part::button::Button;
use crate::part::notice::in_words;

/// A form that changes something.
#[derive(Debug)]
pub struct FormShell<'a> {
    /// What a screen reader calls it.
    pub label: &'a str,
    /// The address that it is sent to, with POST.
    pub to: &'a str,
    /// The token of the session.
    pub csrf: &'a str,
    /// What is said above the fields, such as `problems`.
    pub problems: Markup,
    /// The fields, and whatever is between them.
    pub fields: Markup,
    /// Its buttons; the main one is the last.
    pub buttons: &'a [Button<'a>],
}

/// A form that changes something.
pub fn form(shell: &FormShell<'_>) -> Markup {
    let FormShell { label, to, csrf, problems, fields, buttons } = shell;
    html! {
        form.form method="post" action=(to) aria-label=(label) {
            input type="hidden" name="csrf" value=(csrf);
            (problems)
            (fields)
            div.actions { @for button in *buttons { (button) } }
        }
    }
}

/// What is wrong, above a form that is shown again. It takes the focus.
pub fn problems(words: &str, troubles: &FieldTroubles, shown: &[&str]) -> Markup {
    html! {
        div.form-problems {
            div.notice.notice-bad role="alert" tabindex="-1" autofocus {
                p { (words) }
                @if troubles.besides(shown).next().is_some() {
                    ul {
                        @for (field, words) in troubles.besides(shown) {
                            li { (label_of(field)) ": " (words) }
                        }
                    }
                }
            }
        }
    }
}

/// What an error says above a form that shows these fields, and beside them.
pub fn problems_of(error: &Error, shown: &[&str]) -> (Markup, FieldTroubles) {
    let troubles = FieldTroubles::of(error);
    let words = match error {
        Error::Invalid(fields) if fields.len() == 1 => "One field needs another value.".to_owned(),
        Error::Invalid(_) => "Some fields need another value.".to_owned(),
        other => sentence(&in_words(other)),
    };
    (problems(&words, &troubles, shown), troubles)
}
