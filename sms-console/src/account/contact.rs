//! One contact: who they are, the lists they are on, what was said.

use maud::{Markup, html};
use sms_core::Error;
use sms_core::contact::{Contact, CustomValue};
use sms_core::ids::{ContactId, ListId};
use sms_core::list::ContactList;
use sms_core::list::join::JoinInput;
use sms_core::service::contact::ContactWithLists;
use sms_core::version::Versioned;

use super::contact_form::ContactForm;
use super::contact_table::called;
use super::list_choice::every_list_and;
use crate::format::{number, time, worded};
use crate::meanwhile::{Edited, Shown, joined};
use crate::part::badge::{Tone, badge};
use crate::part::button::{Kind, link, opens, submit};
use crate::part::code::as_request;
use crate::part::dialog::{Question, confirm};
use crate::part::field::Field;
use crate::part::form::{FormShell, form};
use crate::part::head::head;
use crate::place::{Place, account};
use crate::reply::{Outcome, Page, Reply, Trouble};
use crate::said::Said;
use crate::visit::AccountVisit;

const CONTACTS: &str = "/console/contacts";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get("/console/contacts/{id}", account(show)),
        Place::get("/console/contacts/{id}/edit", account(edit)),
        Place::post("/console/contacts/{id}/edit", account(update)),
        Place::post("/console/contacts/{id}/delete", account(delete)),
        Place::post("/console/contacts/{id}/join", account(join)),
        Place::post("/console/contacts/{id}/leave", account(leave)),
    ]
}

fn address(id: ContactId) -> String {
    format!("{CONTACTS}/{id}")
}

async fn show(visit: AccountVisit) -> Outcome {
    let found = visit.handle().contact_get(visit.params.id()?).await?;
    let lists = every_list_and(visit.handle(), &found.lists).await?;
    let path = format!("/v1/contacts/{}", found.contact.id);
    let content = html! {
        (view(&found, &lists, visit.csrf()))
        (as_request(&visit.desk.public_url, "GET", &path, None))
    };
    Ok(Page::new(called(&found.contact), content).into())
}

fn view(found: &ContactWithLists, lists: &[ContactList], csrf: &str) -> Markup {
    let ContactWithLists { contact, lists: on, .. } = found;
    let path = address(contact.id);
    let actions = html! {
        @if !contact.opted_out {
            (link("Write a message", format!("/console/compose?contact={}", contact.id))
                .kind(Kind::Main))
        }
        (link("Edit", format!("{path}/edit")))
        (opens("Delete", "delete").kind(Kind::Danger))
    };
    let beside = html! { @if contact.opted_out { (badge("Opted out", Tone::Bad)) } };
    html! {
        (head(&called(contact)).back("Contacts", CONTACTS).beside(beside).actions(actions))
        div.columns {
            (details(contact))
            div.stack {
                (lists_card(&path, on, lists, csrf))
                (messages_card(contact))
            }
        }
        (confirm(&Question {
            id: "delete",
            title: "Delete this contact?",
            text: html! {
                p { "The person is removed from every list. Messages and an opt-out stay." }
            },
            action: "Delete the contact",
            kind: Kind::Danger,
            to: &format!("{path}/delete"),
            csrf,
            sent: &[],
        }))
    }
}

fn details(contact: &Contact) -> Markup {
    let details = &contact.details;
    html! {
        section.card {
            h2 { "Details" }
            dl.facts {
                dt { "Number" }
                dd.number { (number(contact.phone)) }
                dt { "Email" }
                dd { (details.email.as_deref().unwrap_or("–")) }
                @for (name, value) in &details.custom {
                    dt { (worded(name)) }
                    dd { (CustomValue::text(value)) }
                }
                dt { "Notes" }
                dd.wrap { (details.notes.as_deref().unwrap_or("–")) }
                dt { "Added" }
                dd { (time(contact.created_at)) }
            }
        }
    }
}

fn lists_card(path: &str, on: &[ListId], lists: &[ContactList], csrf: &str) -> Markup {
    let (joined, others): (Vec<_>, Vec<_>) = lists.iter().partition(|list| on.contains(&list.id));
    let options = others.iter().map(|list| (list.id.to_string(), list.name.as_str()));
    html! {
        section.card.stack {
            h2 { "Lists" }
            @if joined.is_empty() {
                p.faint { "On no list." }
            } @else {
                ul.stack-tight {
                    @for list in joined { li { (on_list(path, list, csrf)) } }
                }
            }
            @if !others.is_empty() {
                form.with-button method="post" action={ (path) "/join" } {
                    input type="hidden" name="csrf" value=(csrf);
                    (Field::select("list", "Add to a list", options))
                    (submit("Add").label("Add to the list"))
                }
            }
        }
    }
}

fn on_list(path: &str, list: &ContactList, csrf: &str) -> Markup {
    let label = format!("Remove from {}", list.name);
    html! {
        form.actions method="post" action={ (path) "/leave" } {
            input type="hidden" name="csrf" value=(csrf);
            input type="hidden" name="list" value=(list.id);
            a href={ "/console/lists/" (list.id) } { (list.name) }
            (submit("Remove").kind(Kind::Quiet).small().label(label))
        }
    }
}

fn messages_card(contact: &Contact) -> Markup {
    let number = contact.phone.to_string().replace('+', "%2B");
    html! {
        section.card.stack {
            h2 { "Messages" }
            div.actions {
                (link("Open the conversation", format!("/console/inbox/{number}")).small())
                (link("All messages", format!("/console/messages?q={number}")).small())
            }
        }
    }
}

async fn edit(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let contact = visit.handle().contact_get(id).await?.contact;
    let shown = ContactForm::of(&contact).with_offers(visit.handle()).await?;
    let page = edit_view(&contact, visit.csrf(), &Shown::first(shown));
    Ok(Page::new("Edit the contact", page).into())
}

async fn update(visit: AccountVisit) -> Outcome {
    let id = visit.params.id()?;
    let contact = visit.handle().contact_get(id).await?.contact;
    let form = visit.form().await?;
    let now = ContactForm::of(&contact).with_offers(visit.handle()).await?;
    let sent = ContactForm::sent(&form).with_offers(visit.handle()).await?;
    let shown = match joined(&form, &now) {
        Ok(joined) => {
            let patch = joined.patch(&contact.details.custom).if_version(contact.version());
            match visit.handle().contact_update(id, patch).await {
                Ok(_) => return Ok(Reply::moved(address(id)).saying(Said::Saved)),
                Err(error @ Error::NotFound(_)) => return Err(error.into()),
                Err(error) => Shown::again(sent, &form, ContactForm::problems(&error)),
            }
        }
        Err(clashing) => Shown::clashing(clashing, &now, contact.updated_at, None).await?,
    };
    let page = edit_view(&contact, visit.csrf(), &shown);
    Ok(Reply::Again(Page::new("Edit the contact", page)))
}

fn edit_view(contact: &Contact, csrf: &str, shown: &Shown<ContactForm>) -> Markup {
    let (path, name) = (address(contact.id), called(contact));
    let buttons = [link("Go back", &path), submit("Save").kind(Kind::Main)];
    let shell = FormShell {
        label: "Edit the contact",
        to: &format!("{path}/edit"),
        csrf,
        problems: shown.problems.clone(),
        fields: html! { (shown.hidden()) (shown.form.fields(&shown.troubles)) },
        buttons: &buttons,
    };
    html! {
        (head("Edit the contact").back(&name, &path))
        (form(&shell))
    }
}

async fn delete(visit: AccountVisit) -> Outcome {
    let outcome = visit.handle().contact_delete(visit.params.id()?).await;
    Reply::deleted(outcome, CONTACTS, Said::ContactDeleted, Said::DeletedAlready)
}

async fn join(visit: AccountVisit) -> Outcome {
    let (id, list) = (visit.params.id()?, list_of(&visit).await?);
    let input = JoinInput::default().contact_ids([id.to_string()]);
    visit.handle().list_add(list, input).await?;
    Ok(Reply::moved(address(id)))
}

async fn leave(visit: AccountVisit) -> Outcome {
    let (id, list) = (visit.params.id()?, list_of(&visit).await?);
    visit.handle().list_remove(list, id).await?;
    Ok(Reply::moved(address(id)))
}

async fn list_of(visit: &AccountVisit) -> Result<ListId, Trouble> {
    let form = visit.form().await?;
    form.text("list").parse().map_err(|_| Trouble::BadForm("a list"))
}
