//! The contact beside a conversation.

use maud::{Markup, html};
use sms_core::contact::{Contact, Details};
use sms_core::conversation::Thread;

use super::address;
use crate::format::{full_name, number, worded};
use crate::part::badge::{Tone, badge};
use crate::part::button::link;

/// The contact; a number that is none yet can become one.
pub(super) fn contact_card(thread: &Thread) -> Markup {
    match &thread.contact {
        Some(contact) => known(contact, thread),
        None => unknown(thread),
    }
}

fn unknown(thread: &Thread) -> Markup {
    let add = format!("/console/contacts?add={}", address::escaped(thread.number));
    html! {
        h3 { "Not a contact yet" }
        p.faint { (number(thread.number)) }
        (link("Add to contacts", add).small())
    }
}

fn known(contact: &Contact, thread: &Thread) -> Markup {
    let Details { first_name, last_name, email, notes, custom } = &contact.details;
    let name = full_name(first_name.as_deref(), last_name.as_deref());
    let phone = number(contact.phone);
    html! {
        h3 { (if name.is_empty() { &phone } else { &name }) }
        dl.facts {
            dt { "Number" }
            dd { (phone) }
            @if let Some(email) = email {
                dt { "Email" }
                dd { (email) }
            }
            @if thread.opted_out {
                dt { "Texts" }
                dd { (badge("Opted out", Tone::Bad)) }
            }
            @for (field, value) in custom {
                dt { (worded(field)) }
                dd { (value.text()) }
            }
        }
        @if let Some(notes) = notes { p.wrap { (notes) } }
        (link("Open the contact", format!("/console/contacts/{}", contact.id)).small())
    }
}
