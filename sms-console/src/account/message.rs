//! One message: its words, its facts and what happened to it.

use maud::{Markup, html};
use sms_core::message::{Direction, Message};
use sms_core::service::account::MessageWithTimeline;
use sms_core::text::Encoding;

use super::inbox::address;
use crate::format::{counted, credits, number, party, time};
use crate::part::badge::{Tone, badge, reason, status_badge};
use crate::part::button::{Kind, link, opens};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::head::head;
use crate::part::notice::{Notice, notice};
use crate::part::timeline::timeline;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::AccountVisit;

/// The places of a message.
pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/messages/{id}", account(show)),
        Place::post("/console/messages/{id}/cancel", account(cancel)),
    ]
}

async fn show(visit: AccountVisit) -> Outcome {
    let found = visit.handle().message_get(visit.params.id()?).await?;
    let path = format!("/v1/messages/{}", found.message.id);
    let content = html! {
        (head("Message").back("Messages", "/console/messages"))
        div.stack {
            div.stack #message data-live data-on="message" { (shown(&found)) }
            (as_request(&visit.desk.public_url, "GET", &path, None))
        }
        @if found.message.status.is_cancellable() { (question(&found.message, visit.csrf())) }
    };
    Ok(Page::new("Message", content).into())
}

async fn cancel(visit: AccountVisit) -> Outcome {
    let cancelled = visit.handle().message_cancel(visit.params.id()?).await?;
    let path = format!("/console/messages/{}", cancelled.id);
    Ok(Reply::moved(path).saying(Said::MessageCancelled))
}

fn shown(found: &MessageWithTimeline) -> Markup {
    let MessageWithTimeline { message, timeline: entries, .. } = found;
    html! {
        @if let Some(error) = message.error {
            (notice(Notice::Bad, &html! { p { (reason(error.as_str())) } }))
        }
        div.columns {
            section.card.stack {
                div.card-head {
                    h2 { (party(&message.other_party())) }
                    (status_badge(message.status.as_str()))
                    @if message.mode.is_test() { (badge("Test", Tone::Warn)) }
                }
                p.wrap { (message.body.as_str()) }
                div.actions { (actions(message)) }
            }
            section.card {
                h2 { "What happened" }
                (timeline(entries))
            }
        }
        section.card {
            h2 { "Details" }
            dl.facts {
                @for (name, value) in facts(message) {
                    dt { (name) }
                    dd { (value) }
                }
            }
        }
    }
}

const DIALOG: &str = "cancel";

fn actions(message: &Message) -> Markup {
    html! {
        (link("Open the conversation", address::path_of(&message.other_party())).small())
        @if let Some(contact) = message.contact_id {
            (link("Open the contact", format!("/console/contacts/{contact}")).small())
        }
        @if message.status.is_cancellable() {
            (opens("Cancel this message", DIALOG).kind(Kind::Danger).small())
        }
    }
}

fn facts(message: &Message) -> Vec<(&'static str, Markup)> {
    let text = |text: &str| html! { (text) };
    let mut facts = parties(message);
    facts.push(("Length", length(message)));
    if message.direction == Direction::Outbound {
        facts.push(("Price", html! { (credits(message.credits)) }));
    }
    facts.push(("Route", text(message.route.as_str())));
    if let Some(reference) = &message.client_ref {
        facts.push(("Your reference", text(reference)));
    }
    facts.push(("Made", time(message.created_at())));
    if let Some(at) = message.scheduled_at {
        facts.push(("Scheduled for", time(at)));
    }
    if let Some(batch) = message.batch_id {
        let all = html! {
            a href={ "/console/messages?batch_id=" (batch) } { "All messages of this send" }
        };
        facts.push(("Send", all));
    }
    if let Some(campaign) = message.campaign_id {
        let open = html! { a href={ "/console/campaigns/" (campaign) } { "Open the campaign" } };
        facts.push(("Campaign", open));
    }
    facts.push(("Id", html! { code { (message.id) } }));
    facts
}

/// Who it is to or from, and under which number or name of the account.
fn parties(message: &Message) -> Vec<(&'static str, Markup)> {
    let (theirs, ours, own) = match message.direction {
        Direction::Outbound => {
            let own = message.sender.clone().unwrap_or_else(|| number(message.from));
            ("To", "Sent from", own)
        }
        Direction::Inbound => ("From", "Received on", number(message.to)),
    };
    vec![(theirs, html! { (party(&message.other_party())) }), (ours, html! { (own) })]
}

fn length(message: &Message) -> Markup {
    let encoding = match message.encoding {
        Encoding::Gsm7 => "GSM-7",
        Encoding::Ucs2 => "UCS-2",
    };
    html! { (counted(message.segments.get().into(), "part")) ", " (encoding) }
}

/// The question before a message is cancelled.
fn question(message: &Message, csrf: &str) -> Markup {
    let refunds = !message.mode.is_test() && message.credits.get() > 0;
    confirm(&Question {
        id: DIALOG,
        title: "Cancel this message?",
        text: html! {
            p {
                "It will not be sent to " (number(message.contact_number())) "."
                @if refunds { " " (credits(message.credits)) " will be refunded." }
            }
        },
        action: "Cancel the message",
        kind: Kind::Danger,
        to: &format!("/console/messages/{}/cancel", message.id),
        csrf,
        sent: &[],
    })
}
