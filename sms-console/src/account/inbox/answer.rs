//! The reply that is being written.

use maud::{Markup, html};
use sms_core::account::Mode;

use crate::format::credits;
use crate::part::counter::{Price, counter, counter_regions};
use crate::part::field::Field;
use crate::part::region::region;

/// The id of its field.
pub(super) const FIELD: &str = "reply";

/// The reply that is being written.
#[derive(Debug)]
pub(super) struct Answer {
    /// The text, as typed.
    pub body: String,
    /// The idempotency key. It was made when the form was shown.
    pub key: String,
    /// What is wrong with the text.
    pub trouble: Option<&'static str>,
}

impl Answer {
    /// Nothing is written yet.
    pub(super) fn empty(key: String) -> Self {
        Self { body: String::new(), key, trouble: None }
    }

    /// Whether nothing was done with it yet.
    pub(super) fn is_new(&self) -> bool {
        self.body.is_empty() && self.trouble.is_none()
    }

    /// The fields of its form.
    pub(super) fn view(&self, price: Price<'_>, mode: Mode) -> Markup {
        html! {
            input type="hidden" name="key" value=(self.key);
            div.stack-tight {
                div #reply-body { (self.field()) }
                (counter(&self.body, price))
            }
            div.actions {
                button.button.button-main type="submit" {
                    span #reply-send { (send_words(price, mode)) }
                }
                button.button.button-plain.scriptless type="submit" name="action" value="preview" {
                    "Preview"
                }
                span.small.faint.scripted { "Ctrl and Enter sends." }
            }
        }
    }

    /// The box.
    pub(super) fn field(&self) -> Markup {
        let field = Field::text_area("body", "Reply", 3).id(FIELD).value(&*self.body);
        let field = field.trouble(self.trouble);
        html! { (if self.trouble.is_some() { field.focused() } else { field }) }
    }
}

/// What a preview puts into the form.
pub(super) fn regions(answer: &Answer, price: Price<'_>, mode: Mode) -> Markup {
    html! {
        (counter_regions(&answer.body, price))
        (region("reply-send", &html! { (send_words(price, mode)) }))
    }
}

fn send_words(price: Price<'_>, mode: Mode) -> String {
    match price.quote().filter(|quote| quote.recipients > 0 && !mode.is_test()) {
        Some(quote) => format!("Send for {}", credits(quote.credits)),
        None => "Send".to_owned(),
    }
}
