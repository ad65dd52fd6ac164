//! The address book: search, and adding a contact.

use maud::{Markup, html};
use sms_core::contact::filter::ContactSearch;
use sms_core::contact::{Contact, ContactFilter};
use sms_core::page::Page as Items;

use super::contact_form::ContactForm;
use super::contact_table::contact_cells;
use crate::form::FieldTroubles;
use crate::format::time;
use crate::key::{key_again, key_of, new_key};
use crate::meanwhile::Edited;
use crate::part::button::{Kind, link, submit};
use crate::part::code::as_request;
use crate::part::field::Field;
use crate::part::filters::filters;
use crate::part::form::{FormShell, form};
use crate::part::head::head;
use crate::part::pager::{nothing_so_far, page_request, pager};
use crate::part::state::empty;
use crate::part::table::{column, right, table};
use crate::place::{Place, account};
use crate::query::Query;
use crate::reply::{Outcome, Page, Reply};
use crate::said::Said;
use crate::visit::AccountVisit;

const PATH: &str = "/console/contacts";
const NEW: &str = "/console/contacts/new";
const IMPORT: &str = "/console/contacts/import";

pub(crate) fn places() -> Vec<Place> {
    vec![
        Place::get(PATH, account(list)),
        Place::get(NEW, account(new)),
        Place::post(NEW, account(create)),
    ]
}

async fn list(visit: AccountVisit) -> Outcome {
    // A page that knows a number and no contact leads here.
    if let Some(number) = visit.query("add") {
        return Ok(Reply::moved(Query::default().address(NEW, "phone", Some(number))));
    }
    let query = visit.query("q").unwrap_or_default();
    let filter = ContactFilter { list_id: None, search: ContactSearch::parse(query) };
    let contacts = visit.handle().contact_list(&filter, page_request(&visit)).await?;
    let pages = match contacts.next {
        Some(next) if contacts.items.is_empty() => nothing_so_far(&visit, next),
        next => pager(&visit, next),
    };
    let path = Query::default().address("/v1/contacts", "q", visit.query("q"));
    let request = as_request(&visit.desk.public_url, "GET", &path, None);
    let below = html! { (pages) (request) };
    Ok(Page::new("Contacts", view(&contacts, query, &below)).into())
}

fn view(contacts: &Items<Contact>, query: &str, below: &Markup) -> Markup {
    let actions = html! {
        (link("Import a file", IMPORT))
        (link("Add a contact", NEW).kind(Kind::Main))
    };
    let search = Field::search("q", "Name, number or email").class("field-grow").value(query);
    html! {
        (head("Contacts").actions(actions))
        (filters("Search contacts", PATH, &html! { (search) }))
        div #contacts data-live="60" {
            @if contacts.items.is_empty() && contacts.next.is_none() {
                (nobody(query))
            } @else if !contacts.items.is_empty() {
                (rows(&contacts.items))
            }
            (below)
        }
    }
}

fn nobody(query: &str) -> Markup {
    if query.is_empty() {
        let text = html! { "Add people one by one, or import them from an Excel or CSV file." };
        let action = html! { (link("Import a file", IMPORT).kind(Kind::Main)) };
        empty("No contacts yet", &text, Some(&action))
    } else {
        empty("Nobody found", &html! { "No contact matches." }, None)
    }
}

fn rows(contacts: &[Contact]) -> Markup {
    let columns =
        [column("Name"), column("Number"), column("Email"), column("Texts"), right("Changed")];
    table("Contacts", columns, contacts, |contact| {
        let [name, number, email, texts] = contact_cells(contact);
        [name, number, email, texts, time(contact.updated_at)]
    })
}

async fn new(visit: AccountVisit) -> Outcome {
    let shown = ContactForm::empty(visit.query("phone").unwrap_or_default());
    let shown = shown.with_offers(visit.handle()).await?;
    let page = new_view(visit.csrf(), &shown, &new_key(), html! {}, &FieldTroubles::none());
    Ok(Page::new("Add a contact", page).into())
}

async fn create(visit: AccountVisit) -> Outcome {
    let form = visit.form().await?;
    let key = key_of(&form)?;
    let sent = ContactForm::sent(&form);
    let made = visit.handle().keyed(Some(key)).contact_create(sent.clone().input()).await;
    let error = match made {
        Ok(made) => {
            let contact = format!("{PATH}/{}", made.value.id);
            return Ok(Reply::moved(contact).saying(Said::ContactAdded));
        }
        Err(error) => error,
    };
    let (problems, troubles) = ContactForm::problems(&error);
    let shown = sent.with_offers(visit.handle()).await?;
    let page = new_view(visit.csrf(), &shown, &key_again(&form, &error), problems, &troubles);
    Ok(Reply::Again(Page::new("Add a contact", page)))
}

fn new_view(
    csrf: &str,
    shown: &ContactForm,
    key: &str,
    problems: Markup,
    troubles: &FieldTroubles,
) -> Markup {
    let fields = html! {
        input type="hidden" name="key" value=(key);
        (shown.fields(troubles))
    };
    let buttons = [link("Go back", PATH), submit("Add the contact").kind(Kind::Main)];
    let shell =
        FormShell { label: "Add a contact", to: NEW, csrf, problems, fields, buttons: &buttons };
    html! {
        (head("Add a contact").back("Contacts", PATH))
        (form(&shell))
    }
}
