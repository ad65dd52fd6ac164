//! A table of contacts, in the address book and on a list.

use maud::{Markup, html};
use sms_core::contact::Contact;

use crate::format::number;
use crate::part::badge::{Tone, badge};

/// What a contact is called: the name, else the number.
pub(crate) fn called(contact: &Contact) -> String {
    contact.details.full_name().unwrap_or_else(|| number(contact.phone))
}

/// The cells of a contact: name, number, email, and whether it can be texted.
pub(crate) fn contact_cells(contact: &Contact) -> [Markup; 4] {
    [
        html! { a.row-link href={ "/console/contacts/" (contact.id) } { (called(contact)) } },
        html! { span.number { (number(contact.phone)) } },
        html! {
            @if let Some(email) = &contact.details.email { (email) }
            @else { span.faint { "–" } }
        },
        html! { @if contact.opted_out { (badge("Opted out", Tone::Bad)) } @else { "Yes" } },
    ]
}
