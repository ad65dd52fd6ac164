//! The open conversation: its messages, its reply, and the contact beside it.
//!
//! The parts that change without a reload are live, each separately. The form of the reply is not:
//! what the person has typed stays. While the person has opted out, the style sheet hides it. A
//! short code or a name has none, because it cannot be answered.

use maud::{Markup, html};
use sms_core::conversation::Thread;
use sms_core::message::{Direction, Message};
use sms_core::page::Limit;
use sms_core::time::Timestamp;

use super::address;
use super::answer::Answer;
use super::contact::contact_card;
use crate::format::party;
use crate::part::badge::{Tone, badge};
use crate::part::bubble::bubbles;
use crate::part::button::link;
use crate::part::notice::{Notice, notice};
use crate::part::price::Price;
use crate::query::Query;

/// The events that change what a conversation shows.
pub(super) const CHANGED_BY: &str = "message opt_out";

/// What the page shows of a conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    /// The messages, oldest first, and the contact.
    pub thread: &'a Thread,
    /// The reply as far as it is written.
    pub answer: &'a Answer,
    /// What it would cost.
    pub price: Price<'a>,
    /// Where programs reach the service.
    pub public_url: &'a str,
    /// The token of the session.
    pub csrf: &'a str,
    /// How the list beside it is filtered.
    pub queries: &'a Query,
    /// The name under which a browser keeps the reply.
    pub draft_name: &'a str,
    /// Whether the last reply was just sent.
    pub was_sent: bool,
    /// The time of showing.
    pub now: Timestamp,
}

impl Shown<'_> {
    /// The conversation. `said` stands above the reply.
    pub(super) fn view(&self, said: &Markup) -> Markup {
        let Self { thread, draft_name, was_sent, queries, .. } = *self;
        html! {
            div.thread {
                div.thread-main {
                    div.thread-head {
                        a.thread-back href=(address::all(queries)) { "All conversations" }
                        (self.title())
                    }
                    // It begins at its end, and stays there while messages come.
                    div.thread-log role="log" aria-live="off" tabindex="0" aria-label="Messages" {
                        div #thread-log data-live="3" data-on=(CHANGED_BY) {
                            (older(thread))
                            (bubbles(&thread.messages, self.now))
                        }
                    }
                    p.unseen #thread-said role="status" data-live="3" data-on=(CHANGED_BY) {
                        (last_words(&thread.messages))
                    }
                    div.thread-foot data-draft-done=[was_sent.then_some(draft_name)] {
                        @if thread.other_party().name().is_some() {
                            (said)
                            (no_reply())
                        } @else {
                            // No event says that an opt-out was removed: while there is one, the
                            // page asks.
                            div.thread-stop #thread-stop data-live="3"
                                data-on=[(!thread.opted_out).then_some(CHANGED_BY)] {
                                @if thread.opted_out { (opted_out(thread)) }
                            }
                            (self.form(said))
                        }
                    }
                }
                aside.thread-contact #thread-contact data-live="3" data-on=(CHANGED_BY)
                    aria-label="Contact" {
                    (contact_card(thread))
                }
            }
        }
    }

    fn title(&self) -> Markup {
        let thread = self.thread;
        let phone = party(&thread.other_party());
        let name = thread.contact.as_ref().and_then(|contact| contact.details.full_name());
        html! {
            div {
                h2 #conversation tabindex="-1" { (name.as_deref().unwrap_or(&phone)) }
                div.thread-note #thread-note data-live="3" data-on=(CHANGED_BY) {
                    @if name.is_some() { span.faint { (phone) } }
                    @if thread.opted_out { (badge("Opted out", Tone::Bad)) }
                    (self.mark_read())
                }
            }
        }
    }

    /// A button, which a module presses once what is unread is on screen.
    fn mark_read(&self) -> Markup {
        let is_unread = |message: &Message| {
            message.direction == Direction::Inbound && message.times.read_at.is_none()
        };
        if !self.thread.messages.iter().any(is_unread) {
            return html! {};
        }
        let path = format!("{}/read", address::path_of(&self.thread.other_party()));
        html! {
            form.scriptless method="post" action=(self.queries.address(&path, "said", None))
                data-read {
                input type="hidden" name="csrf" value=(self.csrf);
                button.button.button-quiet.button-small type="submit" { "Mark as read" }
            }
        }
    }

    fn form(&self, said: &Markup) -> Markup {
        let number = self.thread.number;
        let preview = format!("{}/preview", address::path_of(&number.into()));
        html! {
            form.reply method="post" action=(address::conversation(&number.into(), self.queries))
                aria-label="Reply" autocomplete="off" novalidate data-send-keys
                data-draft=(self.draft_name) data-draft-given[!self.answer.is_new()]
                data-preview=(preview) data-preview-into="counter-price" {
                input type="hidden" name="csrf" value=(self.csrf);
                (said)
                (self.answer.view(self.price))
                div #reply-request { (self.answer.request(number, self.public_url)) }
            }
        }
    }
}

/// The way to what is older than the oldest message of a thread that is full: the list of messages
/// with this number, up to the day of that message. A thread has no other page.
fn older(thread: &Thread) -> Markup {
    let is_full = thread.messages.len() >= Limit::THREAD.get();
    let Some(oldest) = thread.messages.first().filter(|_| is_full) else { return html! {} };
    let messages = address::messages_until(&thread.other_party(), oldest.due_at());
    html! { p.actions { (link("Older messages", messages).small()) } }
}

/// What has come in last, for screen readers, which read it when it changes.
fn last_words(messages: &[Message]) -> Markup {
    let last = messages.iter().rfind(|message| message.direction == Direction::Inbound);
    html! {
        @if let Some(last) = last { "They wrote: " (last.body.as_str()) }
    }
}

/// Why there is no form.
fn no_reply() -> Markup {
    let why = "Texts from a short code or a name cannot be answered.";
    notice(Notice::Info, &html! { p { (why) } })
}

fn opted_out(thread: &Thread) -> Markup {
    let number = address::escaped(&thread.number.into());
    notice(
        Notice::Bad,
        &html! {
            p {
                "This person has opted out and cannot be texted. Remove the opt-out only if they "
                "have asked to hear from you again."
            }
            p { a href={ "/console/opt-outs?q=" (number) } { "Show the opt-out" } }
        },
    )
}
