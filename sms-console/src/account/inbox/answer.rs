//! The reply that is being written.

use maud::{Markup, html};
use serde_json::json;
use sms_core::phone::E164;

use crate::format::credits;
use crate::part::code::as_request;
use crate::part::counter::{counter, counter_regions};
use crate::part::field::Field;
use crate::part::gaps::box_to_tick;
use crate::part::price::Price;
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
    pub(super) fn view(&self, price: Price<'_>) -> Markup {
        html! {
            input type="hidden" name="key" value=(self.key);
            div.composer {
                div #reply-body { (self.field()) }
                button.button.button-main type="submit" {
                    span #reply-send { (send_words(price)) }
                }
            }
            (counter(&self.body, price))
            div #reply-agree { (agree(price)) }
            div.actions {
                button.button.button-plain.scriptless type="submit" name="action" value="preview" {
                    "Preview"
                }
                span.small.faint.scripted { "Ctrl and Enter sends." }
            }
        }
    }

    /// The same with the API.
    pub(super) fn request(&self, to: E164, public_url: &str) -> Markup {
        let body = if self.is_new() { "Your reply" } else { &*self.body };
        as_request(public_url, "POST", "/v1/messages", Some(&json!({ "to": to, "body": body })))
    }

    /// The box to write in. It takes the focus if something is wrong.
    pub(super) fn field(&self) -> Markup {
        let field = Field::text_area("body", "Reply", 1).id(FIELD).value(&*self.body).hide_label();
        let field = field.trouble(self.trouble);
        html! { (if self.trouble.is_some() { field.focused() } else { field }) }
    }
}

/// What a preview puts into the form.
pub(super) fn regions(answer: &Answer, price: Price<'_>) -> Markup {
    html! {
        (counter_regions(&answer.body, price))
        (region("reply-agree", &agree(price)))
        (region("reply-send", &html! { (send_words(price)) }))
    }
}

fn agree(price: Price<'_>) -> Markup {
    price.quote().map_or_else(|| html! {}, |quote| box_to_tick(&quote.gaps))
}

fn send_words(price: Price<'_>) -> String {
    match price {
        Price::Quoted(quote) if quote.recipients > 0 => {
            format!("Send for {}", credits(quote.credits))
        }
        _ => "Send".to_owned(),
    }
}
