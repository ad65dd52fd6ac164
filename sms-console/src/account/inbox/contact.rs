//! The contact beside a conversation.

use maud::{Markup, html};
use sms_core::contact::{Contact, Details};
use sms_core::conversation::Thread;

use super::address;
use crate::format::{number, worded};
use crate::part::badge::{Tone, badge};
use crate::part::button::link;

/// The contact; a number that is none yet can become one, and a short code or a name cannot.
pub(super) fn contact_card(thread: &Thread) -> Markup {
    let party = thread.other_party();
    match (&thread.contact, party.name()) {
        (Some(contact), _) => known(contact, thread),
        (None, Some(name)) => html! {
            h3 { (name) }
            p.faint { "A short code or a name" }
        },
        (None, None) => unknown(thread),
    }
}

fn unknown(thread: &Thread) -> Markup {
    let add = format!("/console/contacts?add={}", address::escaped(&thread.number.into()));
    html! {
        h3 { "Not a contact yet" }
        p.faint { (number(thread.number)) }
        (link("Add to contacts", add).small())
    }
}

fn known(contact: &Contact, thread: &Thread) -> Markup {
    let Details { first_name: _, last_name: _, email, notes, custom } = &contact.details;
    let name = contact.details.full_name();
    let phone = number(contact.phone);
    html! {
        h3 { (name.as_ref().unwrap_or(&phone)) }
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
