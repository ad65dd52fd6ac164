//! Who gets a message: numbers, contacts and a list.

use maud::{Markup, html};
use sms_core::contact::Contact;

use super::draft::Draft;
use super::seen::Seen;
use crate::account::choices::Choices;
use crate::form::FieldTroubles;
use crate::format::{counted, full_name, number};
use crate::part::field::Field;

/// The fields. `search` is what is looked for among the contacts.
pub(super) fn recipients(
    draft: &Draft,
    seen: &Seen,
    choices: &Choices,
    troubles: &FieldTroubles,
    search: &str,
) -> Markup {
    let numbers = Field::text_area("to", "Numbers", 2)
        .value(&*draft.to)
        .hint("Separated by commas or new lines.")
        .class("field-short")
        .trouble(troubles.get("to"));
    let numbers = if troubles.get("to").is_some() { numbers.focused() } else { numbers };
    let list = draft.list.map(|id| id.to_string()).unwrap_or_default();
    html! {
        (numbers)
        div.stack-tight {
            (Field::search("contact_search", "Contacts").value(search)
                .hint("Type a name or a number."))
            // The first button of the form is the one that the Enter key presses.
            div {
                button.button.button-plain.button-small type="submit" name="action" value="find"
                    data-quiet { "Find contacts" }
            }
            div #compose-found { (found(seen.found.as_deref())) }
            div #compose-contacts data-draft-more { (chips(&seen.contacts)) }
        }
        (Field::select("list_id", "A list", choices.list_options("None"))
            .value(list).trouble(troubles.get("list_id")))
    }
}

/// Who was found, each as a button that adds them.
pub(super) fn found(contacts: Option<&[Contact]>) -> Markup {
    let Some(contacts) = contacts else { return html! {} };
    html! {
        p.unseen role="status" { (counted(contacts.len() as u64, "contact")) " found" }
        @if contacts.is_empty() {
            p.small.faint { "Nobody found." }
        } @else {
            div.choices {
                @for contact in contacts {
                    button type="submit" name="add" value=(contact.id) data-quiet
                        data-clears="contact_search" {
                        (or(&name_of(contact), "No name")) ", " (number(contact.phone))
                        @if contact.opted_out { ", opted out" }
                    }
                }
            }
        }
    }
}

/// Who is chosen, each with a button that takes them away.
pub(super) fn chips(contacts: &[Contact]) -> Markup {
    html! {
        @if !contacts.is_empty() {
            div.chips { @for contact in contacts { (chip(contact)) } }
        }
    }
}

fn chip(contact: &Contact) -> Markup {
    let (phone, name) = (number(contact.phone), name_of(contact));
    let name = or(&name, &phone);
    html! {
        span.chip {
            (name)
            input type="hidden" name="contact_ids" value=(contact.id);
            button type="submit" name="remove" value=(contact.id) data-quiet
                data-focuses="contact_search" aria-label={ "Remove " (name) } { "×" }
        }
    }
}

fn name_of(contact: &Contact) -> String {
    let details = &contact.details;
    full_name(details.first_name.as_deref(), details.last_name.as_deref())
}

fn or<'a>(name: &'a str, otherwise: &'a str) -> &'a str {
    if name.is_empty() { otherwise } else { name }
}
