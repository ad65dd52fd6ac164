//! A table of contacts, in the address book and on a list.

use maud::{Markup, html};
use sms_core::contact::Contact;

use crate::format::{full_name, number};
use crate::part::badge::{Tone, badge};

/// What a contact is called: the name, else the number.
pub(crate) fn called(contact: &Contact) -> String {
    let details = &contact.details;
    let name = full_name(details.first_name.as_deref(), details.last_name.as_deref());
    if name.is_empty() { number(contact.phone) } else { name }
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
