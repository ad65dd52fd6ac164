//! The price beside the form, and who is left out.

use maud::{Markup, html};
use serde_json::json;
use sms_core::account::Mode;
use sms_core::sending::Quote;

use super::draft::Draft;
use super::words::people;
use crate::format::credits;
use crate::part::code::as_request;
use crate::part::price::big_price;
use crate::part::rejection::rejections;

/// The card with the price.
pub(super) fn price_card(
    draft: &Draft,
    quote: Option<&Quote>,
    mode: Mode,
    public_url: &str,
) -> Markup {
    let Some(quote) = quote else {
        return html! {
            section.card {
                h2 { "Price" }
                p.faint { "Choose who gets it and write a message: the price appears here." }
            }
        };
    };
    html! {
        section.card.stack {
            h2 { "Price" }
            (big_price(quote.credits, mode))
            dl.facts {
                dt { "Goes to" }
                dd { (people(quote.recipients)) }
                @if !mode.is_test() {
                    dt { "Balance" }
                    dd { (credits(quote.balance)) }
                }
            }
            @if let Some(text) = quote.preview.as_deref().filter(|text| *text != draft.body) {
                (as_read("As the first person reads it", text))
            }
            (rejections(&quote.rejected))
            (as_request(public_url, "POST", "/v1/messages", Some(&in_json(draft))))
        }
    }
}

/// The text as a recipient reads it.
pub(super) fn as_read(title: &str, text: &str) -> Markup {
    html! {
        div.stack-tight {
            p { strong { (title) } }
            div.preview { (text) }
        }
    }
}

/// The same message in the words of the API.
fn in_json(draft: &Draft) -> serde_json::Value {
    let Draft { to, contacts, list, body, sender, append_opt_out, track_links, .. } = draft;
    let at = draft.moment().ok().flatten();
    let all = [
        ("to", (!to.trim().is_empty()).then(|| json!(to.trim()))),
        ("contact_ids", (!contacts.is_empty()).then(|| json!(contacts))),
        ("list_id", list.map(|list| json!(list))),
        ("body", Some(json!(body))),
        ("sender", (!sender.is_empty()).then(|| json!(sender))),
        ("append_opt_out", append_opt_out.is_yes().then(|| json!(true))),
        ("track_links", track_links.is_yes().then(|| json!(true))),
        ("schedule_at", at.map(|at| json!(at))),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
