//! The question before a send: to how many people, when, and for how much.

use maud::{Markup, html};
use sms_core::account::Mode;
use sms_core::sending::Quote;
use sms_core::time::Timestamp;

use super::draft::Draft;
use super::price::as_read;
use super::words::{people, send_words};
use crate::form::FieldTroubles;
use crate::format::{coming_time, credits};
use crate::part::button::{Kind, submit};
use crate::part::form::problems;
use crate::part::gaps::{NOT_AGREED, agreement};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::price::big_price;
use crate::part::rejection::rejections;

/// Why it is asked again. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The price is another one. Carries the one that they agreed to.
    PriceChanged(u64),
    /// Some merge fields cannot be filled in, and the person has not agreed to that.
    NotAgreed,
}

/// What the page asks: whether to send this for this price.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The message as the person wrote it.
    pub draft: &'a Draft,
    /// Its price, of now.
    pub quote: &'a Quote,
    /// What no longer holds of what the person agreed to; `None` at first.
    pub again: Option<Again>,
    /// The kind of key that the person signed in with.
    pub mode: Mode,
    /// When it goes; `None` for now.
    pub at: Option<Timestamp>,
    /// The time of asking.
    pub now: Timestamp,
}

impl Question<'_> {
    /// The title of the page.
    pub(super) fn title(&self) -> &'static str {
        if self.at.is_some() { "Schedule this message?" } else { "Send this message?" }
    }

    /// The page, whose form carries this token.
    pub(super) fn view(&self, csrf: &str) -> Markup {
        let Self { draft, quote, again, mode, at, now } = *self;
        html! {
            (head(self.title()))
            div.stack {
                @match again {
                    Some(Again::PriceChanged(agreed)) => { (changed(agreed, quote)) }
                    Some(Again::NotAgreed) => {
                        (problems(NOT_AGREED, &FieldTroubles::none(), &[]))
                    }
                    None => {}
                }
                section.card.stack {
                    p {
                        "It goes to " (people(quote.recipients))
                        @if let Some(at) = at { ", " (coming_time(at, now)) " London time" }
                        "."
                    }
                    (big_price(quote.credits, mode))
                    @if !mode.is_test() && quote.credits > quote.balance { (too_dear(quote)) }
                    (as_read("The message", quote.preview.as_deref().unwrap_or(&draft.body)))
                    (rejections(&quote.rejected))
                }
                (self.form(csrf))
            }
        }
    }

    /// The same message once more, and the answer.
    fn form(&self, csrf: &str) -> Markup {
        let Self { draft, quote, mode, .. } = *self;
        let words = send_words(draft, Some(quote), mode);
        html! {
            form method="post" action="/console/compose" aria-label="Answer" autocomplete="off" {
                input type="hidden" name="csrf" value=(csrf);
                input type="hidden" name="price" value=(quote.credits);
                (hidden(draft))
                (agreement(&quote.gaps))
                div.actions {
                    (submit("Go back").sending("action", "edit").unchecked())
                    (submit(words).kind(Kind::Main).sending("action", "send"))
                }
            }
        }
    }
}

fn hidden(draft: &Draft) -> Markup {
    let Draft { to, contacts, list, body, sender, append_opt_out, track_links, when, key } = draft;
    let texts =
        [("key", key), ("to", to), ("body", body), ("sender", sender), ("schedule_at", when)];
    html! {
        @for (name, value) in texts { input type="hidden" name=(name) value=(value); }
        @for contact in contacts { input type="hidden" name="contact_ids" value=(contact); }
        @if let Some(list) = list { input type="hidden" name="list_id" value=(list); }
        @if append_opt_out.is_yes() { input type="hidden" name="append_opt_out" value="on"; }
        @if track_links.is_yes() { input type="hidden" name="track_links" value="on"; }
    }
}

fn changed(agreed: u64, quote: &Quote) -> Markup {
    notice(
        Notice::Warn,
        &html! {
            "The price has changed: it was " (credits(agreed)) ", and it is "
            (credits(quote.credits)) " now. Send it if you agree to that."
        },
    )
}

fn too_dear(quote: &Quote) -> Markup {
    notice(
        Notice::Bad,
        &html! {
            "The balance is " (credits(quote.balance)) ": this will be refused."
        },
    )
}
