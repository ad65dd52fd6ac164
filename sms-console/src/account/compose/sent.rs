//! What a send did: how many messages, for how much, and who was left out.

use maud::{Markup, html};
use sms_core::account::Mode;
use sms_core::sending::Sent;

use crate::format::{counted, credits, full_time};
use crate::part::button::{Kind, link};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::rejection::rejections;

/// The title of the page.
pub(super) fn title(sent: &Sent) -> String {
    let messages = counted(sent.messages.len() as u64, "message");
    match sent.messages.first() {
        None => "Nothing was sent".to_owned(),
        Some(first) if first.scheduled_at.is_some() => format!("{messages} scheduled"),
        Some(_) => format!("{messages} sent"),
    }
}

/// The page. What the browser keeps under `draft_name` is done with.
pub(super) fn view(sent: &Sent, mode: Mode, draft_name: &str) -> Markup {
    let title = title(sent);
    let at = sent.messages.first().and_then(|first| first.scheduled_at);
    html! {
        @if let Some(at) = at {
            (head(&title).lead(format!("Goes on {}.", full_time(at))))
        } @else {
            (head(&title))
        }
        div.stack data-draft-done=(draft_name) {
            @if sent.messages.is_empty() {
                (notice(Notice::Bad, &html! { "No recipient can be texted. Nothing was charged." }))
            } @else {
                (notice(Notice::Good, &html! { p { (charged(sent, mode)) } }))
            }
            (rejections(&sent.rejected))
            div.actions {
                @if !sent.messages.is_empty() {
                    (link("Watch them go", format!("/console/messages?batch_id={}", sent.batch))
                        .kind(Kind::Main))
                }
                (link("Write another", "/console/compose"))
            }
        }
    }
}

fn charged(sent: &Sent, mode: Mode) -> String {
    if mode.is_test() {
        return "Test mode: nothing was charged.".to_owned();
    }
    format!("{} taken. The balance is {}.", credits(sent.credits), credits(sent.balance))
}
