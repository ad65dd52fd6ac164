//! Who gets a message: numbers, contacts and a list.

use maud::{Markup, html};
use sms_core::contact::Contact;

use super::draft::Draft;
use super::seen::Seen;
use crate::account::choices::Choices;
use crate::account::contact_table::called;
use crate::form::FieldTroubles;
use crate::format::{counted, number};
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
                        (contact.details.full_name().as_deref().unwrap_or("No name"))
                        ", " (number(contact.phone))
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
    let name = called(contact);
    html! {
        span.chip {
            (name)
            input type="hidden" name="contact_ids" value=(contact.id);
            button type="submit" name="remove" value=(contact.id) data-quiet
                data-focuses="contact_search" aria-label={ "Remove " (name) } { "×" }
        }
    }
}
